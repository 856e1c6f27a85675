//! A stream of events that a client may leave and come back to.
//!
//! What is said on it goes into a log of the store first; a reply merely reads the log. So nothing is lost when a connection
//! breaks: whoever comes back names the last event it has seen and reads on from there. Who reads it now is kept beside the
//! log, so that coming back takes no room from what was said; what is published only says that it is worth to look.

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

/// How many events are read at once.
const BATCH: usize = 64;

/// The shortest pause between two looks at what is kept.
const SHORTEST: Duration = Duration::from_millis(10);

/// What an entry of a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The stream of a request begins.
    Request = b'p' as isize,
    /// A stream of news begins.
    News = b'g' as isize,
    Message = b'm' as isize,
    /// A question to the client, which waits for its answer.
    Question = b'q' as isize,
    /// The answer, if there is one, and the end.
    End = b'e' as isize,
    /// Whoever reads is to go, and to come back after so many milliseconds.
    Release = b'r' as isize,
}

impl Mark {
    fn read(entry: &[u8]) -> Option<(Self, &[u8])> {
        let (mark, rest) = entry.split_first()?;
        let all = [Self::Request, Self::News, Self::Message, Self::Question, Self::End, Self::Release];
        Some((all.into_iter().find(|known| *known as u8 == *mark)?, rest))
    }

    /// What must stay: the beginning, the end, and what somebody waits for.
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
    /// The stream's part of event ids.
    pub(super) stream: String,
    key: String,
    /// The key of who reads it, if that is not the first one.
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

    /// Begins the stream of a request, so that it can be come back to before anything is said.
    pub(super) async fn open(&self) -> Result<()> {
        self.append(Mark::Request, &[]).await.map(drop)
    }

    /// Begins a stream of news.
    pub(super) async fn open_for_news(&self) -> Result<()> {
        self.append(Mark::News, &[]).await.map(drop)
    }

    /// Says something. Whoever reads here and would lose something by it is waited for, a little.
    pub(super) async fn say(&self, frame: &[u8]) -> Result<()> {
        self.say_as(Mark::Message, frame).await
    }

    /// Asks something.
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

    /// Somebody reads, or is about to.
    pub(super) fn attach(&self) -> Attached {
        self.pace.readers.fetch_add(1, Ordering::AcqRel);
        Attached(self.pace.clone())
    }

    /// Somebody writes; when that is dropped, nobody does any more.
    pub(super) fn writing(&self) -> DropGuard {
        self.pace.over.clone().drop_guard()
    }

    /// Whether somebody reads, or may come back to do so.
    pub(super) fn is_wanted(&self) -> bool {
        self.pace.has_reader() || self.pace.was_read.load(Ordering::Acquire)
    }

    /// The answer, and the end of the stream; without an answer just the end.
    pub(super) async fn end(&self, answer: &[u8]) -> Result<()> {
        // One message may be longer than what is kept; it goes when anything follows.
        self.pace.wait_for_reader(0, 0, self.room).await;
        self.append(Mark::End, answer).await.map(drop)
    }

    /// Lets whoever reads go, to come back after so long.
    pub(super) async fn release(&self, retry: Duration) -> Result<()> {
        self.say_as(Mark::Release, retry.as_millis().to_string().as_bytes()).await
    }

    pub(super) async fn forget(&self) -> Result<()> {
        self.store.forget(&self.key).await?;
        self.store.delete(&self.reader).await.map(drop)
    }

    /// Lets it live on; whether it is there.
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

    /// Finds out how the stream can be read on after an event. `None`: it is not kept, or never had such an event.
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

    /// Sends whoever reads away; the new reader's name.
    async fn take_over(&self) -> Result<String> {
        let name = random::<8>();
        self.store.put(&self.reader, name.clone().into(), self.kept_for).await?;
        self.store.publish(&self.key, Bytes::new()).await?;
        Ok(name)
    }

    /// Whether nobody has come after the reader of this name.
    async fn is_read_by(&self, name: &str) -> Result<bool> {
        let reader = self.store.renew(&self.reader, self.kept_for).await?;
        Ok(reader.is_none_or(|reader| reader == name))
    }
}

/// How a stream can be read on.
pub(super) struct ComeBack {
    pub(super) is_news: bool,
    /// There is nothing after the event.
    pub(super) is_over: bool,
}

