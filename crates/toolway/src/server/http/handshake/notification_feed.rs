//! Which notifications does one stream of a session get?

use std::sync::{Arc, Weak};

use tokio::sync::watch;
use toolway_protocol::{ProtocolVersion, RpcError};

use super::live_session::LiveSession;
use crate::ground::budget::Charge;
use crate::server::admission::notification_filter::NotificationFilter;
use crate::server::call::stream_rights::StreamRights;
use crate::server::changes::listeners::Listener;

/// The source of the notifications for one stream. Only the newest stream of a session gets notifications. Dropping the
/// feed releases the stream's charge.
pub(super) struct NotificationFeed {
    live: Weak<LiveSession>,
    pub(super) listener: Arc<Listener>,
    /// Filters the notifications by what the caller that opened the stream may see.
    pub(super) filter: NotificationFilter,
    /// The rights of that caller, until the reader takes them.
    pub(super) rights: Option<StreamRights>,
    pub(super) version: ProtocolVersion,
    newest: watch::Receiver<u64>,
    number: u64,
    charge: Option<Charge>,
}

impl NotificationFeed {
    /// Opens the feed of a new stream.
    pub(super) fn open(
        live: &Arc<LiveSession>,
        charge: Option<Charge>,
        filter: NotificationFilter,
        rights: Option<StreamRights>,
    ) -> Result<Self, RpcError> {
        let (number, newest) = live.add_stream()?;
        Ok(Self {
            live: Arc::downgrade(live),
            listener: live.listener().clone(),
            filter,
            rights,
            version: live.session.version(),
            newest,
            number,
            charge,
        })
    }

    /// Waits until there are notifications, the client has confirmed the handshake, and this stream is the newest.
    pub(super) async fn wait(&mut self) {
        loop {
            let is_newest = *self.newest.borrow_and_update() == self.number;
            let is_told = is_newest && self.live.upgrade().is_some_and(|live| live.is_ready());
            tokio::select! {
                biased;
                changed = self.newest.changed() => if changed.is_err() { return std::future::pending().await },
                () = self.listener.changed(), if is_told => return,
            }
        }
    }
}

impl Drop for NotificationFeed {
    fn drop(&mut self) {
        drop(self.charge.take());
        if let Some(live) = self.live.upgrade() {
            live.remove_stream(self.number);
        }
    }
}
