//! How does a client resume a stream of events?
//!
//! Every message of a stream is first appended to a log in the store; a reply only reads the log. So a broken
//! connection loses nothing that the log still holds: the client reconnects, names the last event that it received, and
//! continues from there. The name of the current reader is stored under a separate key, so that resuming takes no room
//! in the log. The messages on the log's channel are empty; they only tell readers to read the log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use toolway_protocol::era::handshake::has_priming_events;

use super::super::endpoint::body::{BodyWriter, KEEP_ALIVE_COMMENT, KEEP_ALIVE_INTERVAL};
use super::limits::SessionLimits;
use super::live_session::{ENDED, LiveSession, NotificationFeed};
use crate::ground::error::Result;
use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::store::{Keep, LogEntry, Room, Store, Subscription};
use crate::transport::sse;

/// How many events are read from the log in one step.
const MAX_READ_ENTRIES: usize = 64;

/// The shortest interval between two renewals of a session and its stream.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_millis(10);

/// The kind of a log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogEntryKind {
    /// The start of the stream of a request.
    RequestStart = b'p' as isize,
    /// The start of a notification stream.
    NotificationsStart = b'g' as isize,
    Message = b'm' as isize,
    /// A question to the client. The request waits for the answer.
    Question = b'q' as isize,
    /// The answer, if there is one, and the end of the stream.
    End = b'e' as isize,
    /// Asks the client to disconnect, and to reconnect after the given number of milliseconds.
    Release = b'r' as isize,
}

impl LogEntryKind {
    fn read(entry: &[u8]) -> Option<(Self, &[u8])> {
        let (mark, rest) = entry.split_first()?;
        let all = [
            Self::RequestStart,
            Self::NotificationsStart,
            Self::Message,
            Self::Question,
            Self::End,
            Self::Release,
        ];
        Some((all.into_iter().find(|known| *known as u8 == *mark)?, rest))
    }

    /// Returns how long an entry stays in the log: the start, the end and questions always, other entries while there
    /// is room.
    fn keep(self) -> Keep {
        match self {
            Self::RequestStart | Self::NotificationsStart | Self::Question | Self::End => Keep::Always,
            Self::Message | Self::Release => Keep::WhileThereIsRoom,
        }
    }
}

/// The log of one stream.
#[derive(Clone)]
pub(super) struct StreamLog {
    store: Arc<dyn Store>,
    /// The id of the stream, which is the first part of its event ids.
    pub(super) stream: String,
    key: String,
    /// The store key that holds the name of the current reader. The key is absent until a second reader replaces the
    /// first.
    reader_key: String,
    room: Room,
    kept_for: Duration,
    pace: Arc<ReaderTracker>,
}

impl StreamLog {
    pub(super) fn new(
        store: Arc<dyn Store>,
        limits: &SessionLimits,
        session: &str,
        stream: &str,
        pace: Arc<ReaderTracker>,
    ) -> Self {
        Self {
            store,
            key: format!("events/{session}/{stream}"),
            reader_key: format!("reader/{session}/{stream}"),
            stream: stream.to_owned(),
            room: Room { entries: limits.kept_events, bytes: limits.kept_bytes },
            kept_for: limits.kept_for,
            pace,
        }
    }

    /// Starts the stream of a request, so that it can be resumed before its first message.
    pub(super) async fn open(&self) -> Result<()> {
        self.append(LogEntryKind::RequestStart, &[]).await.map(drop)
    }

    /// Starts a notification stream.
    pub(super) async fn open_for_notifications(&self) -> Result<()> {
        self.append(LogEntryKind::NotificationsStart, &[]).await.map(drop)
    }

    /// Appends a message. If a reader in this process is too far behind, waits for it for a limited time.
    pub(super) async fn append_message(&self, frame: &[u8]) -> Result<()> {
        self.append_with_backpressure(LogEntryKind::Message, frame).await
    }

    /// Appends a question.
    pub(super) async fn append_question(&self, frame: &[u8]) -> Result<()> {
        self.append_with_backpressure(LogEntryKind::Question, frame).await
    }

    async fn append_with_backpressure(&self, mark: LogEntryKind, text: &[u8]) -> Result<()> {
        let size = text.len() + 1;
        self.pace.wait_for_reader(1, size, self.room).await;
        let number = self.append(mark, text).await?;
        self.pace.record_append(number, size, self.room);
        Ok(())
    }

