//! Which messages are on their way, and what becomes of them when the pipe ends?

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{SetOnce, oneshot};
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::{Id, Message, Method, RpcError};

use crate::client::pipe::outbox::{Outbox, Queued, Ticket, WriteQueue};
use crate::client::pipe::received::Received;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::Outgoing;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;
use crate::transport::frame::MAX_MESSAGE;

/// What both directions of a pipe share, and whoever uses it.
pub(crate) struct PipeState {
    pub(super) outbox: Arc<Outbox>,
    pending: Mutex<HashMap<Id, Pending>>,
    max_message: AtomicUsize,
    pub(super) inbox: OnceLock<Inbox>,
    pub(crate) received: Received,
    fading: SetOnce<()>,
    over: SetOnce<Error>,
}

/// A request that waits for its reply.
struct Pending {
    reply: oneshot::Sender<Result<Message>>,
    /// How many bytes of it are on their way: none until it is written.
    sent: usize,
}

impl PipeState {
    /// A pipe that is not read or written yet, and what is to be written.
    pub(crate) fn new() -> (Self, WriteQueue) {
        let (outbox, write_queue) = Outbox::new();
        let state = Self {
            outbox: Arc::new(outbox),
            pending: Mutex::default(),
            max_message: AtomicUsize::new(MAX_MESSAGE),
            inbox: OnceLock::new(),
            received: Received::default(),
            fading: SetOnce::new(),
            over: SetOnce::new(),
        };
        (state, write_queue)
    }

    /// Sends a message and waits for its reply. Dropping this takes back what has not begun to be written.
    pub(crate) async fn carry(&self, outgoing: Outgoing) -> Result<Option<Message>> {
        if self.is_fading() {
            return Err(self.over.wait().await.repeated().unsent());
        }
        if outgoing.method == Method::Cancelled {
            // Whoever gives a call up waits for nothing.
            self.outbox.take_back(&outgoing.frame);
            return Ok(None);
        }
        let (queued, mut ticket) = Queued::new(&outgoing.frame, outgoing.id.clone());
        let waiting = outgoing.id.map(|id| self.wait(id));
        tokio::select! {
            biased;
            queued = self.outbox.queue(queued) => if !queued {
                // Nobody writes any more; why, is being found out.
                return Err(self.over.wait().await.repeated().unsent());
            },
            over = self.over.wait() => return Err(over.repeated().unsent()),
        }
        self.written(&mut ticket, waiting).await
    }

    async fn written(&self, ticket: &mut Ticket, waiting: Option<Waiting<'_>>) -> Result<Option<Message>> {
        let begun = tokio::select! {
            biased;
            begun = ticket.begun() => begun,
            // It may be begun at this very moment, or never.
            _ = self.over.wait() => ticket.take_back(),
        };
        if !begun {
            return Err(self.over.wait().await.repeated().unsent());
        }
        let reply = async {
            match waiting {
                Some(mut waiting) => (&mut waiting.receiver).await.ok().map(|reply| reply.map(Some)),
                None => ticket.done().await.then_some(Ok(None)),
            }
        };
        tokio::select! {
            biased;
            Some(reply) = reply => reply,
            over = self.over.wait() => Err(over.repeated().broken_off()),
        }
    }

    pub(crate) fn use_max_message(&self, bytes: usize) {
        self.max_message.store(bytes, Ordering::Relaxed);
    }

    /// How long a line may be.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message.load(Ordering::Relaxed)
    }

    /// Where answers to questions of the server go.
    pub(crate) fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    /// Lets nothing more be sent: the end has come, and its reason is being found out. What was sent may still be answered.
    pub(crate) fn fade(&self) {
        let _ = self.fading.set(());
    }

    pub(crate) fn is_fading(&self) -> bool {
        self.fading.initialized()
    }

    /// Waits until nothing more is to be sent.
    pub(super) async fn faded(&self) {
        self.fading.wait().await;
    }

    /// Ends all that is on its way, and all that will be tried. The first reason counts.
    pub(crate) fn end(&self, over: Error) {
        let _ = self.over.set(over);
        self.fade();
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        self.over.wait().await;
    }

    fn wait(&self, id: Id) -> Waiting<'_> {
        let (reply, receiver) = oneshot::channel();
        self.pending.lock().insert(id.clone(), Pending { reply, sent: 0 });
        Waiting { pipe: self, id, receiver }
    }

    /// Notes how long a request is that is about to be written: nothing can be heard of it before.
    pub(super) fn note_sent(&self, id: &Id, bytes: usize) {
        if let Some(pending) = self.pending.lock().get_mut(id) {
            pending.sent = bytes;
        }
    }

    /// Hands a reply to whoever waits for it.
    pub(super) fn settle(&self, id: &Id, reply: Result<Message>) {
        if let Some(pending) = self.pending.lock().remove(id) {
            // Nobody waits any more: the call was dropped, and a late answer means nothing.
            let _ = pending.reply.send(reply);
        }
    }

    /// Ends the requests that an error without an id can be about: a server that does not read a long message to its end does not
    /// find its id, and nothing else will ever answer it.
    ///
    /// If the error says how much the server takes, all that were longer are lost, however many there are. If it does not, it is
    /// about a message that could not be read. Requests of ordinary length can be read, so the longest is meant, if it is so long
    /// that a server may not take it. It is only a guess, so no more than one is given up for it, and those that wait to be
    /// written are not.
    pub(super) fn refuse_long(&self, error: &RpcError) {
        let mut pending = self.pending.lock();
        let lost: Vec<Id> = match error.max_message() {
            Some(max) => {
                let longer = pending.iter().filter(|(_, pending)| pending.sent > max);
                longer.map(|(id, _)| id.clone()).collect()
            }
            None if matches!(error.code, Code::PARSE_ERROR | Code::INVALID_REQUEST) => {
                let long = pending.iter().filter(|(_, pending)| pending.sent > LONG);
                long.max_by_key(|(_, pending)| pending.sent).map(|(id, _)| id.clone()).into_iter().collect()
            }
            None => return,
        };
        for Pending { reply, sent } in lost.iter().filter_map(|id| pending.remove(id)) {
            let refused = Error::from(error.clone());
            let refused = if refused.is_too_large() {
                refused
            } else {
                refused
                    .context(format!("the server could not read a request of {sent} bytes: it may take less"))
            };
            let _ = reply.send(Err(refused));
        }
    }
}

/// Requests of at most so many bytes are read by every server: 64 KiB is the least that common libraries take by default.
const LONG: usize = 64 << 10;

/// One request in flight; dropping it forgets it.
struct Waiting<'l> {
    pipe: &'l PipeState,
    id: Id,
    receiver: oneshot::Receiver<Result<Message>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pipe.pending.lock().remove(&self.id);
    }
}

/// The error of a pipe that was closed from here.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Transport, "the connection was closed")
}

/// Adds what lies underneath; an empty text adds nothing.
pub(crate) fn because(error: Error, words: String) -> Error {
    if words.is_empty() { error } else { error.caused_by(words) }
}
