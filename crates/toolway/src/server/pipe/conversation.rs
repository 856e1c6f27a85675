//! How does the server answer one peer, and what does it remember between messages?
//!
//! A conversation is the exchange of messages with one peer, on a pipe or in process. It has at most one handshake, and
//! any number of stateless requests.

use std::sync::Arc;

use bytes::Bytes;
use toolway_protocol::era::{Claim, Delivery, batch, classify_in};
use toolway_protocol::jsonrpc::{Frame, ParsedFrame, Rejection, parse, write_error};
use toolway_protocol::{Id, Message, Method, RawJson, RpcError};

use crate::ground::budget::Resource;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::server::call::memory_record::MemoryRecord as Kept;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::SharedView;
use crate::server::failure::errors::busy;
use crate::server::handshake::pipe_session::PipeSession;
use crate::server::stateless::Received;
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
        Self { server, session, memory: Some(Kept::in_process()) }
    }

    /// Creates a conversation for a single message. Its peer cannot be sent notifications.
    pub(crate) fn single_message(server: Server) -> Self {
        let session = PipeSession::new(&server, None);
        Self { server, session, memory: None }
    }

    /// Refuses a message that is longer than the server accepts. For callers whose transport does not check the length.
    pub(crate) fn refuse_long(&self, frame: &[u8]) -> Result<(), Rejection> {
        self.server.check_message_size(frame)
    }

    /// Reads one frame. A batch is refused if the revision does not allow it.
    pub(crate) fn read(&self, frame: &Bytes) -> Result<ParsedFrame, Rejection> {
        match parse(frame, self.server.inner.limits)? {
            ParsedFrame::Batch(messages) => self.session.check_batch(&self.server, messages),
            one @ ParsedFrame::One(_) => Ok(one),
        }
    }

    /// Reads one frame that must be a single message.
    pub(crate) fn read_one(&self, frame: &Bytes) -> Result<Message, Rejection> {
        match parse(frame, self.server.inner.limits)? {
            ParsedFrame::One(message) => Ok(message),
            ParsedFrame::Batch(_) => Err(Rejection { id: None, error: batch::unsupported_error() }),
        }
    }

    /// Returns whether the peer has opened a session.
    pub(crate) fn is_opened(&self) -> bool {
        self.session.is_opened()
    }

    /// Waits for changes, and returns a notification for each. Only for clients with a session: other clients use
    /// `subscriptions/listen`.
    pub(crate) async fn changes(&self, view: &SharedView) -> Vec<Vec<u8>> {
        self.session.changes(&self.server, view).await
    }

    /// Takes the peer's answer to a question of the server.
    pub(crate) fn deliver_answer(&self, id: Option<&Id>, outcome: Result<RawJson, RpcError>) {
        self.session.deliver_answer(id, outcome);
    }

    /// Ends all open questions, because the peer will send no more answers.
    pub(crate) fn end_questions(&self) {
        self.session.end_questions();
    }

    /// Serves one message. Only a request has a response. Boxed here, once for all pipes, because most messages of a pipe
    /// finish in their first poll, and the others become tasks.
    pub(crate) fn serve(
        self: Arc<Self>,
        message: Message,
        mut arrival: Box<Arrival>,
    ) -> BoxFuture<'static, Option<Vec<u8>>> {
        Box::pin(async move {
            let Self { server, session, memory } = &*self;
            let claim = classify_in(server.inner.era, &message, Delivery::Pipe);
            // A stateless request with a principal uses the values remembered for the principal, not those for the pipe.
            if !matches!(claim, Ok(Claim::Stateless(_))) || arrival.principal.is_none() {
                arrival.memory_record.clone_from(memory);
            }
            let permit = match &arrival.account {
                Some(account) if !is_quick(&message) => account.charge(Resource::Requests, 1).map(Some),
                _ => Ok(None),
            };
            let Ok(_permit) = permit else {
                // A notification has no response.
                return message.id().map(|id| error_frame(id, &busy("too many requests are running")));
            };
            match message {
                Message::Request { id, method, params } => Some(match claim {
                    Ok(Claim::Stateless(Some(envelope))) => {
                        let mut frame = Frame::default();
                        let received = Received::new(arrival, &id, envelope, &params);
                        stateless::serve(server, &id, &method, &params, received, &mut frame).await;
                        frame.into_vec()
                    }
                    Ok(Claim::Handshake(_) | Claim::Stateless(None)) => {
                        session.serve(server, &id, &method, &params, arrival).await
                    }
                    Err(error) => error_frame(&id, &error),
                }),
                Message::Notification { method, params } => {
                    match claim {
                        Ok(Claim::Stateless(envelope)) => {
                            stateless::handle_notification(server, &method, &params, envelope, arrival).await;
                        }
                        Ok(Claim::Handshake(_)) => {
                            session.handle_notification(server, &method, &params, arrival).await;
                        }
                        Err(_) => {}
                    }
                    None
                }
                Message::Response { id, outcome } => {
                    self.deliver_answer(id.as_ref(), outcome);
                    None
                }
            }
        })
    }
}

/// Returns whether a message is served even if too many requests are running.
fn is_quick(message: &Message) -> bool {
    match message {
        Message::Request { method, .. } => {
            matches!(method, Method::Ping | Method::Initialize | Method::Discover)
        }
        Message::Notification { method, .. } => *method == Method::Initialized,
        Message::Response { .. } => true,
    }
}

fn error_frame(id: &Id, error: &RpcError) -> Vec<u8> {
    let mut frame = Vec::new();
    write_error(&mut frame, Some(id), error);
    frame
}
