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

use toolway_protocol::era::handshake::has_primers;

use super::super::door::body::{ALIVE, KEEP_ALIVE, Pen};
use super::limits::SessionLimits;
use super::live::{ENDED, Feed, Live};
use crate::ground::error::Result;
use crate::ground::mutex::Mutex;
use crate::ground::random::random;
use crate::store::{Entry, Keep, Room, Store, Subscription};
use crate::transport::sse;

/// How many events are read from the log in one step.
const BATCH: usize = 64;

/// The shortest interval between two renewals of a session and its stream.
const SHORTEST: Duration = Duration::from_millis(10);

/// The kind of a log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The start of the stream of a request.
    Request = b'p' as isize,
    /// The start of a notification stream.
    News = b'g' as isize,
    Message = b'm' as isize,
    /// A question to the client. The request waits for the answer.
    Question = b'q' as isize,
    /// The answer, if there is one, and the end of the stream.
    End = b'e' as isize,
    /// Asks the client to disconnect, and to reconnect after the given number of milliseconds.
    Release = b'r' as isize,
}

impl Mark {
    fn read(entry: &[u8]) -> Option<(Self, &[u8])> {
        let (mark, rest) = entry.split_first()?;
        let all = [Self::Request, Self::News, Self::Message, Self::Question, Self::End, Self::Release];
        Some((all.into_iter().find(|known| *known as u8 == *mark)?, rest))
    }

    /// Returns how long an entry stays in the log: the start, the end and questions always, other entries while there
    /// is room.
    fn keep(self) -> Keep {
        match self {
            Self::Request | Self::News | Self::Question | Self::End => Keep::Always,
            Self::Message | Self::Release => Keep::WhileThereIsRoom,
        }
    }
}

/// The log of one stream.
#[derive(Clone)]
pub(super) struct Log {
    store: Arc<dyn Store>,
    /// The id of the stream, which is the first part of its event ids.
    pub(super) stream: String,
    key: String,
    /// The store key that holds the name of the current reader. The key is absent until a second reader replaces the
    /// first.
    reader: String,
    room: Room,
    kept_for: Duration,
    pace: Arc<Pace>,
}

impl Log {
    pub(super) fn new(
        store: Arc<dyn Store>,
        limits: &SessionLimits,
        session: &str,
        stream: &str,
        pace: Arc<Pace>,
    ) -> Self {
        Self {
            store,
            key: format!("events/{session}/{stream}"),
            reader: format!("reader/{session}/{stream}"),
            stream: stream.to_owned(),
            room: Room { entries: limits.kept_events, bytes: limits.kept_bytes },
            kept_for: limits.kept_for,
            pace,
        }
    }

    /// Starts the stream of a request, so that it can be resumed before its first message.
    pub(super) async fn open(&self) -> Result<()> {
        self.append(Mark::Request, &[]).await.map(drop)
    }

    /// Starts a notification stream.
    pub(super) async fn open_for_news(&self) -> Result<()> {
        self.append(Mark::News, &[]).await.map(drop)
    }

    /// Appends a message. If a reader in this process is too far behind, waits for it for a limited time.
    pub(super) async fn say(&self, frame: &[u8]) -> Result<()> {
        self.say_as(Mark::Message, frame).await
    }

    /// Appends a question.
    pub(super) async fn ask(&self, frame: &[u8]) -> Result<()> {
        self.say_as(Mark::Question, frame).await
    }

    async fn say_as(&self, mark: Mark, text: &[u8]) -> Result<()> {
        let size = text.len() + 1;
        self.pace.wait_for_reader(1, size, self.room).await;
        let number = self.append(mark, text).await?;
        self.pace.said(number, size, self.room);
        Ok(())
    }

    /// Registers a reader that reads the log, or is about to.
    pub(super) fn attach(&self) -> Attached {
        self.pace.readers.fetch_add(1, Ordering::AcqRel);
        Attached(self.pace.clone())
    }

    /// Returns a guard for the writer. Dropping the guard tells readers that no entry will follow.
    pub(super) fn writing(&self) -> DropGuard {
        self.pace.over.clone().drop_guard()
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
        self.append(Mark::End, answer).await.map(drop)
    }

