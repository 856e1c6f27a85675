//! What waits to be written, and what not any more?
//!
//! Calls wait for room, one after another. What is owed to the server, answers to its questions and calls that are taken back, does
//! not stand behind them: nobody waits for it, and a server may need it before it reads on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};
use toolway_protocol::Id;

use crate::transport::frame::push_line;

/// How many messages may wait to be written.
const MAX_WAITING: usize = 64;

/// How many bytes may wait that are owed to the server. One that does not read is owed no more.
const MAX_OWED: usize = 1 << 20;

/// What is to be written, where it is put.
pub(super) struct Outbox {
    queue: mpsc::Sender<Queued>,
    owed: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    /// Told when something was written that had waited.
    room: Arc<Notify>,
}

/// What is to be written, where it is taken from.
pub(crate) struct WriteQueue {
    queue: mpsc::Receiver<Queued>,
    owed: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    room: Arc<Notify>,
}

impl Outbox {
    pub(super) fn new() -> (Self, WriteQueue) {
        let (queue, queued) = mpsc::channel(MAX_WAITING);
        let (owed, is_owed) = mpsc::unbounded_channel();
        let (waiting, room) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let write_queue =
            WriteQueue { queue: queued, owed: is_owed, waiting: waiting.clone(), room: room.clone() };
        (Self { queue, owed, waiting, room }, write_queue)
    }

    /// Waits for room; `false` if nobody writes any more.
    pub(super) async fn queue(&self, queued: Queued) -> bool {
        self.queue.send(queued).await.is_ok()
    }

    /// Puts what is known at once. A server that asks and does not read loses it: waiting for it could stop both sides.
    pub(super) fn owe(&self, frame: &[u8]) {
        if self.has_room(MAX_OWED) {
            self.put(frame);
        }
    }

    /// Puts what somebody has thought about, as soon as there is room.
    pub(super) async fn answer(&self, frame: &[u8]) {
        loop {
            let room = self.room.notified();
            if self.has_room(MAX_OWED) {
                return self.put(frame);
            }
            room.await;
        }
    }

    /// Puts what takes a call back, also where there is no room for answers.
    pub(super) fn take_back(&self, frame: &[u8]) {
        if self.has_room(2 * MAX_OWED) {
            self.put(frame);
        }
    }

    fn has_room(&self, most: usize) -> bool {
        self.waiting.load(Ordering::Acquire) < most
    }

    fn put(&self, frame: &[u8]) {
        let line = to_line(frame);
        self.waiting.fetch_add(line.len(), Ordering::AcqRel);
        // Nobody writes any more: the server has gone.
        let _ = self.owed.send(line);
    }
}

impl WriteQueue {
    /// Writes what is still owed. A call that was given up would run on in a server that is not told of it.
    pub(super) async fn settle(&mut self, writer: &mut (impl AsyncWrite + Unpin)) {
        while let Ok(line) = self.owed.try_recv() {
            // The server may be gone, which is why nothing more is to be sent.
            if writer.write_all(&line).await.is_err() {
                return;
            }
        }
        let _ = writer.flush().await;
    }

    pub(super) async fn next(&mut self) -> Option<Queued> {
        tokio::select! {
            biased;
            Some(line) = self.owed.recv() => {
                self.waiting.fetch_sub(line.len(), Ordering::AcqRel);
                // One after another: whoever finds no room waits again.
                self.room.notify_waiters();
                Some(Queued { line, id: None, tell: None })
            }
            queued = self.queue.recv() => queued,
        }
    }
}

/// A line that waits to be written, and whom to tell.
pub(super) struct Queued {
    pub(super) line: Vec<u8>,
    /// Of the request that it is.
    pub(super) id: Option<Id>,
    /// What is owed cannot be taken back.
    pub(super) tell: Option<Tell>,
}

pub(super) struct Tell {
    pub(super) begun: oneshot::Sender<()>,
    pub(super) done: oneshot::Sender<()>,
}

fn to_line(frame: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(frame.len() + 1);
    push_line(&mut line, frame);
    line
}

/// What its sender knows of a line.
pub(super) struct Ticket {
    begun: oneshot::Receiver<()>,
    done: oneshot::Receiver<()>,
}

impl Queued {
    /// A line that is not written if its ticket is dropped before.
    pub(super) fn new(frame: &[u8], id: Option<Id>) -> (Self, Ticket) {
        let (begun, has_begun) = oneshot::channel();
        let (done, is_done) = oneshot::channel();
        let queued = Self { line: to_line(frame), id, tell: Some(Tell { begun, done }) };
        (queued, Ticket { begun: has_begun, done: is_done })
    }
}

impl Ticket {
    /// Waits until writing begins; `false` if it never will.
    pub(super) async fn begun(&mut self) -> bool {
        (&mut self.begun).await.is_ok()
    }

    /// Sees to it that writing does not begin any more; `true` if it has.
    pub(super) fn take_back(&mut self) -> bool {
        self.begun.close();
        self.begun.try_recv().is_ok()
    }

    /// Waits until it is written; `false` if it could not be.
    pub(super) async fn done(&mut self) -> bool {
        (&mut self.done).await.is_ok()
    }
}
