//! What do the reader, the writer and the callers of a pipe share, and what happens when it ends?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};

use tokio::sync::SetOnce;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::{Id, Message, Method, RpcError};

use crate::client::pipe::outbox::{Outbox, QueuedLine, Ticket, WriteQueue};
use crate::client::pipe::output_record::OutputRecord;
use crate::client::pipe::pending::{PendingRequests, wake};
use crate::client::record::Recorder;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;
use crate::transport::frame::MAX_MESSAGE;

/// The state that the reader, the writer and the callers of a pipe share.
pub(crate) struct PipeState {
    pub(super) outbox: Arc<Outbox>,
    pending: PendingRequests,
    max_message: AtomicUsize,
    pub(super) inbox: OnceLock<Inbox>,
    pub(crate) output: OutputRecord,
    pub(super) recorder: Option<Recorder>,
    /// The waker of the reader.
    reader: Mutex<Option<Waker>>,
    /// Set when sending stops.
    sending_stopped: SetOnce<()>,
    /// The reason why the pipe ended. Calls fail with this error.
    end_reason: SetOnce<Error>,
}

impl PipeState {
    /// Creates the state of a pipe, and the queue for the writer. The caller starts the reader and the writer.
    pub(crate) fn new(recorder: Option<Recorder>) -> (Self, WriteQueue) {
        let (outbox, write_queue) = Outbox::new();
        let state = Self {
            outbox,
            pending: PendingRequests::default(),
            max_message: AtomicUsize::new(MAX_MESSAGE),
            inbox: OnceLock::new(),
            output: OutputRecord::default(),
            recorder,
            reader: Mutex::default(),
            sending_stopped: SetOnce::new(),
            end_reason: SetOnce::new(),
        };
        (state, write_queue)
    }

    /// Sends a message. If the message is a request, waits for its reply; otherwise waits until the message is written.
    /// Dropping the future withdraws the message if writing has not begun.
    pub(crate) async fn send(&self, outgoing: OutgoingMessage) -> Result<Option<Message>> {
        if self.has_stopped_sending() {
            return Err(self.end_reason.wait().await.clone_flattened().unsent());
        }
        if outgoing.method == Method::Cancelled {
            // A cancel notification is queued at once, without waiting for room.
            self.outbox.queue_cancel(&outgoing.frame);
            return Ok(None);
        }
        match outgoing.id {
            Some(id) => {
                let pending = self.pending.register(id);
                self.queue(QueuedLine::request(outgoing.frame, pending.request())).await?;
                pending.reply(&self.end_reason).await.map(Some)
            }
            None => {
                let (queued, ticket) = QueuedLine::notification(outgoing.frame);
                self.queue(queued).await?;
                self.wait_until_written(ticket).await.map(|()| None)
            }
        }
    }

    /// Queues a line as soon as there is room.
    async fn queue(&self, line: QueuedLine) -> Result<()> {
        let Some(line) = self.outbox.try_queue(line) else { return Ok(()) };
        tokio::select! {
            biased;
            queued = self.outbox.queue(line) => if queued {
                return Ok(());
            },
            over = self.end_reason.wait() => return Err(over.clone_flattened().unsent()),
        }
        // The writer has ended. Wait until the reason is known.
        Err(self.end_reason.wait().await.clone_flattened().unsent())
    }

    async fn wait_until_written(&self, mut ticket: Ticket) -> Result<()> {
        let begun = tokio::select! {
            biased;
            begun = ticket.begun() => begun,
            // Writing may have begun at this very moment. `withdraw` returns whether it has.
            _ = self.end_reason.wait() => ticket.withdraw(),
        };
        if !begun {
            return Err(self.end_reason.wait().await.clone_flattened().unsent());
        }
        tokio::select! {
            biased;
            true = ticket.done() => Ok(()),
            over = self.end_reason.wait() => Err(over.clone_flattened().reply_lost()),
        }
    }

    pub(crate) fn set_max_message(&self, bytes: usize) {
        self.max_message.store(bytes, Ordering::Relaxed);
    }

    /// Returns the maximum length of a line in bytes.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message.load(Ordering::Relaxed)
    }

    /// Sets the inbox for the server's notifications and questions.
    pub(crate) fn set_inbox(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    /// Stops sending, because the pipe is about to end. Replies to requests that were sent may still arrive, until
    /// [`end`](Self::end) sets the reason.
    pub(crate) fn stop_sending(&self) {
        if self.sending_stopped.set(()).is_ok() {
            self.outbox.stop();
        }
    }

    pub(crate) fn has_stopped_sending(&self) -> bool {
        self.sending_stopped.initialized()
    }

    /// Waits until sending has stopped.
    pub(crate) async fn sending_stopped(&self) {
        self.sending_stopped.wait().await;
    }

    /// Ends the pipe: all requests in flight and all later requests fail with the error `over`. If the pipe has already
    /// ended, the first error stays.
    pub(crate) fn end(&self, over: Error) {
        if self.end_reason.set(over).is_ok() {
            self.pending.wake_all();
            let reader = self.reader.lock().take();
            wake(reader);
        }
        self.stop_sending();
    }

    /// Waits until the pipe is ended.
    pub(crate) async fn ended(&self) {
        self.end_reason.wait().await;
    }

    /// Returns whether the pipe has ended. If it has not, its end wakes the reader, which is the only task that asks.
    pub(super) fn poll_ended(&self, cx: &mut Context<'_>) -> bool {
        let mut reader = self.reader.lock();
        match &mut *reader {
            Some(waker) => waker.clone_from(cx.waker()),
            None => *reader = Some(cx.waker().clone()),
        }
        drop(reader);
        self.end_reason.initialized()
    }

    /// Passes a reply to the request that waits for it.
    pub(super) fn complete(&self, id: &Id, reply: Result<Message>) {
        self.pending.complete(id, reply);
    }

    /// Fails the requests that an error without an id may be about. A server that stops reading a long request before
    /// its end does not learn the id of the request. So the error without an id is the only reply to that request.
    ///
    /// If the error states the server's limit, all requests that are longer than the limit fail. Otherwise, an error
    /// with the code "parse error" or "invalid request" is about a request that the server could not read. Every server
    /// can read short requests, so the error is assumed to be about the longest request in flight, if that request is
    /// longer than [`ALWAYS_READABLE_BYTES`]. This is a guess, so at most one request fails. Other errors are ignored.
    /// Requests that still wait to be written are not affected.
    pub(super) fn fail_long_requests(&self, error: &RpcError) {
        let failure = |sent: usize| {
            let refused = Error::from(error.clone());
            if refused.is_too_large() {
                return refused;
            }
            refused.context(format!(
                "the server could not read a request of {sent} bytes: its limit may be lower"
            ))
        };
        match error.max_message() {
            Some(max) => self.pending.fail_longer_than(max, failure),
            None if matches!(error.code, Code::PARSE_ERROR | Code::INVALID_REQUEST) => {
                self.pending.fail_longest(ALWAYS_READABLE_BYTES, failure);
            }
            None => {}
        }
    }
}

/// Every server is assumed to accept requests of up to this many bytes: 64 KiB is the lowest default limit of common
/// libraries.
const ALWAYS_READABLE_BYTES: usize = 64 << 10;

/// Returns the error of a pipe that the client closed.
pub(crate) fn closed_error() -> Error {
    Error::new(ErrorKind::Transport, "the connection was closed")
}

/// Adds `words` as the cause of an error, unless `words` is empty.
pub(crate) fn with_cause(error: Error, words: String) -> Error {
    if words.is_empty() { error } else { error.caused_by(words) }
}
