//! Which sessions are open? Each has an id that cannot be guessed, and belongs to the principal that opened it.
//!
//! One server alone keeps its sessions in its memory. If servers share a store, the store is authoritative: a session is
//! open as long as its record is there, regardless of the server that opened it. A server that did not open the session
//! creates the state to serve it from the record, on the first request.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use toolway_protocol::{Id, RpcError};

use super::identity::{SessionAccount, SessionIdentity, is_session_id, new_session_id};
use super::limits::SessionLimits;
use super::live_session::LiveSession;
use super::log::event_log::EventLog;
use super::log::kept_streams::KeptStreams;
use super::looks::{Looks, look_at, visit_for};
use super::record::Record;
use super::shared::claim::Claim;
use super::shared::claim_entry::ClaimEntry;
use super::shared::message::{News, NodeMessage};
use super::shared::node::{Node, NodeEvents};
use super::shared::pipe::{SharedPipe, new_pipe_id};
use super::shared::place::peer_group;
use super::shared::remote_log::{LOOK_INTERVAL, RemoteReaders};
use super::shared::session::{Entered, SharedSession, leave_record, session_group, take_record};
use crate::ground::budget::{Account, Charge, Resource};
use crate::ground::mutex::Mutex;
use crate::server::Server;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::observe::hooks::{TerminationEvent, TerminationReason};
use crate::server::observe::store_meter::StoreEvent;
use crate::store::{self, StoreError};

/// The longest interval between two searches for expired sessions.
const MAX_SWEEP_INTERVAL: Duration = Duration::from_secs(30);
/// The shortest interval between two searches by the sweeper task.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(10);

/// How often and after which pauses a request is tried again whose id has a claim: the claim of an earlier request with
/// the same id may be about to be released.
const CLAIM_PAUSES: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(50), Duration::from_millis(100)];

/// The open sessions.
pub(crate) struct Sessions {
    table: Arc<SessionTable>,
    server: Server,
    limits: Arc<SessionLimits>,
    /// The streams of all sessions that can be resumed.
    kept_streams: Arc<KeptStreams<Arc<EventLog>>>,
    /// This server among those that share a store; `None` if there is no store to share.
    node: Option<Arc<Node>>,
    /// A task that looks for expired sessions even if no request arrives. Runs only if there is an `on_terminate` hook.
    sweeper: OnceLock<AbortHandle>,
}

/// The sessions that this server serves, by id.
#[derive(Default)]
pub(super) struct SessionTable {
    sessions: Mutex<Table>,
    /// The open pipes that other servers may pass POSTs on to.
    pipes: RemoteReaders,
    looks: Looks,
}

#[derive(Default)]
struct Table {
    live: HashMap<String, Arc<LiveSession>>,
    last_sweep: Option<Instant>,
}

/// A session that was found, with the claim of the request.
pub(super) struct FoundSession {
    pub(super) live: Arc<LiveSession>,
    pub(super) claim: Option<Claim>,
}

