//! How does a client resume a stream of events?
//!
//! Every message of a stream is first appended to a log in the store; a reply only reads the log. So a broken
//! connection loses nothing that the log still holds: the client reconnects, names the last event that it received, and
//! continues from there. The name of the current reader is stored under a separate key, so that resuming takes no room
//! in the log. The messages on the log's channel are empty; they only tell readers to read the log.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use toolway_protocol::Id;
use toolway_protocol::era::handshake::has_priming_events;
use toolway_protocol::jsonrpc::write_error;

use super::super::endpoint::body::{BodyWriter, KEEP_ALIVE_INTERVAL};
use super::kept_streams::{KeptStreams, ResumableStream};
use super::limits::SessionLimits;
use super::live_session::{ENDED, LiveSession, NotificationFeed};
use super::reader_tracker::{ReaderGuard, ReaderTracker};
use crate::ground::budget::{Account, Exhausted};
use crate::ground::error::Result;
use crate::ground::random::random_hex;
use crate::server::call::stream_rights::{StreamRights, next_verdict};
use crate::server::failure::errors::busy;
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
    /// The account of the peer that the log is kept for.
    account: Arc<Account>,
    /// The streams that are forgotten to make room for this one.
    kept_streams: Weak<KeptStreams<Self>>,
}

impl StreamLog {
    pub(super) fn new(live: &LiveSession, stream: &str, pace: Arc<ReaderTracker>) -> Self {
        let (session, limits) = (&live.id, live.limits());
        Self {
            store: live.store().clone(),
            key: format!("events/{session}/{stream}"),
            reader_key: format!("reader/{session}/{stream}"),
            stream: stream.to_owned(),
            room: Room { entries: limits.kept_events, bytes: limits.kept_bytes },
            kept_for: limits.kept_for,
            pace,
            account: live.account.clone(),
            kept_streams: Arc::downgrade(live.all_kept_streams()),
        }
    }

    /// Charges the memory of one more entry to the peer. Forgets the oldest finished streams if that makes room:
    /// streams of the peer if its share is used up, streams of any peer if the total is used up. Returns whether there
    /// is room.
    async fn make_room(&self, size: usize) -> Result<bool> {
        loop {
            let oldest = match self.pace.charge(&self.account, size) {
                Ok(()) => return Ok(true),
                Err(exhausted) => self.kept_streams.upgrade().and_then(|kept| {
                    let account = (exhausted == Exhausted::Share).then_some(&self.account);
                    kept.take_oldest_finished(account)
                }),
            };
            match oldest {
                Some(oldest) => oldest.forget().await?,
                None => return Ok(false),
            }
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
        // A message that finds no room is dropped, like one that makes room for a later one. A question is not: the
        // request waits for its answer.
        if !self.make_room(size).await? && mark != LogEntryKind::Question {
            return Ok(());
        }
        let number = self.append(mark, text).await?;
        self.pace.record_append(number, size, self.room);
        Ok(())
    }

    /// Registers a reader that reads the log, or is about to.
    pub(super) fn attach(&self) -> ReaderGuard {
        self.pace.attach()
    }

    /// Returns a guard for the writer. Dropping the guard tells readers that no entry will follow.
    pub(super) fn writer_guard(&self) -> DropGuard {
        self.pace.has_writer.store(true, Ordering::Release);
        self.pace.writer_done.clone().drop_guard()
    }

    /// Returns whether the stream is being read, or was read before and may be resumed.
    pub(super) fn is_wanted(&self) -> bool {
        self.pace.has_reader() || self.pace.was_read.load(Ordering::Acquire)
    }

    /// Appends the answer, which may be empty, and ends the stream. An answer that finds no room is replaced by an error
    /// for the request `id`.
    pub(super) async fn end(&self, answer: &[u8], id: Option<&Id>) -> Result<()> {
        // A single message may exceed the room of the log, and is then dropped when another entry follows. So this
        // method first waits until the reader has read every message.
        self.pace.wait_for_reader(0, 0, self.room).await;
        if self.make_room(answer.len() + 1).await? {
            self.pace.record_answer(answer.len() + 1);
            return self.append(LogEntryKind::End, answer).await.map(drop);
        }
        let mut error = Vec::new();
        write_error(&mut error, id, &busy("too many answers are kept for clients that may reconnect"));
        self.append(LogEntryKind::End, &error).await.map(drop)
    }

    /// Asks the client to disconnect, and to reconnect after `retry`.
    pub(super) async fn release(&self, retry: Duration) -> Result<()> {
        self.append_with_backpressure(LogEntryKind::Release, retry.as_millis().to_string().as_bytes()).await
    }

    pub(super) async fn forget(&self) -> Result<()> {
        self.pace.release_charge();
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

impl ResumableStream for StreamLog {
    fn account(&self) -> &Arc<Account> {
        &self.account
    }

    fn is_finished(&self) -> bool {
        self.pace.is_finished()
    }

    fn kept_for(&self) -> Duration {
        self.kept_for
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
    /// The rights of the caller that opened a notification stream.
    rights: Option<StreamRights>,
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
        mut feed: Option<NotificationFeed>,
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
            rights: feed.as_mut().and_then(|feed| feed.rights.take()),
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
                    WaitOutcome::KeepAlive => pen.write_keep_alive().await,
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
            // A client that leaves too much unread is disconnected. It can resume the stream.
            if !out.is_empty() && pen.write(out).await.is_err() {
                return Ok(());
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
        let Self { live, log, log_channel: heard, session_channel: told, feed, rights, closing, due, .. } =
            self;
        let is_news = feed.is_some();
        tokio::select! {
            biased;
            () = live.ended.cancelled() => return Ok(WaitOutcome::End),
            () = log.pace.writer_done.cancelled() => return Ok(WaitOutcome::End),
            () = closing.cancelled(), if is_news => return Ok(WaitOutcome::End),
            verdict = next_verdict(rights.as_mut()) => match (verdict, feed) {
                (Ok(allowed), Some(feed)) => feed.filter.set_visibility(allowed),
                (Ok(_), None) => {}
                (Err(_), _) => return Ok(WaitOutcome::End),
            },
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
