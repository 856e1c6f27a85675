//! Which state is needed to serve one session? Its record, its running requests, and its open streams.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::jsonrpc::{ParsedFrame, parse};
use toolway_protocol::{Id, Message, Notification, RpcError};

use super::cancel_handle::CancelHandle;
use super::identity::{SessionAccount, SessionIdentity};
use super::limits::SessionLimits;
use super::log::event::EventKind;
use super::log::event_log::{EventLog, ReadableEvent};
use super::log::kept_streams::KeptStreams;
use super::record::Record;
use super::shared::claim::Claim;
use super::shared::claim_entry::ClaimEntry;
use super::shared::event_store::EventStore;
use super::shared::question_id::name_node_in_questions;
use super::shared::remote_log::RemoteReaders;
use super::shared::session::{Entered, MEMORY, SharedSession, StoredRecord, session_group};
use crate::ground::budget::{Account, Charge};
use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::server::Server;
use crate::server::call::memory_record::MemoryRecord;
use crate::server::changes::listeners::{Change, Listener};
use crate::server::failure::errors::busy;
use crate::server::handshake::Session;
use crate::store;

/// How many sessions this process has served.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// One session, as this server keeps it in memory.
pub(super) struct LiveSession {
    /// Sessions are looked up in the order of their numbers.
    pub(super) number: u64,
    pub(super) id: String,
    /// The principal that opened the session.
    pub(super) owner: Option<String>,
    /// The account of the peer that the session belongs to.
    pub(super) account: Arc<Account>,
    /// Counts the session as one of its peer, until it is removed.
    charge: Mutex<Option<Charge>>,
    pub(super) session: Session,
    listener: Arc<Listener>,
    is_ready: AtomicBool,
    /// The record as it was last seen.
    record: Mutex<Record>,
    /// How often a record from the store was applied to this state.
    apply_count: AtomicU64,
    /// The running requests by id.
    running: Mutex<HashMap<Id, Arc<CancelHandle>>>,
    /// The questions whose answers may reach another server, by id.
    questions: Arc<Mutex<BTreeSet<String>>>,
    /// The notification streams that are being read, the newest last.
    streams: Mutex<Vec<u64>>,
    newest: watch::Sender<u64>,
    /// The logs of the streams that this server writes or has written, by the id of the stream.
    logs: Mutex<HashMap<String, Arc<EventLog>>>,
    /// Streams that can be resumed, the oldest first, with their numbers in `all_kept_streams`.
    kept_streams: Mutex<VecDeque<(Arc<EventLog>, u64)>>,
    /// The streams of all sessions that can be resumed.
    all_kept_streams: Arc<KeptStreams<Arc<EventLog>>>,
    /// The streams of other servers that are read here.
    pub(super) remote_readers: RemoteReaders,
    last_used: Mutex<Instant>,
    /// The values that handlers remember for the client.
    memory: Arc<MemoryRecord>,
    /// When the remembered values have to be renewed.
    memory_due: Mutex<Instant>,
    /// Cancelled when the session is over.
    pub(super) ended: CancellationToken,
    server: Server,
    /// The session in the store, if servers share one.
    pub(super) shared: Option<Arc<SharedSession>>,
    limits: Arc<SessionLimits>,
}

impl LiveSession {
    pub(super) fn new(
        server: &Server,
        limits: &Arc<SessionLimits>,
        identity: SessionIdentity,
        counted: SessionAccount,
        record: Record,
    ) -> Arc<Self> {
        let listener = server.inner.changes.listen();
        listener.limit_to_capabilities(&server.capabilities());
        let ttl = limits.session_idle.saturating_add(memory_renewal_interval(limits));
        let SessionIdentity { id, owner, shared } = identity;
        let group = session_group(&server.inner.groups, &id, owner.as_deref());
        let memory = Arc::new(MemoryRecord::new(server.inner.store.clone(), group, MEMORY.to_owned(), ttl));
        let session = record.session(listener.clone());
        if let Some(shared) = &shared {
            name_node_in_questions(&session, &shared.node.id);
        }
        let live = Self {
            number: COUNT.fetch_add(1, Ordering::Relaxed),
            id,
            owner,
            account: counted.account,
            charge: Mutex::new(counted.charge),
            session,
            listener,
            is_ready: AtomicBool::new(false),
            record: Mutex::new(record.clone()),
            apply_count: AtomicU64::new(0),
            running: Mutex::default(),
            questions: Arc::default(),
            streams: Mutex::default(),
            newest: watch::Sender::new(0),
            logs: Mutex::default(),
            kept_streams: Mutex::default(),
            all_kept_streams: counted.kept_streams,
            remote_readers: RemoteReaders::default(),
            last_used: Mutex::new(Instant::now()),
            memory,
            memory_due: Mutex::new(Instant::now() + memory_renewal_interval(limits)),
            ended: CancellationToken::new(),
            server: server.clone(),
            shared,
            limits: limits.clone(),
        };
        live.apply(record);
        Arc::new(live)
    }

