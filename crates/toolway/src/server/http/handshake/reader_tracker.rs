//! How far is the reader of a stream behind its writer, and how much memory does the log of the stream take?

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ground::budget::{Account, Charge, Exhausted, Resource};
use crate::ground::mutex::Mutex;
use crate::store::Room;

/// Tracks how far the reader in this process is behind the writer. A handler that writes faster than the reader reads
/// has to wait, as on every other transport. Once the reader has stalled, the writer does not wait again until the
/// reader continues.
#[derive(Default)]
pub(super) struct ReaderTracker {
    readers: AtomicUsize,
    pub(super) was_read: AtomicBool,
    last_read: AtomicU64,
    is_stalled: AtomicBool,
    reader_moved: Notify,
    retained: Mutex<RetainedMessages>,
    /// `true` once a request writes the log.
    pub(super) has_writer: AtomicBool,
    /// Cancelled when no further entry will be written.
    pub(super) writer_done: CancellationToken,
}

/// The messages that the log still holds.
#[derive(Default)]
struct RetainedMessages {
    /// The number of each message, and the total bytes written up to its end.
    messages: VecDeque<(u64, usize)>,
    /// How many bytes the log has dropped.
    dropped_bytes: usize,
    total_bytes: usize,
    /// The size of the answer, if the log has one.
    answer_bytes: usize,
    /// The charge for the memory of the log.
    charge: Option<Charge>,
}

/// How many bytes an entry of the table of kept streams takes, besides its messages.
const STREAM_OVERHEAD: usize = 512;

impl RetainedMessages {
    /// Returns how many bytes the log takes.
    fn size(&self) -> usize {
        STREAM_OVERHEAD + self.total_bytes - self.dropped_bytes + self.answer_bytes
    }

    /// Returns how many messages follow the message `number`, and their size in bytes.
    fn unread_after(&self, number: u64) -> (usize, usize) {
        let first = self.messages.partition_point(|(known, _)| *known <= number);
        let before = first.checked_sub(1).and_then(|last| self.messages.get(last));
        (self.messages.len() - first, self.total_bytes - before.map_or(self.dropped_bytes, |(_, end)| *end))
    }
}

/// A registered reader. Dropping it unregisters the reader.
pub(super) struct ReaderGuard(Arc<ReaderTracker>);

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
        self.0.reader_moved.notify_one();
    }
}

/// How many events a reader may be behind before the writer waits.
const MAX_BEHIND: usize = 256;
/// How long the writer waits for a reader before the reader counts as stalled.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);

impl ReaderTracker {
    /// Registers a reader that reads the log, or is about to.
    pub(super) fn attach(self: &Arc<Self>) -> ReaderGuard {
        self.readers.fetch_add(1, Ordering::AcqRel);
        ReaderGuard(self.clone())
    }

    /// Returns whether no client reads the stream, and no request writes it.
    pub(super) fn is_finished(&self) -> bool {
        let is_written = self.has_writer.load(Ordering::Acquire) && !self.writer_done.is_cancelled();
        !is_written && !self.has_reader()
    }

    /// Records the size of the answer, which the log keeps.
    pub(super) fn record_answer(&self, size: usize) {
        self.retained.lock().answer_bytes = size;
    }

    /// Returns the charge of a log that was deleted.
    pub(super) fn release_charge(&self) {
        self.retained.lock().charge = None;
    }

    pub(super) fn has_reader(&self) -> bool {
        self.readers.load(Ordering::Acquire) > 0
    }

    /// Waits until `entries` more entries of `size` bytes fit beside the unread messages, until no reader is left, or
    /// until the reader stalls.
    pub(super) async fn wait_for_reader(&self, entries: usize, size: usize, room: Room) {
        let is_far = || {
            let (unread, bytes) = self.retained.lock().unread_after(self.last_read.load(Ordering::Acquire));
            let is_full = unread + entries > room.entries.min(MAX_BEHIND) || bytes + size > room.bytes;
            self.has_reader() && unread > 0 && is_full
        };
        while is_far() && !self.is_stalled.load(Ordering::Acquire) {
            let moved = self.reader_moved.notified();
            if is_far() && tokio::time::timeout(STALL_TIMEOUT, moved).await.is_err() {
                self.is_stalled.store(true, Ordering::Release);
            }
        }
    }

    /// Charges the log, with `more` bytes, to the account.
    pub(super) fn charge(&self, account: &Arc<Account>, more: usize) -> Result<(), Exhausted> {
        let mut retained = self.retained.lock();
        let size = retained.size() + more;
        match &mut retained.charge {
            Some(charge) => charge.resize_item(size)?,
            charge @ None => *charge = Some(account.charge(Resource::Kept, size)?),
        }
        Ok(())
    }

    pub(super) fn record_read(&self, number: u64) {
        self.last_read.store(number, Ordering::Release);
        self.is_stalled.store(false, Ordering::Release);
        self.reader_moved.notify_one();
    }

    /// Records a message that was appended, and removes the messages that the log may have dropped to make room.
    pub(super) fn record_append(&self, number: u64, size: usize, room: Room) {
        let mut kept = self.retained.lock();
        kept.total_bytes += size;
        let all = kept.total_bytes;
        kept.messages.push_back((number, all));
        while kept.messages.len() > 1
            && (kept.messages.len() > room.entries || kept.total_bytes - kept.dropped_bytes > room.bytes)
        {
            kept.dropped_bytes = kept.messages.pop_front().map_or(kept.dropped_bytes, |(_, end)| end);
        }
        let size = kept.size();
        if let Some(charge) = kept.charge.as_mut().filter(|charge| charge.amount() > size) {
            // A charge can always become smaller.
            let _ = charge.resize(size);
        }
    }
}
