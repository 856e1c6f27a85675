//! How is a message passed on that belongs to a conversation, which `initialize` opens?

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use toolway_protocol::{Id, Message, Method, ProtocolVersion};

use crate::client::http::handshake::http_session::HttpSession;
use crate::client::http::request::endpoint::HttpEndpoint;
use crate::client::http::request::events::ReceivedMessage;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::ground::error::Result;

/// A conversation whose messages are passed on. Dropping it ends the session on the server.
pub(super) struct Conversation {
    session: Arc<HttpSession>,
    /// The revision that the server has chosen in its reply to `initialize`.
    version: OnceLock<ProtocolVersion>,
}

impl Conversation {
    pub(super) fn new(endpoint: Arc<HttpEndpoint>) -> Self {
        Self { session: Arc::new(HttpSession::new(endpoint)), version: OnceLock::new() }
    }

    /// Sends a message. Returns the reply, if the message is a request.
    pub(super) async fn send(
        &self,
        frame: Bytes,
        id: Option<Id>,
        method: Method,
    ) -> Result<Option<ReceivedMessage>> {
        let is_initialize = method == Method::Initialize;
        let (version, headers) = (self.version.get().copied(), Vec::new());
        let outgoing = OutgoingMessage { frame, id, method, name: None, version, headers };
        let reply = self.session.send(outgoing).await?;
        if is_initialize && let Some(reply) = &reply {
            self.note_version(&reply.message);
        }
        Ok(reply)
    }

    /// Sends the answer to a question of the server.
    pub(super) fn answer(&self, frame: Bytes) {
        self.session.pass_on_answer(frame);
    }

    pub(super) async fn ended(&self) {
        self.session.ended().await;
    }

    pub(super) async fn close(&self) -> Result<()> {
        self.session.close().await
    }

    fn note_version(&self, reply: &Message) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Chosen {
            protocol_version: String,
        }
        let Message::Response { outcome: Ok(result), .. } = reply else { return };
        // An unknown revision is not named in later requests: the server knows the conversation by its id.
        if let Ok(Chosen { protocol_version }) = result.decode()
            && let Ok(version) = protocol_version.parse()
        {
            let _ = self.version.set(version);
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.session.detach();
    }
}
