//! Which messages wait to be written, and which were withdrawn?
//!
//! There are two queues. Calls and most notifications wait for room in a bounded queue. *Owed* messages are answers to
//! the server's requests, and cancel notifications. They have a queue of their own, which is written first: a server
//! may need an owed message before it continues to read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::client::pipe::pending::PendingRequest;
use crate::client::record::Recorder;
use crate::transport::frame::push_line;

/// The maximum number of messages in the bounded queue.
const QUEUE_CAPACITY: usize = 64;

/// While owed messages of this many bytes or more wait to be written, no further answers are queued. The limit protects
/// the client from a server that does not read.
const MAX_PRIORITY_BYTES: usize = 1 << 20;

/// The sending half of the two queues.
pub(super) struct Outbox {
    queue: mpsc::Sender<QueuedLine>,
    priority: mpsc::UnboundedSender<Vec<u8>>,
    priority_bytes: Arc<AtomicUsize>,
    /// Notified when the writer takes an owed message.
    room: Arc<Notify>,
}

/// The receiving half of the two queues, for the writer.
pub(crate) struct WriteQueue {
    queue: mpsc::Receiver<QueuedLine>,
    priority: mpsc::UnboundedReceiver<Vec<u8>>,
    priority_bytes: Arc<AtomicUsize>,
    room: Arc<Notify>,
}

impl Outbox {
    pub(super) fn new() -> (Self, WriteQueue) {
        let (queue, queued) = mpsc::channel(QUEUE_CAPACITY);
        let (owed, is_owed) = mpsc::unbounded_channel();
        let (waiting, room) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let write_queue = WriteQueue {
            queue: queued,
            priority: is_owed,
            priority_bytes: waiting.clone(),
            room: room.clone(),
        };
        (Self { queue, priority: owed, priority_bytes: waiting, room }, write_queue)
    }

    /// Queues a message if there is room in the bounded queue. Otherwise returns the message.
    pub(super) fn try_queue(&self, queued: QueuedLine) -> Option<QueuedLine> {
        self.queue.try_send(queued).err().map(TrySendError::into_inner)
    }

    /// Waits for room in the bounded queue, and queues a message. Returns `false` if the writer has ended.
    pub(super) async fn queue(&self, queued: QueuedLine) -> bool {
        self.queue.send(queued).await.is_ok()
    }

    /// Queues an answer that is ready at once. Drops the answer if [`MAX_PRIORITY_BYTES`] bytes wait already. It does
    /// not wait for room, because then both sides could block each other.
    pub(super) fn queue_or_drop(&self, frame: &[u8]) {
        if self.has_room(MAX_PRIORITY_BYTES) {
            self.push_priority(frame);
        }
    }

    /// Queues an answer that took time to produce, as soon as there is room.
    pub(super) async fn queue_when_room(&self, frame: &[u8]) {
        loop {
            let room = self.room.notified();
            if self.has_room(MAX_PRIORITY_BYTES) {
                return self.push_priority(frame);
            }
            room.await;
        }
    }

    /// Queues a cancel notification. Its limit is twice the limit for answers; beyond that, the notification is
    /// dropped.
    pub(super) fn queue_cancel(&self, frame: &[u8]) {
        if self.has_room(2 * MAX_PRIORITY_BYTES) {
            self.push_priority(frame);
        }
    }

    fn has_room(&self, most: usize) -> bool {
        self.priority_bytes.load(Ordering::Acquire) < most
    }

    fn push_priority(&self, frame: &[u8]) {
        let line = to_line(frame);
        self.priority_bytes.fetch_add(line.len(), Ordering::AcqRel);
        // This fails only if the writer has ended because the server is gone.
        let _ = self.priority.send(line);
    }
}

impl WriteQueue {
    /// Writes all owed messages when sending stops. Without its cancel notification, a cancelled call would continue to
    /// run in the server.
    pub(super) async fn flush_priority(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin),
        recorder: Option<&Recorder>,
    ) {
        while let Ok(line) = self.priority.try_recv() {
            if let Some(recorder) = recorder {
                recorder.record_out(&line[..line.len() - 1]);
            }
            // The server may be gone already.
            if writer.write_all(&line).await.is_err() {
                return;
            }
        }
        let _ = writer.flush().await;
    }

    /// Waits for the next message to write. Owed messages come first.
    pub(super) async fn next(&mut self) -> Option<QueuedLine> {
        tokio::select! {
            biased;
            Some(line) = self.priority.recv() => {
                self.priority_bytes.fetch_sub(line.len(), Ordering::AcqRel);
                // This wakes all waiting answers; an answer that finds no room waits again.
                self.room.notify_waiters();
                Some(QueuedLine { line, sender: LineSender::Nobody })
            }
            queued = self.queue.recv() => queued,
        }
    }
}

/// A line that waits to be written.
pub(super) struct QueuedLine {
    pub(super) line: Vec<u8>,
    pub(super) sender: LineSender,
}

/// The code that waits for a queued line.
pub(super) enum LineSender {
    /// The line is an owed message, which cannot be withdrawn.
    Nobody,
    /// The line is a request. Its caller waits for the reply.
    Request(Arc<PendingRequest>),
    /// The line is a notification. Its sender waits until it is written.
    Notification(WriteSignals),
}

/// The channels that report when writing a line begins, and when it is done.
pub(super) struct WriteSignals {
    pub(super) begun: oneshot::Sender<()>,
    pub(super) done: oneshot::Sender<()>,
}

fn to_line(frame: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(frame.len() + 1);
    push_line(&mut line, frame);
    line
}

/// The sender's view of a queued notification.
pub(super) struct Ticket {
    begun: oneshot::Receiver<()>,
    done: oneshot::Receiver<()>,
}

impl QueuedLine {
    /// Makes the line of a request.
    pub(super) fn request(frame: &[u8], request: Arc<PendingRequest>) -> Self {
        Self { line: to_line(frame), sender: LineSender::Request(request) }
    }

    /// Makes the line of a notification and its ticket. Dropping the ticket before writing begins withdraws the line.
    pub(super) fn notification(frame: &[u8]) -> (Self, Ticket) {
        let (begun, has_begun) = oneshot::channel();
        let (done, is_done) = oneshot::channel();
        let signals = WriteSignals { begun, done };
        let queued = Self { line: to_line(frame), sender: LineSender::Notification(signals) };
        (queued, Ticket { begun: has_begun, done: is_done })
    }
}

impl Ticket {
    /// Waits until writing begins. Returns `false` if the writer ends first.
    pub(super) async fn begun(&mut self) -> bool {
        (&mut self.begun).await.is_ok()
    }

    /// Withdraws the line, unless writing has begun. Returns `true` if writing has begun, so that the line could not be
    /// withdrawn.
    pub(super) fn withdraw(&mut self) -> bool {
        self.begun.close();
        self.begun.try_recv().is_ok()
    }

    /// Waits until the line is written. Returns `false` if writing failed.
    pub(super) async fn done(&mut self) -> bool {
        (&mut self.done).await.is_ok()
    }
}