    pub(super) fn limits(&self) -> &SessionLimits {
        &self.limits
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
        self.touch_at(Instant::now());
    }

    pub(super) fn touch_at(&self, now: Instant) {
        *self.last_used.lock() = now;
    }

    /// Wakes the newest stream, so that it checks for notifications.
    fn wake_newest_stream(&self) {
        self.newest.send_modify(|_| {});
        self.listener.wake();
    }

    /// Returns the record as it was last seen.
    pub(super) fn record(&self) -> Bytes {
        self.record.lock().write()
    }

    /// Marks the session as used, and applies the stored record if it is newer than the last one. Returns whether the
    /// store has lost changes that this server knows, so that they have to be saved again.
    pub(super) fn mark_used(&self, stored: Option<&StoredRecord>) -> bool {
        self.touch();
        let Some(record) = stored.and_then(Record::read_stored) else { return false };
        let mut seen = self.record.lock();
        // A caller that read an older record must not undo later changes.
        if record.age() <= seen.age() {
            return false;
        }
        let restored = record.with_lost_changes(&seen);
        let has_lost = !restored.has_same_state(&record);
        *seen = record;
        self.apply(restored);
        has_lost
    }

    /// Reads and renews the record in the store. Returns whether the session still exists.
    pub(super) async fn refresh(&self) -> store::Result<bool> {
        if let Some(shared) = &self.shared {
            self.take_record(shared.enter(None).await?).await?;
        }
        let now = Instant::now();
        self.touch_at(now);
        self.renew_memory(now).await?;
        Ok(!self.ended.is_cancelled())
    }

    /// Applies what a look at the session has found.
    async fn take_record(&self, entered: Entered) -> store::Result<()> {
        match entered {
            Entered::In(stored) => {
                if self.mark_used(stored.as_ref()) {
                    self.save().await?;
                }
            }
            Entered::Gone | Entered::Claimed(_) => self.ended.cancel(),
        }
        Ok(())
    }

    /// Returns the values remembered for the client.
    pub(super) fn memory(&self) -> Arc<MemoryRecord> {
        self.memory.clone()
    }

    /// Returns whether the remembered values have to be renewed.
    pub(super) fn is_memory_due(&self, now: Instant) -> bool {
        now >= *self.memory_due.lock()
    }

