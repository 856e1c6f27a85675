//! How does the server answer one peer, and what does it remember between messages?
//!
//! A conversation is the exchange of messages with one peer, on a pipe or in process. It has at most one handshake, and
//! any number of stateless requests.

use std::sync::Arc;

use bytes::Bytes;
use toolway_protocol::era::{Claim, Door, batch, classify_in};
use toolway_protocol::jsonrpc::{Incoming, Rejected, parse, write_error};
use toolway_protocol::{Id, Message, RawJson, RpcError};

use crate::ground::error::Result;
use crate::server::call::place::Place as Kept;
use crate::server::call::scope::Arrival;
use crate::server::call::visibility::Allowed;
use crate::server::handshake::pipe_session::PipeSession;
use crate::server::{Server, stateless};

/// The conversation with one peer, on a pipe or in process.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) server: Server,
    session: PipeSession,
    /// The values remembered for the peer.
    memory: Option<Arc<Kept>>,
}

impl Conversation {
    /// Creates a conversation whose peer can be sent change notifications.
    pub(crate) fn new(server: Server) -> Self {
        let session = PipeSession::new(&server, Some(server.inner.changes.listen()));
        Self { server, session, memory: Some(Kept::here()) }
    }

    /// Creates a conversation for a single message. Its peer cannot be sent notifications.
    pub(crate) fn deaf(server: Server) -> Self {
        let session = PipeSession::new(&server, None);
        Self { server, session, memory: None }
    }

    /// Refuses a message that is longer than the server accepts. For callers whose transport does not check the length.
    pub(crate) fn refuse_long(&self, frame: &[u8]) -> Result<(), Rejected> {
        self.server.refuse_long(frame)
    }

    /// Reads one frame. A batch is refused if the revision does not allow it.
    pub(crate) fn read(&self, frame: &Bytes) -> Result<Incoming, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::Batch(messages) => self.session.batch(&self.server, messages),
            one @ Incoming::One(_) => Ok(one),
        }
    }

    /// Reads one frame that must be a single message.
    pub(crate) fn read_one(&self, frame: &Bytes) -> Result<Message, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::One(message) => Ok(message),
            Incoming::Batch(_) => Err(Rejected { id: None, error: batch::refused() }),
        }
    }

    /// Returns whether the peer has opened a session.
    pub(crate) fn is_opened(&self) -> bool {
        self.session.is_opened()
    }

    /// Waits for changes, and returns a notification for each. Only for clients with a session: other clients use
    /// `subscriptions/listen`.
    pub(crate) async fn changes(&self, allowed: Option<&Arc<Allowed>>) -> Vec<Vec<u8>> {
        self.session.changes(&self.server, allowed).await
    }

    /// Takes the peer's answer to a question of the server.
    pub(crate) fn settle(&self, id: Option<&Id>, outcome: Result<RawJson, RpcError>) {
        self.session.settle(id, outcome);
    }

    /// Ends all open questions, because the peer will send no more answers.
    pub(crate) fn end_questions(&self) {
        self.session.end_questions();
    }

    /// Serves one message. Only a request has a response.
    pub(crate) async fn serve(&self, message: Message, mut arrival: Box<Arrival>) -> Option<Vec<u8>> {
        let Self { server, session, memory } = self;
        let claim = classify_in(server.inner.era, &message, Door::Pipe);
        // A stateless request with a principal uses the values remembered for the principal, not those for the pipe.
        if !matches!(claim, Ok(Claim::Stateless(_))) || arrival.principal.is_none() {
            arrival.memory.clone_from(memory);
        }
        match message {
            Message::Request { id, method, params } => Some(match claim {
                Ok(Claim::Stateless(Some(envelope))) => {
                    let mut frame = Vec::new();
                    stateless::serve(server, &id, &method, &params, envelope, arrival, &mut frame).await;
                    frame
                }
                Ok(Claim::Handshake(_) | Claim::Stateless(None)) => {
                    session.serve(server, &id, &method, &params, arrival).await
                }
                Err(error) => failed(&id, &error),
            }),
            Message::Notification { method, params } => {
                match claim {
                    Ok(Claim::Stateless(envelope)) => {
                        stateless::hear(server, &method, &params, envelope, arrival).await;
                    }
                    Ok(Claim::Handshake(_)) => session.hear(server, &method, &params, arrival).await,
                    Err(_) => {}
                }
                None
            }
            Message::Response { id, outcome } => {
                self.settle(id.as_ref(), outcome);
                None
            }
        }
    }
}

fn failed(id: &Id, error: &RpcError) -> Vec<u8> {
    let mut frame = Vec::new();
    write_error(&mut frame, Some(id), error);
    frame
}
