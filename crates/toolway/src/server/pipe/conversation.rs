//! What has one peer said so far, and what is it answered?
//!
//! A conversation on a pipe or in process: at most one handshake, and any number of requests that speak for themselves beside it.

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

/// What one peer has said so far, on a pipe or in process.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) server: Server,
    session: PipeSession,
    /// What is remembered of the peer.
    memory: Option<Arc<Kept>>,
}

impl Conversation {
    /// A conversation that hears of changes.
    pub(crate) fn new(server: Server) -> Self {
        let session = PipeSession::new(&server, Some(server.inner.changes.listen()));
        Self { server, session, memory: Some(Kept::here()) }
    }

    /// A conversation with a peer that cannot be told anything, and comes and goes with each message.
    pub(crate) fn deaf(server: Server) -> Self {
        let session = PipeSession::new(&server, None);
        Self { server, session, memory: None }
    }

    /// Refuses a message that is longer than the server takes, where no transport has done so.
    pub(crate) fn refuse_long(&self, frame: &[u8]) -> Result<(), Rejected> {
        self.server.refuse_long(frame)
    }

    /// Reads one frame. The messages of a batch may be there; what may not was refused.
    pub(crate) fn read(&self, frame: &Bytes) -> Result<Incoming, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::Batch(messages) => self.session.batch(&self.server, messages),
            one @ Incoming::One(_) => Ok(one),
        }
    }

    /// Reads one frame for a peer that sends one message at a time.
    pub(crate) fn read_one(&self, frame: &Bytes) -> Result<Message, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::One(message) => Ok(message),
            Incoming::Batch(_) => Err(Rejected { id: None, error: batch::refused() }),
        }
    }

    /// Whether the peer has opened a session.
    pub(crate) fn is_opened(&self) -> bool {
        self.session.is_opened()
    }

    /// Waits for changes that the peer hears of without asking, and gives a notification for each.
    pub(crate) async fn changes(&self, allowed: Option<&Arc<Allowed>>) -> Vec<Vec<u8>> {
        self.session.changes(&self.server, allowed).await
    }

    /// Takes the answer to a question of ours.
    pub(crate) fn settle(&self, id: Option<&Id>, outcome: Result<RawJson, RpcError>) {
        self.session.settle(id, outcome);
    }

    /// The peer will say nothing more, so no answer of it can come.
    pub(crate) fn end_questions(&self) {
        self.session.end_questions();
    }

    /// Takes one message; only requests have an answer.
    pub(crate) async fn serve(&self, message: Message, mut arrival: Box<Arrival>) -> Option<Vec<u8>> {
        let Self { server, session, memory } = self;
        let claim = classify_in(server.inner.era, &message, Door::Pipe);
        // A request that stands alone is its principal's, on whichever pipe it comes.
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