/// The reason why a request cannot be served in its session.
pub(super) enum SessionError {
    /// There is no such session.
    Unknown,
    /// A request with the same id is still running.
    Claimed,
    /// The server that ran a request with the same id has died.
    Lost,
    Store(StoreError),
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Sessions {
    pub(crate) fn new(server: &Server, limits: &SessionLimits) -> Self {
        let inner = &server.inner;
        Self {
            server: server.clone(),
            limits: Arc::new(limits.clone()),
            table: Arc::default(),
            kept_streams: Arc::default(),
            node: inner
                .store_meter
                .clone()
                .map(|meter| Node::new(inner.store.clone(), meter, &inner.info.name)),
            sweeper: OnceLock::new(),
        }
    }

    /// Opens a new session. The inner `Err` means that too many sessions are open.
    pub(super) async fn open(
        &self,
        mut record: Record,
        owner: Option<&str>,
        account: Option<&Arc<Account>>,
    ) -> store::Result<Result<Arc<LiveSession>, RpcError>> {
        self.sweep_if_due(Instant::now());
        let account = self.session_account(account);
        let budget = self.limits.session_budget();
        let Ok(charge) = account.charge_within(budget, Resource::Sessions, 1) else {
            return Ok(Err(busy("too many sessions are open")));
        };
        self.start_sweeper();
        let id = new_session_id();
        let shared = self.shared_session(&id, owner).await?;
        if let Some(shared) = &shared {
            let (groups, server) = (&self.server.inner.groups, &self.server.inner.info.name);
            if let Some(peer) = peer_group(groups, server, owner, account.address()) {
                if !shared.take_place(&peer, self.limits.sessions_per_peer).await? {
                    return Ok(Err(busy("too many sessions are open")));
                }
                record.peer = Some(peer);
            }
            shared.create(record.write()).await?;
        }
        let counted = self.counted(account, Some(charge));
        let identity = SessionIdentity { id, owner: owner.map(str::to_owned), shared };
        let live = LiveSession::new(&self.server, &self.limits, identity, counted, record);
        self.table.sessions.lock().insert(live.clone());
        Ok(Ok(live))
    }

    /// Returns the session in the store, if servers share one. This server is then able to serve it.
    async fn shared_session(
        &self,
        id: &str,
        owner: Option<&str>,
    ) -> store::Result<Option<Arc<SharedSession>>> {
        let Some(node) = &self.node else { return Ok(None) };
        node.ensure_marked(&self.table).await?;
        let group = session_group(&self.server.inner.groups, id, owner);
        Ok(Some(Arc::new(SharedSession::new(node.clone(), id.to_owned(), group, self.limits.shared()))))
    }

    /// Returns the id of a new pipe of the transport of 2024-11-05.
    pub(super) fn new_pipe_id(&self) -> String {
        new_pipe_id(self.node.as_deref())
    }

    /// Returns a pipe in the store, if servers share one.
    pub(super) async fn shared_pipe(
        &self,
        id: &str,
        owner: Option<&str>,
    ) -> store::Result<Option<SharedPipe>> {
        let Some(node) = &self.node else { return Ok(None) };
        node.ensure_marked(&self.table).await?;
        let groups = &self.server.inner.groups;
        Ok(Some(SharedPipe::new(node.clone(), groups, id, owner, self.limits.session_idle)))
    }

    /// Returns the signal that another server has passed on a POST for a pipe.
    pub(super) fn post_signal(&self, pipe: &str) -> Arc<Notify> {
        self.table.pipes.register(pipe)
    }

    /// Returns whether the store that servers share can be used; `true` if there is none.
    pub(super) async fn is_store_reachable(&self) -> bool {
        match &self.node {
            Some(node) => node.is_store_reachable(&self.table).await,
            None => true,
        }
    }

    fn counted(&self, account: Arc<Account>, charge: Option<Charge>) -> SessionAccount {
        SessionAccount { account, charge, kept_streams: self.kept_streams.clone() }
    }

    /// Returns the account of a session: that of the caller, or a new one if the caller is known only by its session.
    fn session_account(&self, caller: Option<&Arc<Account>>) -> Arc<Account> {
        let named = caller.filter(|account| account.is_named()).cloned();
        named.unwrap_or_else(|| self.server.inner.ledger.unnamed_account())
    }

    /// Finds the session with this id, if it belongs to this owner, this server is alone, and nothing has to be waited
    /// for.
    pub(super) fn find_known(&self, id: &str, owner: Option<&str>) -> Option<Arc<LiveSession>> {
        if self.node.is_some() {
            return None;
        }
        // Read once: reading the clock is a noticeable part of a quick call.
        let now = Instant::now();
        let live = self.find_local(id, owner, now).filter(|live| !live.is_memory_due(now))?;
        self.sweep_if_due(now);
        Some(live)
    }

    /// Finds the session with this id, if it belongs to this owner, and claims a request in it, if its id is given. A
    /// session that has expired, or that belongs to another owner, is treated like an unknown session.
    pub(super) async fn find(
        &self,
        id: &str,
        owner: Option<&str>,
        account: Option<&Arc<Account>>,
        request: Option<&Id>,
    ) -> Result<FoundSession, SessionError> {
        if !is_session_id(id) {
            return Err(SessionError::Unknown);
        }
        let now = Instant::now();
        let found = if self.node.is_some() {
            self.find_shared(id, owner, account, request).await?
        } else {
            let live = match self.find_local(id, owner, now) {
                Some(live) => live,
                None => self.find_left(id, owner, account).await?,
            };
            FoundSession { live, claim: None }
        };
        found.live.renew_memory(now).await?;
        self.sweep_if_due(now);
        Ok(found)
    }

    fn find_local(&self, id: &str, owner: Option<&str>, now: Instant) -> Option<Arc<LiveSession>> {
        let mut table = self.table.sessions.lock();
        let live = table.get(id, owner)?;
        if !live.is_idle(now, self.limits.session_idle) {
            live.touch_at(now);
            return Some(live);
        }
        table.remove(id);
        drop(table);
        expire(&self.server, vec![live]);
        None
    }

    /// Finds a session that another service of the same server left behind when it stopped.
    async fn find_left(
        &self,
        id: &str,
        owner: Option<&str>,
        account: Option<&Arc<Account>>,
    ) -> Result<Arc<LiveSession>, SessionError> {
        let group = session_group(&self.server.inner.groups, id, owner);
        let text = take_record(&*self.server.inner.store, &group).await?.ok_or(SessionError::Unknown)?;
        self.restore(id, owner, None, Record::read(&text), account).await
    }

    async fn find_shared(
        &self,
        id: &str,
        owner: Option<&str>,
        account: Option<&Arc<Account>>,
        request: Option<&Id>,
    ) -> Result<FoundSession, SessionError> {
        // Bound to a name, so that the lock is released before the next step.
        let known = self.table.sessions.lock().touch(id, owner);
        let new = self.shared_session(id, owner).await?;
        let shared = known.as_ref().and_then(|live| live.shared.clone()).or(new);
        let shared = shared.ok_or(SessionError::Unknown)?;
        let entry = request.map(|request| ClaimEntry::new(&shared.node, request));
        let mut pauses = CLAIM_PAUSES.into_iter();
        let stored = loop {
            match shared.enter(entry.as_ref()).await? {
                Entered::In(stored) => break stored,
                Entered::Gone => {
                    self.remove_expired(id, owner);
                    return Err(SessionError::Unknown);
                }
                Entered::Claimed(holder) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None if shared.node.is_alive(ClaimEntry::node(&holder)).await? => {
                        shared.node.meter.record(StoreEvent::RefusedRequest);
                        return Err(SessionError::Claimed);
                    }
                    None => return Err(SessionError::Lost),
                },
            }
        };
        let claim = entry.map(|entry| Claim::new(entry, shared.clone()));
        let known = self.table.sessions.lock().touch(id, owner);
        let live = match known {
            Some(live) => live,
            None => {
                let record = stored.as_ref().and_then(Record::read_stored);
                self.restore(id, owner, Some(shared), record, account).await?
            }
        };
        live.mark_used(stored.as_ref());
        Ok(FoundSession { live, claim })
    }

