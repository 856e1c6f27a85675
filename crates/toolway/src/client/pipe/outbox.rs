//! Which messages wait to be written, and which were withdrawn?
//!
//! There are two queues. Calls and most notifications wait for room in a bounded queue. *Owed* messages are answers to
//! the server's requests, and cancel notifications. They have a queue of their own, which is written first: a server
//! may need an owed message before it continues to read.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::client::pipe::pending::{PendingRequest, wake};
use crate::client::record::Recorder;
use crate::ground::mutex::Mutex;
use crate::transport::frame::replace_line_breaks;

/// The maximum number of messages in the bounded queue.
const QUEUE_CAPACITY: usize = 64;

/// While owed messages of this many bytes or more wait to be written, no further answers are queued. The limit protects
/// the client from a server that does not read.
const MAX_PRIORITY_BYTES: usize = 1 << 20;

/// The sending half of the two queues.
pub(super) struct Outbox {
    queues: Mutex<Queues>,
    /// One permit for each free place in the bounded queue. Closed when the writer has ended.
    places: Semaphore,
    /// Notified when the writer takes an owed message.
    priority_room: Notify,
}

#[derive(Default)]
struct Queues {
    lines: VecDeque<QueuedLine>,
    priority: VecDeque<BytesMut>,
    priority_bytes: usize,
    /// The waker of the writer.
    writer: Option<Waker>,
    /// `true` once sending has stopped. The writer then takes only owed messages.
    is_stopped: bool,
    /// `true` once the writer has ended.
    has_ended: bool,
}

/// The receiving half of the two queues, for the writer.
pub(crate) struct WriteQueue(Arc<Outbox>);

impl Outbox {
    pub(super) fn new() -> (Arc<Self>, WriteQueue) {
        let outbox = Arc::new(Self {
            queues: Mutex::default(),
            places: Semaphore::new(QUEUE_CAPACITY),
            priority_room: Notify::new(),
        });
        (outbox.clone(), WriteQueue(outbox))
    }

    /// Queues a message if there is room in the bounded queue. Otherwise returns the message.
    pub(super) fn try_queue(&self, queued: QueuedLine) -> Option<QueuedLine> {
        let Ok(place) = self.places.try_acquire() else { return Some(queued) };
        place.forget();
        self.push(queued);
        None
    }

    /// Waits for room in the bounded queue, and queues a message. Returns `false` if the writer has ended.
    pub(super) async fn queue(&self, queued: QueuedLine) -> bool {
        let Ok(place) = self.places.acquire().await else { return false };
        place.forget();
        self.push(queued);
        true
    }

    /// Queues a message, for which there is a place. If the writer ends at this very moment, the message is dropped.
    fn push(&self, line: QueuedLine) {
        let mut queues = self.queues.lock();
        if !queues.has_ended {
            queues.lines.push_back(line);
        }
        let writer = queues.writer.take();
        drop(queues);
        wake(writer);
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
            let room = self.priority_room.notified();
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
        self.queues.lock().priority_bytes < most
    }

    fn push_priority(&self, frame: &[u8]) {
        let line = copied_line(frame);
        let mut queues = self.queues.lock();
        // The server may be gone, and the writer with it.
        if !queues.has_ended {
            queues.priority_bytes += line.len();
            queues.priority.push_back(line);
        }
        let writer = queues.writer.take();
        drop(queues);
        wake(writer);
    }

    /// Tells the writer that sending has stopped.
    pub(super) fn stop(&self) {
        let mut queues = self.queues.lock();
        queues.is_stopped = true;
        let writer = queues.writer.take();
        drop(queues);
        wake(writer);
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
        while let Some(line) = self.next_priority() {
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

    fn next_priority(&self) -> Option<BytesMut> {
        self.0.queues.lock().priority.pop_front()
    }

    /// Waits for the next message to write. Owed messages come first. Returns `None` when sending has stopped.
    pub(super) async fn next(&mut self) -> Option<QueuedLine> {
        poll_fn(|cx| {
            let mut queues = self.0.queues.lock();
            if queues.is_stopped {
                return Poll::Ready(None);
            }
            if let Some(line) = queues.priority.pop_front() {
                queues.priority_bytes -= line.len();
                drop(queues);
                // This wakes all waiting answers; an answer that finds no room waits again.
                self.0.priority_room.notify_waiters();
                return Poll::Ready(Some(QueuedLine { line, sender: LineSender::Owed }));
            }
            if let Some(queued) = queues.lines.pop_front() {
                drop(queues);
                self.0.places.add_permits(1);
                return Poll::Ready(Some(queued));
            }
            match &mut queues.writer {
                Some(writer) => writer.clone_from(cx.waker()),
                None => queues.writer = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }
}

/// Drops what is not written, and fails those who wait for room.
impl Drop for WriteQueue {
    fn drop(&mut self) {
        let mut queues = self.0.queues.lock();
        queues.has_ended = true;
        let left = (std::mem::take(&mut queues.lines), std::mem::take(&mut queues.priority));
        drop(queues);
        drop(left);
        self.0.places.close();
    }
}

/// A line that waits to be written.
pub(super) struct QueuedLine {
    pub(super) line: BytesMut,
    pub(super) sender: LineSender,
}

/// The code that waits for a queued line.
pub(super) enum LineSender {
    /// The line is an owed message, which cannot be withdrawn.
    Owed,
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

/// Makes a line of a frame. The memory of a frame without other owners becomes that of the line.
fn to_line(frame: Bytes) -> BytesMut {
    match frame.try_into_mut() {
        Ok(frame) => end_line(frame),
        Err(shared) => copied_line(&shared),
    }
}

fn copied_line(frame: &[u8]) -> BytesMut {
    let mut line = BytesMut::with_capacity(frame.len() + 1);
    line.extend_from_slice(frame);
    end_line(line)
}

fn end_line(mut line: BytesMut) -> BytesMut {
    replace_line_breaks(&mut line);
    line.put_u8(b'\n');
    line
}

/// The sender's view of a queued notification.
pub(super) struct Ticket {
    begun: oneshot::Receiver<()>,
    done: oneshot::Receiver<()>,
}

impl QueuedLine {
    /// Makes the line of a request.
    pub(super) fn request(frame: Bytes, request: Arc<PendingRequest>) -> Self {
        Self { line: to_line(frame), sender: LineSender::Request(request) }
    }

    /// Makes the line of a notification and its ticket. Dropping the ticket before writing begins withdraws the line.
    pub(super) fn notification(frame: Bytes) -> (Self, Ticket) {
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
