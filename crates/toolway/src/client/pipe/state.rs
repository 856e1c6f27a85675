//! Which requests are in flight, and what happens to them when the pipe ends?

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

/// The state that the reader, the writer and the callers of a pipe share.
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
    /// Its length in bytes; zero until it is about to be written.
    sent: usize,
}

impl PipeState {
    /// A pipe that is not read or written yet, and the queue for its writer.
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

    /// Sends a message and waits for its reply. Dropping the future withdraws a message that has not begun to be
    /// written.
    pub(crate) async fn carry(&self, outgoing: Outgoing) -> Result<Option<Message>> {
        if self.is_fading() {
            return Err(self.over.wait().await.repeated().unsent());
        }
        if outgoing.method == Method::Cancelled {
            // A cancel notification does not wait for anything.
            self.outbox.take_back(&outgoing.frame);
            return Ok(None);
        }
        let (queued, mut ticket) = Queued::new(&outgoing.frame, outgoing.id.clone());
        let waiting = outgoing.id.map(|id| self.wait(id));
        tokio::select! {
            biased;
            queued = self.outbox.queue(queued) => if !queued {
                // The writer has ended; the reason is still being determined.
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
            // Writing may begin at this very moment, or never.
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

    /// The maximum length of a line in bytes.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message.load(Ordering::Relaxed)
    }

    /// Sets the inbox for the server's notifications and questions.
    pub(crate) fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    /// Stops sending: the pipe is ending, and the reason is being determined. Sent requests may still be answered.
    pub(crate) fn fade(&self) {
        let _ = self.fading.set(());
    }

    pub(crate) fn is_fading(&self) -> bool {
        self.fading.initialized()
    }

    /// Waits until sending has stopped.
    pub(super) async fn faded(&self) {
        self.fading.wait().await;
    }

    /// Ends the pipe: fails all requests in flight and all later ones. The first reason counts.
    pub(crate) fn end(&self, over: Error) {
        let _ = self.over.set(over);
        self.fade();
    }

    /// Waits until the pipe is ended.
    pub(crate) async fn ended(&self) {
        self.over.wait().await;
    }

    fn wait(&self, id: Id) -> Waiting<'_> {
        let (reply, receiver) = oneshot::channel();
        self.pending.lock().insert(id.clone(), Pending { reply, sent: 0 });
        Waiting { pipe: self, id, receiver }
    }

    /// Records the length of a request just before it is written. No reply can arrive earlier.
    pub(super) fn note_sent(&self, id: &Id, bytes: usize) {
        if let Some(pending) = self.pending.lock().get_mut(id) {
            pending.sent = bytes;
        }
    }

    /// Passes a reply to the request that waits for it.
    pub(super) fn settle(&self, id: &Id, reply: Result<Message>) {
        if let Some(pending) = self.pending.lock().remove(id) {
            // This fails if the call was dropped; a late reply is ignored.
            let _ = pending.reply.send(reply);
        }
    }

    /// Fails the requests that an error without an id can be about. A server that does not read a long message to its
    /// end does not find its id, so no other reply will come for it.
    ///
    /// If the error states the server's limit, all longer requests fail. If it does not, it is about a message that the
    /// server could not read. Every server can read requests of ordinary length, so the error is assumed to be about
    /// the longest request, if that one is longer than [`LONG`]. This is a guess, so at most one request fails for it.
    /// Requests that still wait to be written are not affected.
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

/// Every server is assumed to read requests up to this many bytes: 64 KiB is the lowest default limit of common
/// libraries.
const LONG: usize = 64 << 10;

/// Guard of a request in flight.
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

/// The error of a pipe that the client closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Transport, "the connection was closed")
}

/// Adds a cause to an error, unless the text is empty.
pub(crate) fn because(error: Error, words: String) -> Error {
    if words.is_empty() { error } else { error.caused_by(words) }
}