    /// Asks the client to disconnect, and to reconnect after `retry`.
    pub(super) async fn release(&self, retry: Duration) -> Result<()> {
        self.say_as(Mark::Release, retry.as_millis().to_string().as_bytes()).await
    }

    pub(super) async fn forget(&self) -> Result<()> {
        self.store.forget(&self.key).await?;
        self.store.delete(&self.reader).await.map(drop)
    }

    /// Extends the lifetime of the log. Returns whether it exists.
    pub(super) async fn prolong(&self) -> Result<bool> {
        self.store.prolong(&self.key, self.kept_for).await
    }

    async fn append(&self, mark: Mark, text: &[u8]) -> Result<u64> {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.push(mark as u8);
        bytes.extend_from_slice(text);
        let entry = Entry { bytes: bytes.into(), keep: mark.keep() };
        let number = self.store.append(&self.key, entry, self.room, self.kept_for).await?;
        self.store.publish(&self.key, Bytes::new()).await?;
        Ok(number)
    }

    /// Checks how the stream can be resumed after an event. Returns `None` if the stream is not kept, or never had such
    /// an event.
    pub(super) async fn come_back(&self, after: u64) -> Result<Option<ComeBack>> {
        let Some(last) = self.store.last(&self.key).await? else { return Ok(None) };
        if after == 0 || after > last {
            return Ok(None);
        }
        let first = self.store.read(&self.key, 0, 1).await?;
        let is_news = matches!(first.first(), Some((1, entry)) if entry.first() == Some(&(Mark::News as u8)));
        let seen = self.store.read(&self.key, after - 1, 1).await?;
        let is_over = matches!(seen.first(), Some((number, entry)) if *number == after && entry.first() == Some(&(Mark::End as u8)));
        Ok(Some(ComeBack { is_news, is_over }))
    }

    /// Replaces the current reader. Returns the name of the new reader.
    async fn take_over(&self) -> Result<String> {
        let name = random::<8>();
        self.store.put(&self.reader, name.clone().into(), self.kept_for).await?;
        self.store.publish(&self.key, Bytes::new()).await?;
        Ok(name)
    }

    /// Returns whether the reader with this name is still the current one.
    async fn is_read_by(&self, name: &str) -> Result<bool> {
        let reader = self.store.renew(&self.reader, self.kept_for).await?;
        Ok(reader.is_none_or(|reader| reader == name))
    }
}

/// The facts about a stream that a client wants to resume.
pub(super) struct ComeBack {
    /// `true` for a notification stream.
    pub(super) is_news: bool,
    /// `true` if the event that the client received last is the end of the stream.
    pub(super) is_over: bool,
}

/// Tracks how far the reader in this process is behind the writer. A handler that writes faster than the reader reads
/// has to wait, as on every other transport. Once the reader has stalled, the writer does not wait again until the
/// reader continues.
#[derive(Default)]
pub(super) struct Pace {
    readers: AtomicUsize,
    was_read: AtomicBool,
    read: AtomicU64,
    is_stalled: AtomicBool,
    moved: Notify,
    kept: Mutex<Kept>,
    /// Cancelled when no further entry will be written.
    over: CancellationToken,
}

/// The messages that the log still holds.
#[derive(Default)]
struct Kept {
    /// The number of each message, and the total bytes written up to its end.
    said: VecDeque<(u64, usize)>,
    /// How many bytes the log has dropped.
    gone: usize,
    all: usize,
}

impl Kept {
    /// Returns how many messages follow the message `number`, and their size in bytes.
    fn after(&self, number: u64) -> (usize, usize) {
        let first = self.said.partition_point(|(known, _)| *known <= number);
        let before = first.checked_sub(1).and_then(|last| self.said.get(last));
        (self.said.len() - first, self.all - before.map_or(self.gone, |(_, end)| *end))
    }
}

/// A registered reader. Dropping it unregisters the reader.
pub(super) struct Attached(Arc<Pace>);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
        self.0.moved.notify_one();
    }
}

/// How many events a reader may be behind before the writer waits.
const FAR: usize = 256;
/// How long the writer waits for a reader before the reader counts as stalled.
const PATIENCE: Duration = Duration::from_secs(1);

impl Pace {
    pub(super) fn has_reader(&self) -> bool {
        self.readers.load(Ordering::Acquire) > 0
    }