    /// Renews the remembered values, so that they live at least as long as the session, even if they are rarely used.
    pub(super) async fn renew_memory(&self, now: Instant) -> store::Result<()> {
        // In a shared store they are renewed with the record.
        if self.shared.is_some() {
            return Ok(());
        }
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
    pub(super) async fn save(&self) -> store::Result<bool> {
        let mut record = self.record.lock().clone();
        let (level, uris) = (self.session.log_level.get(), self.listener.subscribed());
        if (record.ready, record.level, &record.uris) == (self.is_ready(), level, &uris) {
            // Another server may have made the change, and may not know whether it was confirmed.
            return match &self.shared {
                Some(shared) => shared.save_again(record.write()).await,
                None => Ok(true),
            };
        }
        (record.ready, record.level, record.uris) = (self.is_ready(), level, uris);
        record.changes += 1;
        if let Some(shared) = &self.shared {
            record.losses = shared.node.losses();
            if !shared.save(record.write()).await? {
                return Ok(false);
            }
        }
        let mut seen = self.record.lock();
        if record.age() > seen.age() {
            *seen = record;
        }
        Ok(true)
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

    /// Forgets the changes that a resumed stream repeats: the client gets these events after everything that has changed so far.
    pub(super) fn forget_changes(&self, events: &[ReadableEvent]) {
        for event in events.iter().filter(|event| event.kind == EventKind::Message) {
            if let Ok(ParsedFrame::One(Message::Notification { method, params })) =
                parse(&event.text, self.json_limits())
                && let Ok(Some(news)) = Notification::decode(&method, &params)
                && let Some(change) = Change::of(&news)
            {
                let pending = &mut self.listener.state.lock().pending;
                match change {
                    Change::List(list) => pending.lists[list as usize] = false,
                    Change::Resource(uri) => pending.updated.retain(|known| *known != uri),
                }
            }
        }
    }

    pub(super) fn is_idle(&self, now: Instant, limit: Duration) -> bool {
        self.running.lock().is_empty()
            && self.streams.lock().is_empty()
            && self.last_used.lock().checked_add(limit).is_some_and(|end| end < now)
    }

    /// Creates the log of a stream. It can be resumed once it is registered.
    pub(super) fn new_log(&self, is_for_notifications: bool) -> Arc<EventLog> {
        EventLog::new(
            random_hex::<8>(),
            is_for_notifications,
            self.shared.is_some(),
            self.limits.kept_events(),
            self.account.clone(),
            &self.all_kept_streams,
        )
    }

    /// Makes a log known to clients that resume its stream, and copies it to the store, if there is one.
    pub(super) fn register(&self, log: &Arc<EventLog>, claims: Vec<ClaimEntry>) {
        let mut logs = self.logs.lock();
        // Logs that were forgotten are removed before the map would have to grow.
        if logs.len() == logs.capacity() {
            logs.retain(|_, log| !log.is_forgotten());
        }
        logs.insert(log.stream.clone(), log.clone());
        drop(logs);
        if let Some(shared) = &self.shared {
            let (ended, timeout) = (self.ended.clone(), self.question_timeout());
            let questions = self.questions.clone();
            let (listener, shared) = (self.listener.clone(), shared.clone());
            let copy = EventStore::new(shared, log.clone(), ended, listener, questions, timeout, claims);
            tokio::spawn(copy.run());
        }
    }

    /// Returns the log of a stream, if this server has it.
    pub(super) fn log(&self, stream: &str) -> Option<Arc<EventLog>> {
        let now = Instant::now();
        let log = self.logs.lock().get(stream).cloned()?;
        if log.has_expired(now) {
            log.forget();
        }
        (!log.is_forgotten()).then_some(log)
    }

    /// Begins a request, unless a request with this id is running.
    pub(super) fn begin_request(self: &Arc<Self>, id: &Id) -> Result<RunningRequest, RpcError> {
        let mut running = self.running.lock();
        if running.contains_key(id) {
            return Err(still_running());
        }
        let cancel = Arc::<CancelHandle>::default();
        running.insert(id.clone(), cancel.clone());
        Ok(RunningRequest { live: self.clone(), id: id.clone(), cancel })
    }

    /// Cancels a request. An id that is not running is ignored.
    pub(super) fn cancel(&self, id: &Id) {
        if let Some(cancel) = self.running.lock().get(id) {
            cancel.cancel();
        }
    }

    /// Cancels the request whose id is written in this way.
    pub(super) fn cancel_by_text(&self, id: &str) {
        let running = self.running.lock();
        if let Some((_, cancel)) = running.iter().find(|(known, _)| known.to_string() == id) {
            cancel.cancel();
        }
    }

    /// Returns whether a request runs here.
    pub(super) fn is_running(&self, id: &Id) -> bool {
        self.running.lock().contains_key(id)
    }

    /// Keeps a stream so that it can be resumed. Removes the oldest streams above the limit, except those that are
    /// being read. Those that are continued at another server go first.
    pub(super) fn keep_stream(&self, log: &Arc<EventLog>) {
        let mut kept = self.kept_streams.lock();
        kept.retain(|(known, number)| {
            let stays = !Arc::ptr_eq(known, log) && !known.is_forgotten();
            if !stays {
                self.all_kept_streams.remove(*number);
            }
            stays
        });
        kept.push_back((log.clone(), self.all_kept_streams.insert(log)));
        let mut excess = kept.len().saturating_sub(self.limits.kept_streams);
        for is_closed in [true, false] {
            kept.retain(|(known, number)| {
                let is_next = || known.is_closed() == is_closed && !known.has_reader();
                let goes = excess > 0 && !Arc::ptr_eq(known, log) && is_next();
                if goes {
                    excess -= 1;
                    self.forget_stream(known, *number);
                }
                !goes
            });
        }
    }

    fn forget_stream(&self, log: &EventLog, number: u64) {
        self.all_kept_streams.remove(number);
        self.logs.lock().remove(&log.stream);
        log.forget();
    }

    /// Removes the stored values and every kept stream, and ends the session for all servers.
    pub(super) async fn forget(&self) -> store::Result<()> {
        self.memory.forget().await?;
        if let Some(shared) = &self.shared {
            shared.end().await?;
        }
        self.ended.cancel();
        let kept = std::mem::take(&mut *self.kept_streams.lock());
        for (log, number) in kept {
            self.forget_stream(&log, number);
        }
        Ok(())
    }

    /// Remembers a question whose answer may reach another server. Returns its id.
    pub(super) fn register_question(&self, frame: &Bytes) -> Option<String> {
        self.shared.as_ref()?;
        let Ok(ParsedFrame::One(Message::Request { id: Id::String(id), .. })) =
            parse(frame, self.json_limits())
        else {
            return None;
        };
        self.questions.lock().insert(id.to_string());
        Some(id.to_string())
    }

    /// Forgets a question that is no longer open.
    pub(super) fn forget_question(&self, id: &str) {
        self.questions.lock().remove(id);
    }

    /// Hands an answer that another server received to the call that waits for it.
    pub(super) fn deliver_frame(&self, frame: &Bytes) {
        if let Ok(ParsedFrame::One(Message::Response { id, outcome })) = parse(frame, self.json_limits()) {
            let _ = self.session.deliver_answer(id.as_ref(), outcome);
        }
    }

    /// Looks up everything that is waited for here, because messages of other servers may be lost.
    pub(super) async fn look(&self) -> store::Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if !self.refresh().await? {
            return Ok(());
        }
        self.remote_readers.wake_all();
        if !self.running.lock().is_empty() {
            for id in shared.cancelled().await? {
                self.cancel_by_text(&id);
            }
        }
        let questions: Vec<_> = self.questions.lock().iter().cloned().collect();
        for question in questions {
            if let Some(frame) = shared.stored_answer(&question).await? {
                self.deliver_frame(&frame);
            }
        }
        Ok(())
    }

    /// Claims a request of a batch in the store, if there is one.
    pub(super) async fn claim(&self, request: Option<&Id>) -> store::Result<Result<Option<Claim>, RpcError>> {
        let (Some(shared), Some(request)) = (&self.shared, request) else { return Ok(Ok(None)) };
        let entry = ClaimEntry::new(&shared.node, request);
        Ok(match shared.enter(Some(&entry)).await? {
            Entered::In(stored) => {
                self.mark_used(stored.as_ref());
                Ok(Some(Claim::new(entry, shared.clone())))
            }
            Entered::Claimed(_) | Entered::Gone => Err(still_running()),
        })
    }

    /// Renews the session, and the claims of requests that run.
    pub(super) async fn prolong(&self, claims: &[ClaimEntry]) -> store::Result<()> {
        if let Some(shared) = self.shared.as_ref().filter(|_| !claims.is_empty()) {
            shared.renew_claims(claims).await?;
        }
        self.refresh().await.map(drop)
    }

    /// Returns whether something of the session goes on here.
    pub(super) fn is_active(&self) -> bool {
        let is_idle = self.running.lock().is_empty() && self.streams.lock().is_empty();
        !is_idle || !self.remote_readers.is_empty()
    }

    /// Returns whether a request that runs here, or a reader here, waits for what other servers send.
    pub(super) fn is_waiting(&self) -> bool {
        !self.running.lock().is_empty() || !self.remote_readers.is_empty()
    }

    /// Sends everything that may have changed to the notification stream here, if the one elsewhere is dead. What a dead server
    /// has sent last may be lost, so the session is looked up, too.
    pub(super) async fn replace_dead_teller(&self) -> store::Result<()> {
        self.remote_readers.wake_all();
        let Some(shared) = self.shared.as_ref().filter(|_| !self.streams.lock().is_empty()) else {
            return Ok(());
        };
        let (entered, teller) = shared.enter_and_find_teller().await?;
        self.take_record(entered).await?;
        if let Some(node) = teller
            && !shared.node.is_alive(&node).await?
        {
            self.listener.add_everything();
        }
        Ok(())
    }

    /// Adds a notification stream. Returns its number, and the number of the newest stream as it changes.
    pub(super) fn add_stream(&self) -> Result<(u64, watch::Receiver<u64>), RpcError> {
        let mut streams = self.streams.lock();
        if streams.len() >= self.limits.streams_per_session {
            return Err(busy("too many streams of this session are open"));
        }
        let number = streams.last().map_or(1, |last| last + 1);
        streams.push(number);
        self.newest.send_replace(number);
        self.listener.wake();
        Ok((number, self.newest.subscribe()))
    }

    /// Returns the changes that the client has not been told.
    pub(super) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// Removes a notification stream. The next one sends the notifications that this one did not send.
    pub(super) fn remove_stream(&self, number: u64) {
        let mut streams = self.streams.lock();
        streams.retain(|known| *known != number);
        self.newest.send_replace(streams.last().copied().unwrap_or(0));
        self.touch();
        self.listener.wake();
    }
}

/// Creates the error for a request whose id is in use.
pub(super) fn still_running() -> RpcError {
    RpcError::invalid_request("a request with this id is still running")
}

/// Returns the interval between two renewals of the remembered values. The values outlive an idle session by this
/// interval.
fn memory_renewal_interval(limits: &SessionLimits) -> Duration {
    limits.session_idle / 3
}

/// A running request. Dropping the value frees the id of the request.
pub(super) struct RunningRequest {
    pub(super) live: Arc<LiveSession>,
    id: Id,
    cancel: Arc<CancelHandle>,
}

impl RunningRequest {
    /// Runs the work. Returns `None` if the request is cancelled first, or if its session ends.
    pub(super) async fn run<T>(self, work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        self.cancel.run(&self.live.ended, work).await
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.live.running.lock().remove(&self.id);
        self.live.touch();
    }
}