/// How far the reader of a stream is behind, if it is one of this process: a handler that says more than its reader takes
/// waits for it, as on every other wire. One that does not read at all is not waited for twice.
#[derive(Default)]
pub(super) struct Pace {
    readers: AtomicUsize,
    was_read: AtomicBool,
    read: AtomicU64,
    is_stalled: AtomicBool,
    moved: Notify,
    kept: Mutex<Kept>,
    /// Trips when nobody writes any more.
    over: CancellationToken,
}

/// What the log still has of what was said.
#[derive(Default)]
struct Kept {
    /// The numbers, and how many bytes were said until then.
    said: VecDeque<(u64, usize)>,
    /// How many bytes the log does not have any more.
    gone: usize,
    all: usize,
}

impl Kept {
    /// How much is after a number: so many messages, so many bytes.
    fn after(&self, number: u64) -> (usize, usize) {
        let first = self.said.partition_point(|(known, _)| *known <= number);
        let before = first.checked_sub(1).and_then(|last| self.said.get(last));
        (self.said.len() - first, self.all - before.map_or(self.gone, |(_, end)| *end))
    }
}

/// A reader; dropping it means that it has gone.
pub(super) struct Attached(Arc<Pace>);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
        self.0.moved.notify_one();
    }
}

/// How many events a reader may be behind.
const FAR: usize = 256;
/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

impl Pace {
    pub(super) fn has_reader(&self) -> bool {
        self.readers.load(Ordering::Acquire) > 0
    }

    /// Waits until there is room for so many entries and bytes beside what is not read yet.
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

    /// Something was said, and the log may have dropped something for it.
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

/// Reads a log as a reply does.
pub(super) struct Reader {
    live: Arc<Live>,
    log: Log,
    after: u64,
    /// Who reads, and since which entry: what was said to readers before is not for this one.
    name: String,
    since: u64,
    has_primer: bool,
    heard: Box<dyn Subscription>,
    told: Box<dyn Subscription>,
    feed: Option<Feed>,
    closing: Arc<CancellationToken>,
    is_over: bool,
    /// When the conversation and the stream are to be prolonged.
    due: Instant,
    _attached: Attached,
}

impl Reader {
    /// Reads a stream from its beginning. What is said from now on is heard, so nothing falls between.
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

    /// Reads from after an event on, instead of whoever reads now.
    pub(super) async fn after(mut self, after: u64) -> Result<Self> {
        self.name = self.log.take_over().await?;
        self.since = self.log.store.last(&self.log.key).await?.unwrap_or(after);
        self.after = after;
        self.log.pace.reached(after);
        Ok(self)
    }

    /// Reads nothing: there is nothing left.
    pub(super) fn at_end(mut self) -> Self {
        self.is_over = true;
        self
    }

    /// Writes the stream until its end, or until somebody else reads it.
    pub(super) async fn write_to(mut self, pen: Pen) {
        if let Err(error) = self.run(&pen).await {
            tracing::error!(%error, "the events of a stream could not be read");
        }
    }

    async fn run(&mut self, pen: &Pen) -> Result<()> {
        let mut is_last_look = false;
        while !self.is_over {
            // However much there is to read, the conversation and the stream live on as long as somebody reads.
            if Instant::now() >= self.due && !self.prolong().await? {
                return Ok(());
            }
            let entries = self.log.store.read(&self.log.key, self.after, BATCH).await?;
            // Asked after reading: what was said after somebody else came is theirs.
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
                    // The answer may have come with the end.
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

    /// Writes one entry; whether it is the last that this reader writes.
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
                        // The first entry is the beginning: a log that begins with this was forgotten meanwhile, and
                        // whoever comes next tells it.
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

    /// Lets the conversation and the stream live on; whether they are there.
    async fn prolong(&mut self) -> Result<bool> {
        self.due = Instant::now() + pause(self.live.limits());
        if !self.live.refresh().await? {
            return Ok(false);
        }
        match self.log.store.last(&self.log.key).await? {
            None => Ok(false),
            // As long as a request runs, its server sees to this. Where that server has died, nobody waits for ever.
            Some(last) if last <= self.after && self.feed.is_none() => Ok(true),
            Some(_) => self.log.prolong().await,
        }
    }
}

/// How often a reader shows that it is there, to its client and to the store.
fn pause(limits: &SessionLimits) -> Duration {
    KEEP_ALIVE.min(limits.session_idle / 3).min(limits.kept_for / 3).max(SHORTEST)
}

/// What a reader does after it has waited.
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