    /// Waits until `entries` more entries of `size` bytes fit beside the unread messages, until no reader is left, or
    /// until the reader stalls.
    async fn wait_for_reader(&self, entries: usize, size: usize, room: Room) {
        let is_far = || {
            let (unread, bytes) = self.kept.lock().after(self.read.load(Ordering::Acquire));
            let is_full = unread + entries > room.entries.min(FAR) || bytes + size > room.bytes;
            self.has_reader() && unread > 0 && is_full
        };
        while is_far() && !self.is_stalled.load(Ordering::Acquire) {
            let moved = self.moved.notified();
            if is_far() && tokio::time::timeout(PATIENCE, moved).await.is_err() {
                self.is_stalled.store(true, Ordering::Release);
            }
        }
    }

    fn reached(&self, number: u64) {
        self.read.store(number, Ordering::Release);
        self.is_stalled.store(false, Ordering::Release);
        self.moved.notify_one();
    }

    /// Records a message that was appended, and removes the messages that the log may have dropped to make room.
    fn said(&self, number: u64, size: usize, room: Room) {
        let mut kept = self.kept.lock();
        kept.all += size;
        let all = kept.all;
        kept.said.push_back((number, all));
        while kept.said.len() > 1 && (kept.said.len() > room.entries || kept.all - kept.gone > room.bytes) {
            kept.gone = kept.said.pop_front().map_or(kept.gone, |(_, end)| end);
        }
    }
}

/// Reads a log and writes it as a reply.
pub(super) struct Reader {
    live: Arc<Live>,
    log: Log,
    after: u64,
    /// The name of this reader; empty for the first reader of the stream.
    name: String,
    /// The number of the last entry when this reader took over. Release entries up to this number were meant for
    /// earlier readers.
    since: u64,
    /// `true` if the revision starts streams with a primer: an event without data, which gives the client an event id.
    has_primer: bool,
    /// The channel of the log.
    heard: Box<dyn Subscription>,
    /// The channel of the session.
    told: Box<dyn Subscription>,
    feed: Option<Feed>,
    closing: Arc<CancellationToken>,
    is_over: bool,
    /// When the session and the stream have to be renewed.
    due: Instant,
    _attached: Attached,
}

impl Reader {
    /// Creates a reader that starts at the beginning of a stream. The reader subscribes before its first read, so it
    /// misses no message.
    pub(super) async fn new(
        live: &Arc<Live>,
        log: Log,
        feed: Option<Feed>,
        closing: Arc<CancellationToken>,
    ) -> Result<Self> {
        let heard = log.store.subscribe(&log.key).await?;
        let told = log.store.subscribe(&live.channel()).await?;
        log.pace.was_read.store(true, Ordering::Release);
        Ok(Self {
            _attached: log.attach(),
            due: Instant::now() + pause(live.limits()),
            has_primer: has_primers(live.session.version()),
            live: live.clone(),
            log,
            after: 0,
            name: String::new(),
            since: 0,
            heard,
            told,
            feed,
            closing,
            is_over: false,
        })
    }

    /// Continues after an event, and replaces the current reader.
    pub(super) async fn after(mut self, after: u64) -> Result<Self> {
        self.name = self.log.take_over().await?;
        self.since = self.log.store.last(&self.log.key).await?.unwrap_or(after);
        self.after = after;
        self.log.pace.reached(after);
        Ok(self)
    }

    /// Marks the stream as finished, so that nothing is read.
    pub(super) fn at_end(mut self) -> Self {
        self.is_over = true;
        self
    }

    /// Writes the stream until its end, or until another reader replaces this one.
    pub(super) async fn write_to(mut self, pen: Pen) {
        if let Err(error) = self.run(&pen).await {
            tracing::error!(%error, "the events of a stream could not be read");
        }
    }

