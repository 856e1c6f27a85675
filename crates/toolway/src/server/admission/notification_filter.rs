//! Which notifications may the caller of a stream receive?

use toolway_protocol::Notification;

use crate::server::Server;
use crate::server::call::stream_rights::StreamView;

/// Decides which notifications a listener may receive.
#[derive(Debug, Clone)]
pub(crate) struct NotificationFilter {
    server: Server,
    view: StreamView,
}

impl NotificationFilter {
    pub(crate) fn new(server: &Server, view: StreamView) -> Self {
        Self { server: server.clone(), view }
    }

    /// Changes what the listener may see.
    pub(crate) fn set_view(&mut self, view: StreamView) {
        self.view = view;
    }

    /// Returns whether a notification may be sent. Notifications that a list changed are always sent, because the list
    /// itself contains only what the caller may see. The scopes of a resource were checked when the caller subscribed to
    /// it, but it may have lost them since.
    pub(crate) fn allows(&self, news: &Notification) -> bool {
        let Notification::ResourceUpdated(updated) = news else { return true };
        let allowed = self.view.visibility.as_ref();
        allowed.is_none_or(|allowed| self.server.may_notify(&updated.uri, allowed))
            && self.server.has_scopes_of_uri(&updated.uri, &self.view)
    }
}