    /// Removes a session whose record is gone.
    fn remove_expired(&self, id: &str, owner: Option<&str>) {
        let mut table = self.table.sessions.lock();
        let gone = table.get(id, owner).and_then(|_| table.remove(id));
        drop(table);
        if let Some(live) = gone {
            run_terminate_hooks(&self.server, &live, TerminationReason::Expired, Box::default());
        }
    }

    /// Creates the state to serve a session that another server, or another service of this one, opened.
    async fn restore(
        &self,
        id: &str,
        owner: Option<&str>,
        shared: Option<Arc<SharedSession>>,
        mut record: Option<Record>,
        account: Option<&Arc<Account>>,
    ) -> Result<Arc<LiveSession>, SessionError> {
        if let (None, Some(shared)) = (&record, &shared) {
            // The session was removed from this server while the request entered it.
            shared.forget_version();
            if let Entered::In(Some(stored)) = shared.enter(None).await? {
                record = Record::read_stored(&stored);
            }
        }
        let record = record.ok_or(SessionError::Unknown)?;
        let mut table = self.table.sessions.lock();
        // A concurrent request may have restored the session already.
        if let Some(live) = table.touch(id, owner) {
            return Ok(live);
        }
        if let (Some(shared), Some(peer)) = (&shared, &record.peer) {
            shared.keep_place(peer);
        }
        // The server that opened the session counts it.
        let account = self.session_account(account);
        let charge = match &shared {
            Some(_) => None,
            None => account.charge_within(self.limits.session_budget(), Resource::Sessions, 1).ok(),
        };
        let counted = self.counted(account, charge);
        let owner = owner.map(str::to_owned);
        let identity = SessionIdentity { id: id.to_owned(), owner, shared };
        let live = LiveSession::new(&self.server, &self.limits, identity, counted, record);
        live.note_missed_changes();
        table.insert(live.clone());
        self.start_sweeper();
        Ok(live)
    }

