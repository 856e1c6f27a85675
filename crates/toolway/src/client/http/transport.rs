//! How do messages travel over HTTP, in either era?

use std::fmt;
use std::sync::Arc;

use toolway_protocol::{Era, Message, ProtocolVersion};

use crate::client::http::handshake::conversation::Conversation;
use crate::client::http::request::endpoint::HttpEndpoint;
use crate::client::http::stateless;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::Outgoing;
use crate::client::wire::transport::Transport;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// Carries messages to a server over HTTP.
pub(super) struct HttpTransport {
    endpoint: Arc<HttpEndpoint>,
    /// The limit that was set for this server alone.
    max_message: Option<usize>,
    /// Empty, and of no consequence, unless one is opened.
    conversation: Arc<Conversation>,
}

impl HttpTransport {
    pub(super) fn new(endpoint: HttpEndpoint, max_message: Option<usize>) -> Self {
        let endpoint = Arc::new(endpoint);
        Self { conversation: Arc::new(Conversation::new(endpoint.clone())), endpoint, max_message }
    }
}

impl Transport for HttpTransport {
    fn carry(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Option<Message>>> {
        // No revision is agreed upon while a handshake is under way.
        match outgoing.version.map_or(Era::Handshake, ProtocolVersion::era) {
            Era::Stateless => Box::pin(stateless::carry(&self.endpoint, outgoing)),
            Era::Handshake => Box::pin(self.conversation.carry(outgoing)),
        }
    }

    fn deliver_to(&self, inbox: Inbox) {
        self.endpoint.deliver_to(inbox);
    }

    fn is_connected(&self) -> bool {
        !self.conversation.is_over()
    }

    fn lost(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.conversation.over())
    }

    fn listening(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.conversation.listening())
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn use_headers(&self, headers: &[(String, String)]) -> Result<()> {
        self.endpoint.use_headers(headers)
    }

    fn use_max_message(&self, bytes: usize) -> usize {
        let bytes = self.max_message.unwrap_or(bytes);
        self.endpoint.use_max_message(bytes);
        bytes
    }

    /// In the stateless era a connection that is closed is a call that is given up.
    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        version.era() == Era::Stateless
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.conversation.close())
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.conversation.leave();
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("url", self.endpoint.url()).finish_non_exhaustive()
    }
}
