//! Which state is needed to serve one session? Its record, its running requests, and its open streams.

use std::collections::{HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::era::handshake::Initialize;
use toolway_protocol::types::LogLevel;
use toolway_protocol::{Id, ProtocolVersion, RpcError};

use super::kept_streams::KeptStreams;
use super::limits::SessionLimits;
use super::reader_tracker::ReaderTracker;
use super::stream::StreamLog;
use crate::ground::budget::{Account, Charge};
use crate::ground::error::Result;
use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::server::Server;
use crate::server::call::memory_record::MemoryRecord;
use crate::server::call::stream_rights::StreamRights;
use crate::server::catalog::visible::NotificationFilter;
use crate::server::changes::listeners::{self, Listener};
use crate::server::failure::errors::busy;
use crate::server::handshake::Session;
use crate::store::Store;

/// The stored record of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    version: String,
    /// The parameters of `initialize`, in which the client describes itself.
    opening: Box<RawValue>,
    /// `true` once the client has sent `notifications/initialized`.
    ready: bool,
    #[serde(serialize_with = "write_level")]
    level: LogLevel,
    /// The URIs that the client has subscribed to.
    uris: Vec<String>,
    /// How often the record was changed.
    #[serde(default)]
    changes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn write_level<S: Serializer>(level: &LogLevel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level.as_str())
}

impl Record {
    pub(super) fn new(version: ProtocolVersion, opening: Box<RawValue>) -> Self {
        let level = Session::DEFAULT_LOG_LEVEL;
        let version = version.as_str().to_owned();
        Self { version, opening, ready: false, level, uris: Vec::new(), changes: 0 }
    }

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    pub(super) fn write(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    fn session(&self, listener: Arc<Listener>) -> Session {
        let version = self.version.parse().unwrap_or(ProtocolVersion::LATEST_HANDSHAKE);
        match serde_json::from_str::<Initialize>(self.opening.get()) {
            Ok(opening) => Session::open(version, opening, Some(listener)),
            Err(_) => Session::without_handshake(version, Some(listener)),
        }
    }
}

/// A record as it was last read or written.
#[derive(Clone)]
struct RecordVersion {
    text: Bytes,
    changes: u64,
}

/// The account of a session's peer, and what is counted there.
pub(super) struct SessionAccount {
    pub(super) account: Arc<Account>,
    /// The charge for the session, if this server counts it.
    pub(super) charge: Option<Charge>,
    /// The streams of all sessions that can be resumed.
    pub(super) kept_streams: Arc<KeptStreams<StreamLog>>,
}

/// One session, as this server keeps it in memory.
pub(super) struct LiveSession {
    pub(super) id: String,
    /// The store key of the session's record.
    pub(super) key: String,
    /// The account of the peer that the session belongs to.
    pub(super) account: Arc<Account>,
    /// Counts the session as one of its peer, until it is removed.
    charge: Mutex<Option<Charge>>,
    pub(super) session: Session,
    listener: Arc<Listener>,
    is_ready: AtomicBool,
    /// The record as it was last seen.
    record: Mutex<RecordVersion>,
    /// How often a record from the store was applied to this state.
    apply_count: AtomicU64,
    /// The running requests by id.
    running: Mutex<HashMap<Id, CancellationToken>>,
    /// The notification streams that are being read, the newest last.
    streams: Mutex<Vec<u64>>,
    newest: watch::Sender<u64>,
    /// The progress of the writer and the readers of each stream in this process, by the id of the stream.
    trackers: Mutex<HashMap<String, Weak<ReaderTracker>>>,
    /// Streams that can be resumed, the oldest first, with their numbers in `all_kept_streams`.
    kept_streams: Mutex<VecDeque<(String, u64)>>,
    /// The streams of all sessions that can be resumed.
    all_kept_streams: Arc<KeptStreams<StreamLog>>,
    last_used: Mutex<Instant>,
    /// The values that handlers remember for the client.
    memory: Arc<MemoryRecord>,
    /// When the remembered values have to be renewed.
    memory_due: Mutex<Instant>,
    /// Cancelled when the session is over.
    pub(super) ended: CancellationToken,
    server: Server,
    store: Arc<dyn Store>,
    limits: Arc<SessionLimits>,
}

impl LiveSession {
    pub(super) fn new(
        server: &Server,
        limits: &Arc<SessionLimits>,
        id: String,
        key: String,
        counted: SessionAccount,
        record: Record,
        text: Bytes,
    ) -> Arc<Self> {
        let listener = server.inner.changes.listen();
        listener.limit_to_capabilities(&server.capabilities());
        let ttl = limits.session_idle.saturating_add(memory_renewal_interval(limits));
        let memory = Arc::new(MemoryRecord::new(server.inner.store.clone(), format!("memory/{key}"), ttl));
        let live = Self {
            id,
            key,
            account: counted.account,
            charge: Mutex::new(counted.charge),
            session: record.session(listener.clone()),
            listener,
            is_ready: AtomicBool::new(false),
            record: Mutex::new(RecordVersion { text, changes: record.changes }),
            apply_count: AtomicU64::new(0),
            running: Mutex::default(),
            streams: Mutex::default(),
            newest: watch::Sender::new(0),
            trackers: Mutex::default(),
            kept_streams: Mutex::default(),
            all_kept_streams: counted.kept_streams,
            last_used: Mutex::new(Instant::now()),
            memory,
            memory_due: Mutex::new(Instant::now()),
            ended: CancellationToken::new(),
            server: server.clone(),
            store: server.inner.store.clone(),
            limits: limits.clone(),
        };
        live.apply(record);
        Arc::new(live)
    }

