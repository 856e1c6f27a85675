//! How do messages travel over HTTP if the era of the server is not known in advance? The revision of each message
//! determines its era.

use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::{Era, Message, ProtocolVersion};

use crate::client::http::handshake::http_session::HttpSession;
use crate::client::http::stateless::transport::StatelessTransport;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::client::wire::transport::Transport;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// Carries messages of both eras to a server over HTTP.
pub(crate) struct HttpTransport {
    stateless: StatelessTransport,
    /// The state of the handshake era. Unused if the server is of the stateless era.
    conversation: Arc<HttpSession>,
}

impl HttpTransport {
    pub(crate) fn new(stateless: StatelessTransport) -> Self {
        Self { conversation: Arc::new(HttpSession::new(stateless.endpoint.clone())), stateless }
    }
}

impl Transport for HttpTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<Option<Message>>> {
        // A message without a revision belongs to a handshake that has not negotiated a revision yet.
        match outgoing.version.map_or(Era::Handshake, ProtocolVersion::era) {
            Era::Stateless => self.stateless.send(outgoing),
            Era::Handshake => {
                Box::pin(async { Ok(self.conversation.send(outgoing).await?.map(|reply| reply.message)) })
            }
        }
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.stateless.set_inbox(inbox);
    }

    fn is_connected(&self) -> bool {
        !self.conversation.has_ended()
    }

    fn disconnected(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.conversation.ended())
    }

    fn listening(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.conversation.wait_for_stream())
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn set_headers(&self, headers: &[(String, String)]) -> Result<()> {
        self.stateless.set_headers(headers)
    }

    fn set_max_message(&self, bytes: usize) -> usize {
        self.stateless.set_max_message(bytes)
    }

    fn user_time(&self) -> Duration {
        self.stateless.user_time()
    }

    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        version.era() == Era::Stateless
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.conversation.close())
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.conversation.detach();
    }
}