    /// Ends a session and everything in it.
    pub(super) async fn end(&self, live: &LiveSession, arrival: Box<Arrival>) -> store::Result<()> {
        // The record goes first: what runs elsewhere cannot store anything after this was answered.
        live.forget().await?;
        let gone = self.table.sessions.lock().remove(&live.id);
        if let Some(live) = gone {
            run_terminate_hooks(&self.server, &live, TerminationReason::Deleted, arrival);
        }
        Ok(())
    }

    /// Makes sure that a session stays ended. Another server may have ended it, and may not know whether this was
    /// confirmed.
    pub(super) async fn confirm_end(&self, id: &str, owner: Option<&str>) -> store::Result<()> {
        if !is_session_id(id) {
            return Ok(());
        }
        match self.shared_session(id, owner).await? {
            Some(shared) => shared.confirm_end().await,
            None => Ok(()),
        }
    }

    /// Removes expired sessions and streams, if the last search is long enough ago.
    fn sweep_if_due(&self, now: Instant) {
        sweep_if_due(&self.server, &self.table.sessions, &self.kept_streams, &self.limits, now);
    }

    /// Starts the sweeper task, if there is an `on_terminate` hook.
    fn start_sweeper(&self) {
        if !self.server.has_terminate_hooks() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        self.sweeper.get_or_init(|| {
            let (server, table) = (self.server.clone(), self.table.clone());
            let (kept_streams, limits) = (self.kept_streams.clone(), self.limits.clone());
            let task = runtime.spawn(async move {
                loop {
                    tokio::time::sleep(sweep_interval(&limits).max(MIN_SWEEP_INTERVAL)).await;
                    sweep_if_due(&server, &table.sessions, &kept_streams, &limits, Instant::now());
                }
            });
            task.abort_handle()
        });
    }

    /// Cancels the running requests and ends the streams of all sessions. The sessions stay open: other servers of the
    /// store continue to serve them, or the next service of this server.
    pub(crate) fn stop(&self) {
        let ids: Vec<_> = self.table.sessions.lock().live.keys().cloned().collect();
        for id in ids {
            let gone = self.table.sessions.lock().remove(&id);
            if let Some(live) = gone {
                self.leave(&live);
                run_terminate_hooks(&self.server, &live, TerminationReason::Stopped, Box::default());
            }
        }
    }
}

impl Table {
    /// Returns an open session, if it belongs to this owner.
    fn get(&self, id: &str, owner: Option<&str>) -> Option<Arc<LiveSession>> {
        let live = self.live.get(id)?;
        (live.owner.as_deref() == owner && !live.ended.is_cancelled()).then(|| live.clone())
    }

    /// Returns an open session and marks it as used, so that it is not removed before its request has begun.
    fn touch(&mut self, id: &str, owner: Option<&str>) -> Option<Arc<LiveSession>> {
        self.get(id, owner).inspect(|live| live.touch())
    }

    fn insert(&mut self, live: Arc<LiveSession>) {
        self.remove(&live.id);
        self.live.insert(live.id.clone(), live);
    }

    fn remove(&mut self, id: &str) -> Option<Arc<LiveSession>> {
        let live = self.live.remove(id)?;
        live.end();
        Some(live)
    }

    /// Removes and returns expired sessions. Returns `None` if the last search is not long enough ago.
    fn sweep_if_due(&mut self, limits: &SessionLimits, now: Instant) -> Option<Vec<Arc<LiveSession>>> {
        if self.last_sweep.is_some_and(|swept| now < swept + sweep_interval(limits)) {
            return None;
        }
        self.last_sweep = Some(now);
        let idle: Vec<_> = self
            .live
            .values()
            .filter(|live| live.is_idle(now, limits.session_idle))
            .map(|live| live.id.clone())
            .collect();
        Some(idle.iter().filter_map(|id| self.remove(id)).collect())
    }
}