    pub(super) fn limits(&self) -> &SessionLimits {
        &self.limits
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the streams of all sessions that can be resumed.
    pub(super) fn all_kept_streams(&self) -> &Arc<KeptStreams<StreamLog>> {
        &self.all_kept_streams
    }

    /// Returns whether other servers may serve this session too.
    pub(super) fn is_shared(&self) -> bool {
        self.server.inner.changes.bridge.is_some()
    }

    /// Returns how long a question may stay unanswered.
    pub(super) fn question_timeout(&self) -> Duration {
        self.server.inner.question_timeout
    }

    pub(super) fn json_limits(&self) -> toolway_protocol::json::Limits {
        self.server.inner.limits
    }

    /// Applies a record, which another server may have written.
    fn apply(&self, record: Record) {
        self.session.set_log_level(record.level);
        self.listener.set_subscribed(record.uris);
        self.is_ready.store(record.ready, Ordering::Release);
        self.apply_count.fetch_add(1, Ordering::AcqRel);
        self.wake_newest_stream();
    }

    /// Returns how often a record was applied. If the number grows while a caller changes the session, the record may
    /// have overwritten the change, and the caller has to apply it again.
    pub(super) fn apply_count(&self) -> u64 {
        self.apply_count.load(Ordering::Acquire)
    }

    /// Ends the session on this server: its requests are cancelled, and it is no longer counted.
    pub(super) fn end(&self) {
        self.ended.cancel();
        *self.charge.lock() = None;
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    /// Wakes the newest stream, so that it checks for notifications.
    fn wake_newest_stream(&self) {
        self.newest.send_modify(|_| {});
        self.listener.wake();
    }

    /// Marks the session as used, and applies the record in `text` if it is newer than the last one.
    pub(super) fn mark_used(&self, text: Bytes) {
        self.touch();
        let is_other = self.record.lock().text != text;
        if is_other && let Some(record) = Record::read(&text) {
            let mut seen = self.record.lock();
            // A caller that read an older record must not undo later changes.
            if record.changes > seen.changes {
                *seen = RecordVersion { text, changes: record.changes };
                self.apply(record);
            }
        }
    }

    /// Renews and reads the record. Returns whether it still exists.
    pub(super) async fn refresh(&self) -> Result<bool> {
        let text = self.store.renew(&self.key, self.limits.session_idle).await?;
        let is_there = text.is_some();
        match text {
            Some(text) => {
                self.mark_used(text);
                self.renew_memory().await?;
            }
            None => self.ended.cancel(),
        }
        Ok(is_there)
    }

    /// Returns the values remembered for the client.
    pub(super) fn memory(&self) -> Arc<MemoryRecord> {
        self.memory.clone()
    }

    /// Renews the remembered values, so that they live at least as long as the session, even if they are rarely used.
    /// Another server may have written values, so this server cannot know whether there are any. It always renews them,
    /// but rarely.
    pub(super) async fn renew_memory(&self) -> Result<()> {
        let now = Instant::now();
        {
            let mut due = self.memory_due.lock();
            if now < *due {
                return Ok(());
            }
            *due = now + memory_renewal_interval(&self.limits);
        }
        self.memory.renew().await
    }

    /// Writes the changes of this session to its record. Returns `false` if another server changed the record first.
    pub(super) async fn save(&self) -> Result<bool> {
        let old = self.record.lock().clone();
        // The parameters of `initialize` are kept only in the record, and never change.
        let Some(mut record) = Record::read(&old.text) else { return Ok(false) };
        record.ready = self.is_ready();
        record.level = self.session.log_level.get();
        record.uris = self.listener.subscribed();
        if old.text == record.write() {
            return Ok(true);
        }
        record.changes += 1;
        let new = RecordVersion { text: record.write(), changes: record.changes };
        let text = new.text.clone();
        let is_done =
            self.store.compare_and_swap(&self.key, Some(old.text), text, self.limits.session_idle).await?;
        if is_done {
            self.set_record_if_newer(new);
            self.publish(CHANGED).await?;
        }
        Ok(is_done)
    }

    fn set_record_if_newer(&self, record: RecordVersion) {
        let mut seen = self.record.lock();
        if record.changes > seen.changes {
            *seen = record;
        }
    }

    /// Notifies the servers that have a stream of this session.
    async fn publish(&self, what: &'static [u8]) -> Result<()> {
        self.store.publish(&self.channel(), Bytes::from_static(what)).await
    }

    pub(super) fn channel(&self) -> String {
        format!("session/{}", self.id)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// Marks that the client has confirmed the handshake.
    pub(super) fn mark_ready(&self) {
        self.is_ready.store(true, Ordering::Release);
        self.wake_newest_stream();
    }

    /// Marks everything that the client listens to as changed: this server does not know what has changed before it got
    /// the session, and a client that resumes its stream does not ask.
    pub(super) fn note_missed_changes(&self) {
        self.listener.add_everything();
    }

    pub(super) fn is_idle(&self, now: Instant, limit: Duration) -> bool {
        self.running.lock().is_empty()
            && self.streams.lock().is_empty()
            && self.last_used.lock().checked_add(limit).is_some_and(|end| end < now)
    }

    /// Creates a log for a new stream.
    pub(super) fn new_log(&self) -> StreamLog {
        self.log(&random_hex::<8>())
    }

    pub(super) fn log(&self, stream: &str) -> StreamLog {
        let mut paces = self.trackers.lock();
        let pace = paces.get(stream).and_then(Weak::upgrade).unwrap_or_else(|| {
            // Entries of dropped streams are removed before the map would have to grow.
            if paces.len() == paces.capacity() {
                paces.retain(|_, pace| pace.strong_count() > 0);
            }
            let pace = Arc::default();
            paces.insert(stream.to_owned(), Arc::downgrade(&pace));
            pace
        });
        StreamLog::new(self, stream, pace)
    }

    fn has_reader(&self, stream: &str) -> bool {
        self.trackers.lock().get(stream).and_then(Weak::upgrade).is_some_and(|pace| pace.has_reader())
    }

    /// Begins a request, unless a request with this id is running.
    pub(super) fn begin_request(self: &Arc<Self>, id: &Id) -> Result<RunningRequest, RpcError> {
        let mut running = self.running.lock();
        if running.contains_key(id) {
            return Err(RpcError::invalid_request("a request with this id is still running"));
        }
        let cancel = self.ended.child_token();
        running.insert(id.clone(), cancel.clone());
        Ok(RunningRequest { live: self.clone(), id: id.clone(), cancel })
    }

    /// Cancels a request. An id that is not running is ignored.
    pub(super) fn cancel(&self, id: &Id) {
        if let Some(cancel) = self.running.lock().get(id) {
            cancel.cancel();
        }
    }

    /// Keeps a stream so that it can be resumed. Removes the oldest streams above the limit, except those that are
    /// being read.
    pub(super) async fn keep_stream(&self, log: &StreamLog) -> Result<()> {
        let mut oldest = Vec::new();
        {
            let mut kept = self.kept_streams.lock();
            kept.retain(|(stream, number)| {
                let is_other = *stream != log.stream;
                if !is_other {
                    self.all_kept_streams.remove(*number);
                }
                is_other
            });
            kept.push_back((log.stream.clone(), self.all_kept_streams.insert(log)));
            let mut excess = kept.len().saturating_sub(self.limits.kept_streams);
            kept.retain(|(stream, number)| {
                let goes = excess > 0 && *stream != log.stream && !self.has_reader(stream);
                if goes {
                    excess -= 1;
                    oldest.push((stream.clone(), *number));
                }
                !goes
            });
        }
        self.forget_streams(oldest).await
    }

    async fn forget_streams(&self, streams: impl IntoIterator<Item = (String, u64)>) -> Result<()> {
        for (stream, number) in streams {
            self.all_kept_streams.remove(number);
            self.log(&stream).forget().await?;
        }
        Ok(())
    }

    /// Removes the stored values and every kept stream, and notifies other servers that the session is over.
    pub(super) async fn forget(&self) -> Result<()> {
        self.ended.cancel();
        self.memory.forget().await?;
        let kept = std::mem::take(&mut *self.kept_streams.lock());
        self.forget_streams(kept).await?;
        self.publish(ENDED).await
    }

    /// Registers a stream for notifications. A stream gets notifications only while it is the newest stream of its
    /// session.
    pub(super) fn open_feed(
        self: &Arc<Self>,
        charge: Option<Charge>,
        sight: NotificationFilter,
        rights: Option<StreamRights>,
    ) -> Result<NotificationFeed, RpcError> {
        let mut streams = self.streams.lock();
        if streams.len() >= self.limits.streams_per_session {
            return Err(busy("too many streams of this session are open"));
        }
        let number = streams.last().map_or(1, |last| last + 1);
        streams.push(number);
        self.newest.send_replace(number);
        self.listener.wake();
        Ok(NotificationFeed {
            live: Arc::downgrade(self),
            listener: self.listener.clone(),
            filter: sight,
            rights,
            version: self.session.version(),
            newest: self.newest.subscribe(),
            number,
            _charge: charge,
        })
    }
}

/// Returns the interval between two renewals of the remembered values. The values outlive an idle session by this
/// interval.
fn memory_renewal_interval(limits: &SessionLimits) -> Duration {
    limits.session_idle / 3
}

/// The message on the channel of a session when the record of the session has changed.
pub(super) const CHANGED: &[u8] = b"changed";
/// The message on the channel of a session when the session is over.
pub(super) const ENDED: &[u8] = b"ended";

/// A running request. Dropping the value frees the id of the request.
pub(super) struct RunningRequest {
    pub(super) live: Arc<LiveSession>,
    id: Id,
    cancel: CancellationToken,
}

impl RunningRequest {
    /// Runs the work. Returns `None` if the request is cancelled first.
    pub(super) async fn run(self, work: Pin<&mut impl Future<Output = Vec<u8>>>) -> Option<Vec<u8>> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            frame = work => Some(frame),
        }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.live.running.lock().remove(&self.id);
        *self.live.last_used.lock() = Instant::now();
    }
}

/// The source of the notifications for one stream. Only the newest stream of a session gets notifications. Dropping the
/// feed releases the stream's charge.
pub(super) struct NotificationFeed {
    live: Weak<LiveSession>,
    pub(super) listener: Arc<Listener>,
    /// Filters the notifications by what the caller that opened the stream may see.
    pub(super) filter: NotificationFilter,
    /// The rights of that caller, until the reader takes them.
    pub(super) rights: Option<StreamRights>,
    pub(super) version: ProtocolVersion,
    newest: watch::Receiver<u64>,
    number: u64,
    _charge: Option<Charge>,
}

impl NotificationFeed {
    /// Waits until there are notifications, the client has confirmed the handshake, and this stream is the newest.
    pub(super) async fn wait(&mut self) {
        loop {
            let is_newest = *self.newest.borrow_and_update() == self.number;
            let is_told = is_newest && self.live.upgrade().is_some_and(|live| live.is_ready());
            tokio::select! {
                biased;
                changed = self.newest.changed() => if changed.is_err() { return std::future::pending().await },
                () = self.listener.changed(), if is_told => return,
            }
        }
    }
}

impl Drop for NotificationFeed {
    fn drop(&mut self) {
        let Some(live) = self.live.upgrade() else { return };
        let mut streams = live.streams.lock();
        streams.retain(|known| *known != self.number);
        live.newest.send_replace(streams.last().copied().unwrap_or(0));
        *live.last_used.lock() = Instant::now();
        // Wakes the next stream, so that it sends the notifications that this stream did not send.
        self.listener.wake();
    }
}

impl Listener {
    /// Returns the subscribed URIs, sorted.
    pub(super) fn subscribed(&self) -> Vec<String> {
        let mut uris: Vec<_> = self.state.lock().subscribed.iter().cloned().collect();
        uris.sort_unstable();
        uris
    }

    /// Replaces the subscriptions with these URIs.
    pub(super) fn set_subscribed(&self, uris: Vec<String>) {
        let mut state = self.state.lock();
        let uris: HashSet<String> = uris.into_iter().collect();
        self.add_interest(uris.difference(&state.subscribed));
        self.remove_interest(state.subscribed.difference(&uris));
        state.subscribed = uris;
        let listeners::ListenerState { subscribed, pending, .. } = &mut *state;
        pending.updated.retain(|uri| subscribed.contains(uri));
    }
}

impl MemoryRecord {
    /// Extends the lifetime of the values, even if they were not used.
    pub(super) async fn renew(&self) -> Result<()> {
        self.store.renew(&self.key, self.ttl).await.map(drop)
    }

    /// Deletes the values, and prevents pending writes.
    pub(super) async fn forget(&self) -> Result<()> {
        self.is_over.store(true, Ordering::SeqCst);
        self.store.delete(&self.key).await.map(drop)
    }
}