    /// Registers a reader that reads the log, or is about to.
    pub(super) fn attach(&self) -> ReaderGuard {
        self.pace.readers.fetch_add(1, Ordering::AcqRel);
        ReaderGuard(self.pace.clone())
    }

    /// Returns a guard for the writer. Dropping the guard tells readers that no entry will follow.
    pub(super) fn writer_guard(&self) -> DropGuard {
        self.pace.writer_done.clone().drop_guard()
    }

    /// Returns whether the stream is being read, or was read before and may be resumed.
    pub(super) fn is_wanted(&self) -> bool {
        self.pace.has_reader() || self.pace.was_read.load(Ordering::Acquire)
    }

    /// Appends the answer, which may be empty, and ends the stream.
    pub(super) async fn end(&self, answer: &[u8]) -> Result<()> {
        // A single message may exceed the room of the log, and is then dropped when another entry follows. So this
        // method first waits until the reader has read every message.
        self.pace.wait_for_reader(0, 0, self.room).await;
        self.append(LogEntryKind::End, answer).await.map(drop)
    }

    /// Asks the client to disconnect, and to reconnect after `retry`.
    pub(super) async fn release(&self, retry: Duration) -> Result<()> {
        self.append_with_backpressure(LogEntryKind::Release, retry.as_millis().to_string().as_bytes()).await
    }

    pub(super) async fn forget(&self) -> Result<()> {
        self.store.delete_log(&self.key).await?;
        self.store.delete(&self.reader_key).await.map(drop)
    }

    /// Extends the lifetime of the log. Returns whether it exists.
    pub(super) async fn prolong(&self) -> Result<bool> {
        self.store.renew_log(&self.key, self.kept_for).await
    }

    async fn append(&self, mark: LogEntryKind, text: &[u8]) -> Result<u64> {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.push(mark as u8);
        bytes.extend_from_slice(text);
        let entry = LogEntry { bytes: bytes.into(), keep: mark.keep() };
        let number = self.store.append(&self.key, entry, self.room, self.kept_for).await?;
        self.store.publish(&self.key, Bytes::new()).await?;
        Ok(number)
    }

    /// Checks how the stream can be resumed after an event. Returns `None` if the stream is not kept, or never had such
    /// an event.
    pub(super) async fn resume_point(&self, after: u64) -> Result<Option<ResumePoint>> {
        let Some(last) = self.store.last(&self.key).await? else { return Ok(None) };
        if after == 0 || after > last {
            return Ok(None);
        }
        let first = self.store.read(&self.key, 0, 1).await?;
        let is_news = matches!(first.first(), Some((1, entry)) if entry.first() == Some(&(LogEntryKind::NotificationsStart as u8)));
        let seen = self.store.read(&self.key, after - 1, 1).await?;
        let is_over = matches!(seen.first(), Some((number, entry)) if *number == after && entry.first() == Some(&(LogEntryKind::End as u8)));
        Ok(Some(ResumePoint { is_notification_stream: is_news, is_over }))
    }

    /// Replaces the current reader. Returns the name of the new reader.
    async fn take_over(&self) -> Result<String> {
        let name = random_hex::<8>();
        self.store.put(&self.reader_key, name.clone().into(), self.kept_for).await?;
        self.store.publish(&self.key, Bytes::new()).await?;
        Ok(name)
    }

    /// Returns whether the reader with this name is still the current one.
    async fn is_read_by(&self, name: &str) -> Result<bool> {
        let reader = self.store.renew(&self.reader_key, self.kept_for).await?;
        Ok(reader.is_none_or(|reader| reader == name))
    }
}

/// The facts about a stream that a client wants to resume.
pub(super) struct ResumePoint {
    /// `true` for a notification stream.
    pub(super) is_notification_stream: bool,
    /// `true` if the event that the client received last is the end of the stream.
    pub(super) is_over: bool,
}

/// Tracks how far the reader in this process is behind the writer. A handler that writes faster than the reader reads
/// has to wait, as on every other transport. Once the reader has stalled, the writer does not wait again until the
/// reader continues.
#[derive(Default)]
pub(super) struct ReaderTracker {
    readers: AtomicUsize,
    was_read: AtomicBool,
    last_read: AtomicU64,
    is_stalled: AtomicBool,
    reader_moved: Notify,
    retained: Mutex<RetainedMessages>,
    /// Cancelled when no further entry will be written.
    writer_done: CancellationToken,
}

/// The messages that the log still holds.
#[derive(Default)]
struct RetainedMessages {
    /// The number of each message, and the total bytes written up to its end.
    messages: VecDeque<(u64, usize)>,
    /// How many bytes the log has dropped.
    dropped_bytes: usize,
    total_bytes: usize,
}