fn sweep_if_due(
    server: &Server,
    table: &Mutex<Table>,
    kept_streams: &KeptStreams<Arc<EventLog>>,
    limits: &SessionLimits,
    now: Instant,
) {
    let swept = table.lock().sweep_if_due(limits, now);
    if let Some(swept) = swept {
        kept_streams.remove_expired();
        expire(server, swept);
    }
}

/// Returns the interval between two searches for expired sessions.
fn sweep_interval(limits: &SessionLimits) -> Duration {
    MAX_SWEEP_INTERVAL.min(limits.session_idle / 4)
}

/// Deletes the remembered values and runs the hooks of sessions that were idle for too long on this server. A session
/// whose record is still in the store has not ended: another server uses it.
fn expire(server: &Server, swept: Vec<Arc<LiveSession>>) {
    if swept.is_empty() {
        return;
    }
    let here = server.clone();
    server.spawn_background(async move {
        for live in swept {
            let is_used_elsewhere = match &live.shared {
                Some(shared) => shared.exists().await,
                None => Ok(false),
            };
            match is_used_elsewhere {
                Ok(true) => continue,
                // The other data of the session expires by itself, as do values that could not be deleted.
                Ok(false) => drop(live.memory().forget().await),
                // Another server may still use the session, so nothing is deleted.
                Err(_) => {}
            }
            run_terminate_hooks(&here, &live, TerminationReason::Expired, Box::default());
        }
    });
}

/// Runs the `on_terminate` hooks for a session that has ended.
fn run_terminate_hooks(
    server: &Server,
    live: &LiveSession,
    reason: TerminationReason,
    mut arrival: Box<Arrival>,
) {
    if !server.has_terminate_hooks() {
        return;
    }
    let principal = live.owner.as_deref().map(Principal::new);
    arrival.principal.clone_from(&principal);
    let terminated = TerminationEvent::new(live.id.clone(), principal, reason);
    let here = server.clone();
    server.spawn_background(async move {
        here.run_hooks("on_terminate", &here.inner.end_hooks.terminate, &terminated, &arrival).await;
    });
}

impl Sessions {
    /// Leaves the record of a session for the next service of this server, if no other server has it.
    fn leave(&self, live: &LiveSession) {
        if live.shared.is_none() {
            let group = session_group(&self.server.inner.groups, &live.id, live.owner.as_deref());
            leave_record(&self.server.inner.store, group, live.record(), self.limits.session_idle);
        }
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.table.sessions.lock().live.values().for_each(|live| self.leave(live));
        if let Some(sweeper) = self.sweeper.get() {
            sweeper.abort();
        }
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sessions({})", self.table.sessions.lock().live.len())
    }
}

/// Messages of other servers that share the store.
impl NodeEvents for SessionTable {
    fn receive(&self, message: NodeMessage) {
        if matches!(message.news, News::Posted) {
            return self.pipes.wake(&message.session);
        }
        let Some(live) = self.sessions.lock().live.get(&message.session).cloned() else { return };
        match message.news {
            News::Events { stream } => live.remote_readers.wake(&stream),
            News::Continued { stream } => live.log(&stream).into_iter().for_each(|log| log.close()),
            News::Cancel { request } => live.cancel_by_text(&request),
            News::Answer { frame: Some(frame), .. } => {
                live.deliver_frame(&Bytes::from(String::from(Box::<str>::from(frame))));
            }
            News::Answer { frame: None, .. } | News::Record => look_at(live),
            News::Ended => live.ended.cancel(),
            News::Posted | News::Unused { .. } => {}
        }
    }

    fn look(&self) {
        self.pipes.wake_all();
        let mut waiting = self.active();
        waiting.retain(|live| live.is_waiting());
        visit_for(waiting, LOOK_INTERVAL, |live| Box::pin(live.look()));
    }

    fn look_everywhere(&self) {
        self.pipes.wake_all();
        self.looks.begin(self.active());
    }

    fn nodes_died(&self) {
        visit_for(self.active(), LOOK_INTERVAL, |live| Box::pin(live.replace_dead_teller()));
    }
}

impl SessionTable {
    fn active(&self) -> Vec<Arc<LiveSession>> {
        let mut active: Vec<_> =
            self.sessions.lock().live.values().filter(|live| live.is_active()).cloned().collect();
        active.sort_unstable_by_key(|live| live.number);
        active
    }
}
