//! What has one peer said so far, and what is it answered?
//!
//! A conversation on a pipe or in process: at most one handshake, and any number of requests that speak for themselves beside it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::era::{Claim, Door, batch, classify_in};
use toolway_protocol::jsonrpc::{Incoming, Params, Rejected, parse, write_error};
use toolway_protocol::{Era, Id, Message, Method, RpcError};

use crate::ground::error::Result;
use crate::server::call::place::Place as Kept;
use crate::server::call::scope::Arrival;
use crate::server::call::visibility::Allowed;
use crate::server::catalog::visible::Sight;
use crate::server::changes::listeners::Listener;
use crate::server::handshake::session::Session;
use crate::server::{Server, handshake, stateless};
use crate::transport::frame::push_line;

/// What one peer has said so far, on a pipe or in process: at most one handshake, and any number of requests
/// that speak for themselves beside it.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) server: Server,
    opened: OnceLock<Session>,
    unopened: Session,
    lifecycle: Mutex<Lifecycle>,
    listener: Option<Arc<Listener>>,
    /// What is remembered of the peer.
    memory: Option<Arc<Kept>>,
}

impl Conversation {
    /// A conversation that hears of changes.
    pub(crate) fn new(server: Server) -> Self {
        let listener = server.inner.changes.listen();
        Self::with(server, Some(listener), Some(Kept::here()))
    }

    /// A conversation with somebody who cannot be told anything, and comes and goes with each message.
    pub(crate) fn deaf(server: Server) -> Self {
        Self::with(server, None, None)
    }

    fn with(server: Server, listener: Option<Arc<Listener>>, memory: Option<Arc<Kept>>) -> Self {
        let version = server.inner.pinned.unwrap_or(Lifecycle::default().version());
        Self {
            server,
            opened: OnceLock::new(),
            // Nobody who has not opened a conversation is told anything.
            unopened: Session::unopened(version, None),
            lifecycle: Mutex::default(),
            listener,
            memory,
        }
    }

    fn lifecycle(&self) -> MutexGuard<'_, Lifecycle> {
        self.lifecycle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there may be something to tell.
    pub(crate) async fn changed(&self) {
        match &self.listener {
            Some(listener) => listener.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Appends a line for each change. Only a conversation that was opened by a handshake hears of them unasked, and only
    /// once the client has said that it is ready; until then they are kept.
    pub(crate) fn tell(&self, allowed: Option<Arc<Allowed>>, out: &mut Vec<u8>) {
        let (Some(session), Some(listener)) = (self.opened.get(), &self.listener) else { return };
        if !self.lifecycle().may_tell(&Method::ToolsChanged) {
            return;
        }
        let sight = Sight::new(&self.server, allowed);
        for news in listener.take_for(|news| sight.shows(news)) {
            let mut frame = Vec::new();
            news.write(&mut frame, session.version());
            push_line(out, &frame);
        }
    }

    /// Refuses a message that is longer than the server takes, where no transport has done so.
    pub(crate) fn refuse_long(&self, frame: &[u8]) -> Result<(), Rejected> {
        self.server.refuse_long(frame)
    }

    /// Reads one frame. The messages of a batch may be there; what may not was refused.
    pub(crate) fn read(&self, frame: &Bytes) -> Result<Incoming, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::Batch(_) if !self.server.serves(Era::Handshake) => {
                Err(Rejected { id: None, error: batch::refused() })
            }
            Incoming::Batch(messages) => {
                let messages = batch::judge(self.session().version(), messages);
                messages.map(Incoming::Batch).map_err(|error| Rejected { id: None, error })
            }
            one @ Incoming::One(_) => Ok(one),
        }
    }

    /// Reads one frame for somebody who takes one message at a time.
    pub(crate) fn read_one(&self, frame: &Bytes) -> Result<Message, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::One(message) => Ok(message),
            Incoming::Batch(_) => Err(Rejected { id: None, error: batch::refused() }),
        }
    }

    /// Takes one message; only requests have an answer.
    pub(crate) async fn serve(&self, message: Message, mut arrival: Box<Arrival>) -> Option<Vec<u8>> {
        let claim = classify_in(self.server.inner.era, &message, Door::Pipe);
        // A request that stands alone is its principal's, on whichever pipe it comes.
        if !matches!(claim, Ok(Claim::Stateless(_))) || arrival.principal.is_none() {
            arrival.memory.clone_from(&self.memory);
        }
        match message {
            Message::Request { id, method, params } => Some(match claim {
                Ok(Claim::Stateless(Some(envelope))) => {
                    let mut frame = Vec::new();
                    let server = &self.server;
                    stateless::serve(server, &id, &method, &params, envelope, arrival, &mut frame).await;
                    frame
                }
                Ok(Claim::Handshake(_)) if method == Method::Initialize => self.open(&id, &params),
                Ok(Claim::Handshake(_) | Claim::Stateless(None)) => {
                    handshake::serve(&self.server, self.session(), &id, &method, &params, arrival).await
                }
                Err(error) => failed(&id, &error),
            }),
            Message::Notification { method: Method::Initialized, .. } => {
                self.lifecycle().initialized();
                if let Some(listener) = &self.listener {
                    listener.rouse();
                }
                None
            }
            Message::Notification { method, params } if self.server.hears(&method) => {
                match claim {
                    Ok(Claim::Stateless(envelope)) => {
                        stateless::hear(&self.server, &method, &params, envelope, arrival).await;
                    }
                    Ok(Claim::Handshake(_)) => {
                        handshake::hear(&self.server, self.session(), &method, &params, arrival).await;
                    }
                    Err(_) => {}
                }
                None
            }
            Message::Response { .. } => {
                self.settle(message);
                None
            }
            Message::Notification { .. } => None,
        }
    }

    /// Takes the answer to a question.
    pub(crate) fn settle(&self, message: Message) {
        if let Message::Response { id, outcome } = message {
            // One that comes too late is nothing to talk about.
            let _ = self.session().settle(id.as_ref(), outcome);
        }
    }

    /// Whether the peer has opened it with a handshake.
    pub(crate) fn is_opened(&self) -> bool {
        self.opened.get().is_some()
    }

    /// The peer will say nothing more, so no answer of it can come.
    pub(crate) fn end_questions(&self) {
        self.session().end_questions();
    }

    /// How many requests of it may run at the same time.
    pub(crate) fn places(&self) -> usize {
        self.server.inner.places_of_one
    }

    fn session(&self) -> &Session {
        self.opened.get().unwrap_or(&self.unopened)
    }

    fn open(&self, id: &Id, params: &Params) -> Vec<u8> {
        let mut lifecycle = self.lifecycle();
        match handshake::initialize(&self.server, &mut lifecycle, id, params, self.listener.clone()) {
            Ok((frame, session)) => {
                self.opened.get_or_init(|| session);
                frame
            }
            Err(error) => failed(id, &error),
        }
    }
}

fn failed(id: &Id, error: &RpcError) -> Vec<u8> {
    let mut frame = Vec::new();
    write_error(&mut frame, Some(id), error);
    frame
}