impl RetainedMessages {
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
    pub(super) fn has_reader(&self) -> bool {
        self.readers.load(Ordering::Acquire) > 0
    }

    /// Waits until `entries` more entries of `size` bytes fit beside the unread messages, until no reader is left, or
    /// until the reader stalls.
    async fn wait_for_reader(&self, entries: usize, size: usize, room: Room) {
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

    fn record_read(&self, number: u64) {
        self.last_read.store(number, Ordering::Release);
        self.is_stalled.store(false, Ordering::Release);
        self.reader_moved.notify_one();
    }

    /// Records a message that was appended, and removes the messages that the log may have dropped to make room.
    fn record_append(&self, number: u64, size: usize, room: Room) {
        let mut kept = self.retained.lock();
        kept.total_bytes += size;
        let all = kept.total_bytes;
        kept.messages.push_back((number, all));
        while kept.messages.len() > 1
            && (kept.messages.len() > room.entries || kept.total_bytes - kept.dropped_bytes > room.bytes)
        {
            kept.dropped_bytes = kept.messages.pop_front().map_or(kept.dropped_bytes, |(_, end)| end);
        }
    }
}

/// Reads a log and writes it as a reply.
pub(super) struct StreamReader {
    live: Arc<LiveSession>,
    log: StreamLog,
    last_read: u64,
    /// The name of this reader; empty for the first reader of the stream.
    name: String,
    /// The number of the last entry when this reader took over. Release entries up to this number were meant for
    /// earlier readers.
    last_at_takeover: u64,
    /// `true` if the revision starts streams with a primer: an event without data, which gives the client an event id.
    has_primer: bool,
    /// The channel of the log.
    log_channel: Box<dyn Subscription>,
    /// The channel of the session.
    session_channel: Box<dyn Subscription>,
    feed: Option<NotificationFeed>,
    closing: Arc<CancellationToken>,
    is_over: bool,
    /// When the session and the stream have to be renewed.
    due: Instant,
    _attached: ReaderGuard,
}

impl StreamReader {
    /// Creates a reader that starts at the beginning of a stream. The reader subscribes before its first read, so it
    /// misses no message.
    pub(super) async fn new(
        live: &Arc<LiveSession>,
        log: StreamLog,
        feed: Option<NotificationFeed>,
        closing: Arc<CancellationToken>,
    ) -> Result<Self> {
        let heard = log.store.subscribe(&log.key).await?;
        let told = log.store.subscribe(&live.channel()).await?;
        log.pace.was_read.store(true, Ordering::Release);
        Ok(Self {
            _attached: log.attach(),
            due: Instant::now() + renewal_interval(live.limits()),
            has_primer: has_priming_events(live.session.version()),
            live: live.clone(),
            log,
            last_read: 0,
            name: String::new(),
            last_at_takeover: 0,
            log_channel: heard,
            session_channel: told,
            feed,
            closing,
            is_over: false,
        })
    }

    /// Continues after an event, and replaces the current reader.
    pub(super) async fn resume_after(mut self, after: u64) -> Result<Self> {
        self.name = self.log.take_over().await?;
        self.last_at_takeover = self.log.store.last(&self.log.key).await?.unwrap_or(after);
        self.last_read = after;
        self.log.pace.record_read(after);
        Ok(self)
    }

    /// Marks the stream as finished, so that nothing is read.
    pub(super) fn at_end(mut self) -> Self {
        self.is_over = true;
        self
    }

    /// Writes the stream until its end, or until another reader replaces this one.
    pub(super) async fn write_to(mut self, pen: BodyWriter) {
        if let Err(error) = self.run(&pen).await {
            tracing::error!(%error, "the events of a stream could not be read");
        }
    }

    async fn run(&mut self, pen: &BodyWriter) -> Result<()> {
        let mut is_last_look = false;
        while !self.is_over {
            // Renew also while there is always more to read: the session and the stream live as long as a client reads.
            if Instant::now() >= self.due && !self.prolong().await? {
                return Ok(());
            }
            let entries = self.log.store.read(&self.log.key, self.last_read, MAX_READ_ENTRIES).await?;
            // Checked after the read: messages that came after another reader took over belong to that reader.
            if !self.log.is_read_by(&self.name).await? {
                return Ok(());
            }
            if entries.is_empty() {
                if is_last_look {
                    return Ok(());
                }
                match self.wait().await? {
                    WaitOutcome::ReadLog => {}
                    WaitOutcome::KeepAlive => pen.write(KEEP_ALIVE_COMMENT).await,
                    // The answer may have been written just before the end, so the log is read once more.
                    WaitOutcome::End => is_last_look = true,
                }
                continue;
            }
            let mut out = Vec::new();
            for (number, entry) in entries {
                self.last_read = number;
                self.is_over = self.write(&mut out, number, &entry);
                if self.is_over {
                    break;
                }
            }
            if !out.is_empty() {
                pen.write(out).await;
            }
            self.log.pace.record_read(self.last_read);
        }
        Ok(())
    }