    async fn run(&mut self, pen: &Pen) -> Result<()> {
        let mut is_last_look = false;
        while !self.is_over {
            // Renew also while there is always more to read: the session and the stream live as long as a client reads.
            if Instant::now() >= self.due && !self.prolong().await? {
                return Ok(());
            }
            let entries = self.log.store.read(&self.log.key, self.after, BATCH).await?;
            // Checked after the read: messages that came after another reader took over belong to that reader.
            if !self.log.is_read_by(&self.name).await? {
                return Ok(());
            }
            if entries.is_empty() {
                if is_last_look {
                    return Ok(());
                }
                match self.wait().await? {
                    Next::Look => {}
                    Next::Alive => pen.write(ALIVE).await,
                    // The answer may have been written just before the end, so the log is read once more.
                    Next::End => is_last_look = true,
                }
                continue;
            }
            let mut out = Vec::new();
            for (number, entry) in entries {
                self.after = number;
                self.is_over = self.write(&mut out, number, &entry);
                if self.is_over {
                    break;
                }
            }
            if !out.is_empty() {
                pen.write(out).await;
            }
            self.log.pace.reached(self.after);
        }
        Ok(())
    }

    /// Writes one entry. Returns whether it is the last entry that this reader writes.
    fn write(&self, out: &mut Vec<u8>, number: u64, entry: &[u8]) -> bool {
        let Some((mark, text)) = Mark::read(entry) else { return false };
        let id = || format!("{}.{number}", self.log.stream);
        match mark {
            Mark::Request | Mark::News if self.has_primer => {
                let retry = self.live.limits().retry.as_millis();
                sse::write_primer(out, &id(), u64::try_from(retry).unwrap_or(u64::MAX));
            }
            Mark::Message | Mark::Question | Mark::End => {
                if !text.is_empty() {
                    sse::write_message(out, Some(&id()), text);
                }
                return mark == Mark::End;
            }
            Mark::Release if number > self.since => {
                out.extend_from_slice(b"retry: ");
                out.extend_from_slice(text);
                out.extend_from_slice(b"\n\n");
                return true;
            }
            Mark::Request | Mark::News | Mark::Release => {}
        }
        false
    }

    /// Waits until there may be something to read.
    async fn wait(&mut self) -> Result<Next> {
        let Self { live, log, heard, told, feed, closing, due, .. } = self;
        let is_news = feed.is_some();
        tokio::select! {
            biased;
            () = live.gone.cancelled() => return Ok(Next::End),
            () = log.pace.over.cancelled() => return Ok(Next::End),
            () = closing.cancelled(), if is_news => return Ok(Next::End),
            _ = heard.next() => {}
            message = told.next() => {
                if message.as_deref() == Some(ENDED) || !live.refresh().await? {
                    return Ok(Next::End);
                }
            }
            () = news(feed.as_mut()) => {
                if let Some(feed) = feed {
                    let mut news = feed.listener.untold_for(|news| feed.sight.shows(news));
                    while let Some(next) = news.first() {
                        let mut frame = Vec::new();
                        next.write(&mut frame, feed.version);
                        // Entry 1 is always the start of a stream. If this message got the number 1, the log was
                        // removed in the meantime; the next stream sends the message.
                        if log.append(Mark::Message, &frame).await? == 1 {
                            log.forget().await?;
                            return Ok(Next::End);
                        }
                        news.told();
                    }
                }
            }
            () = tokio::time::sleep_until(*due) => return Ok(Next::Alive),
        }
        Ok(Next::Look)
    }

    /// Renews the session and the stream. Returns whether both still exist.
    async fn prolong(&mut self) -> Result<bool> {
        self.due = Instant::now() + pause(self.live.limits());
        if !self.live.refresh().await? {
            return Ok(false);
        }
        match self.log.store.last(&self.log.key).await? {
            None => Ok(false),
            // While a request runs, its server renews the log. If that server has died, the log expires, so that its
            // reader does not wait forever.
            Some(last) if last <= self.after && self.feed.is_none() => Ok(true),
            Some(_) => self.log.prolong().await,
        }
    }
}

/// Returns the interval in which a reader sends keep-alives to its client, and renews the session in the store.
fn pause(limits: &SessionLimits) -> Duration {
    KEEP_ALIVE.min(limits.session_idle / 3).min(limits.kept_for / 3).max(SHORTEST)
}

/// The next step of a reader after a wait.
enum Next {
    Look,
    Alive,
    End,
}

async fn news(feed: Option<&mut Feed>) {
    match feed {
        Some(feed) => feed.wait().await,
        None => std::future::pending().await,
    }
}