    /// Writes one entry. Returns whether it is the last entry that this reader writes.
    fn write(&self, out: &mut Vec<u8>, number: u64, entry: &[u8]) -> bool {
        let Some((mark, text)) = LogEntryKind::read(entry) else { return false };
        let id = || format!("{}.{number}", self.log.stream);
        match mark {
            LogEntryKind::RequestStart | LogEntryKind::NotificationsStart if self.has_primer => {
                let retry = self.live.limits().retry.as_millis();
                sse::write_primer(out, &id(), u64::try_from(retry).unwrap_or(u64::MAX));
            }
            LogEntryKind::Message | LogEntryKind::Question | LogEntryKind::End => {
                if !text.is_empty() {
                    sse::write_message(out, Some(&id()), text);
                }
                return mark == LogEntryKind::End;
            }
            LogEntryKind::Release if number > self.last_at_takeover => {
                out.extend_from_slice(b"retry: ");
                out.extend_from_slice(text);
                out.extend_from_slice(b"\n\n");
                return true;
            }
            LogEntryKind::RequestStart | LogEntryKind::NotificationsStart | LogEntryKind::Release => {}
        }
        false
    }

    /// Waits until there may be something to read.
    async fn wait(&mut self) -> Result<WaitOutcome> {
        let Self { live, log, log_channel: heard, session_channel: told, feed, closing, due, .. } = self;
        let is_news = feed.is_some();
        tokio::select! {
            biased;
            () = live.ended.cancelled() => return Ok(WaitOutcome::End),
            () = log.pace.writer_done.cancelled() => return Ok(WaitOutcome::End),
            () = closing.cancelled(), if is_news => return Ok(WaitOutcome::End),
            _ = heard.next() => {}
            message = told.next() => {
                if message.as_deref() == Some(ENDED) || !live.refresh().await? {
                    return Ok(WaitOutcome::End);
                }
            }
            () = wait_for_notifications(feed.as_mut()) => {
                if let Some(feed) = feed {
                    let mut news = feed.listener.unsent_for(|news| feed.filter.allows(news));
                    while let Some(next) = news.first() {
                        let mut frame = Vec::new();
                        next.write(&mut frame, feed.version);
                        // Entry 1 is always the start of a stream. If this message got the number 1, the log was
                        // removed in the meantime; the next stream sends the message.
                        if log.append(LogEntryKind::Message, &frame).await? == 1 {
                            log.forget().await?;
                            return Ok(WaitOutcome::End);
                        }
                        news.mark_sent();
                    }
                }
            }
            () = tokio::time::sleep_until(*due) => return Ok(WaitOutcome::KeepAlive),
        }
        Ok(WaitOutcome::ReadLog)
    }

    /// Renews the session and the stream. Returns whether both still exist.
    async fn prolong(&mut self) -> Result<bool> {
        self.due = Instant::now() + renewal_interval(self.live.limits());
        if !self.live.refresh().await? {
            return Ok(false);
        }
        match self.log.store.last(&self.log.key).await? {
            None => Ok(false),
            // While a request runs, its server renews the log. If that server has died, the log expires, so that its
            // reader does not wait forever.
            Some(last) if last <= self.last_read && self.feed.is_none() => Ok(true),
            Some(_) => self.log.prolong().await,
        }
    }
}

/// Returns the interval in which a reader sends keep-alives to its client, and renews the session in the store.
fn renewal_interval(limits: &SessionLimits) -> Duration {
    KEEP_ALIVE_INTERVAL.min(limits.session_idle / 3).min(limits.kept_for / 3).max(MIN_RENEWAL_INTERVAL)
}

/// The next step of a reader after a wait.
enum WaitOutcome {
    ReadLog,
    KeepAlive,
    End,
}

async fn wait_for_notifications(feed: Option<&mut NotificationFeed>) {
    match feed {
        Some(feed) => feed.wait().await,
        None => std::future::pending().await,
    }
}
