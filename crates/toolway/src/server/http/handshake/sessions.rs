//! Which sessions are open? Each has an id that cannot be guessed, and belongs to the principal that opened it.
//!
//! The store is authoritative: a session is open as long as its record is in the store, regardless of the server that
//! opened it. In addition, each server keeps the state that it needs to serve the session. A server that did not open
//! the session creates this state from the record, on the first request.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use toolway_protocol::RpcError;

use super::kept_streams::KeptStreams;
use super::limits::SessionLimits;
use super::live_session::{LiveSession, Record, SessionAccount};
use super::stream::StreamLog;
use crate::ground::budget::{Account, Charge, Resource};
use crate::ground::error::Result;
use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::server::Server;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::observe::hooks::{TerminationEvent, TerminationReason};
use crate::store::Store;

/// The longest interval between two searches for expired sessions.
const MAX_SWEEP_INTERVAL: Duration = Duration::from_secs(30);
/// The shortest interval between two searches by the sweeper task.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(10);

/// The open sessions.
pub(crate) struct Sessions {
    server: Server,
    limits: Arc<SessionLimits>,
    table: Arc<Mutex<Table>>,
    /// The streams of all sessions that can be resumed.
    kept_streams: Arc<KeptStreams<StreamLog>>,
    /// A task that looks for expired sessions even if no request arrives. Runs only if there is an `on_terminate` hook.
    sweeper: OnceLock<AbortHandle>,
}

#[derive(Default)]
struct Table {
    /// The sessions by the keys of their records. A key contains the owner, so a caller cannot find the session of
    /// another owner.
    live: HashMap<String, Arc<LiveSession>>,
    last_sweep: Option<Instant>,
}

impl Sessions {
    pub(crate) fn new(server: &Server, limits: &SessionLimits) -> Self {
        Self {
            server: server.clone(),
            limits: Arc::new(limits.clone()),
            table: Arc::default(),
            kept_streams: Arc::default(),
            sweeper: OnceLock::new(),
        }
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.server.inner.store
    }

    /// Stores a new session, and keeps its state. The inner `Err` means that too many sessions are open.
    pub(super) async fn open(
        &self,
        record: Record,
        owner: Option<&str>,
        account: Option<&Arc<Account>>,
    ) -> Result<Result<Arc<LiveSession>, RpcError>> {
        self.sweep_if_due();
        let account = self.session_account(account);
        let budget = self.limits.session_budget();
        let Ok(charge) = account.charge_within(budget, Resource::Sessions, 1) else {
            return Ok(Err(busy("too many sessions are open")));
        };
        self.start_sweeper();
        let id = random_id();
        let text = record.write();
        let key = key(&id, owner);
        self.store().put(&key, text.clone(), self.limits.session_idle).await?;
        let counted = self.counted(account, Some(charge));
        let live = LiveSession::new(&self.server, &self.limits, id, key, counted, record, text);
        self.table.lock().insert(live.clone());
        Ok(Ok(live))
    }

    fn counted(&self, account: Arc<Account>, charge: Option<Charge>) -> SessionAccount {
        SessionAccount { account, charge, kept_streams: self.kept_streams.clone() }
    }

    /// Returns the account of a session: that of the caller, or a new one if the caller is known only by its session.
    fn session_account(&self, caller: Option<&Arc<Account>>) -> Arc<Account> {
        let named = caller.filter(|account| account.is_named()).cloned();
        named.unwrap_or_else(|| self.server.inner.ledger.unnamed_account())
    }

    /// Finds the session with this id, if it belongs to this owner. A session that has expired, or that belongs to
    /// another owner, is treated like an unknown session.
    pub(super) async fn find(
        &self,
        id: &str,
        owner: Option<&str>,
        account: Option<&Arc<Account>>,
    ) -> Result<Option<Arc<LiveSession>>> {
        if !is_session_id(id) {
            return Ok(None);
        }
        let key = key(id, owner);
        let Some(text) = self.store().renew(&key, self.limits.session_idle).await? else {
            let gone = self.table.lock().remove(&key);
            if let Some(live) = gone {
                run_terminate_hooks(&self.server, &live, TerminationReason::Expired, Box::default());
            }
            return Ok(None);
        };
        // Bound to a name, so that the lock is released before the next step.
        let known = self.table.lock().touch(&key);
        let known = known.or_else(|| self.restore(id, key, text.clone(), account));
        let Some(live) = known else { return Ok(None) };
        live.mark_used(text);
        live.renew_memory().await?;
        self.sweep_if_due();
        Ok(Some(live))
    }

    /// Creates the state to serve a session that another server opened.
    fn restore(
        &self,
        id: &str,
        key: String,
        text: Bytes,
        account: Option<&Arc<Account>>,
    ) -> Option<Arc<LiveSession>> {
        let record = Record::read(&text)?;
        let mut table = self.table.lock();
        // A concurrent request may have restored the session already.
        if let Some(live) = table.touch(&key) {
            return Some(live);
        }
        // The server that opened the session counts it.
        let counted = self.counted(self.session_account(account), None);
        let live = LiveSession::new(&self.server, &self.limits, id.to_owned(), key, counted, record, text);
        live.note_missed_changes();
        table.insert(live.clone());
        self.start_sweeper();
        Some(live)
    }

    /// Ends a session and everything in it.
    pub(super) async fn end(&self, live: &LiveSession, arrival: Box<Arrival>) -> Result<()> {
        let gone = self.table.lock().remove(&live.key);
        self.store().delete(&live.key).await?;
        if let Some(live) = gone {
            run_terminate_hooks(&self.server, &live, TerminationReason::Deleted, arrival);
        }
        live.forget().await
    }

    /// Removes expired sessions and streams, if the last search is long enough ago.
    fn sweep_if_due(&self) {
        sweep_if_due(&self.server, &self.table, &self.kept_streams, &self.limits);
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
                    sweep_if_due(&server, &table, &kept_streams, &limits);
                }
            });
            task.abort_handle()
        });
    }

    /// Cancels the running requests and ends the streams of all sessions. The sessions stay in the store, so that
    /// another server can continue to serve them.
    pub(crate) fn stop(&self) {
        let keys: Vec<_> = self.table.lock().live.keys().cloned().collect();
        for key in keys {
            let gone = self.table.lock().remove(&key);
            if let Some(live) = gone {
                run_terminate_hooks(&self.server, &live, TerminationReason::Stopped, Box::default());
            }
        }
    }
}

impl Table {
    /// Returns an open session and marks it as used, so that it is not removed before its request has begun.
    fn touch(&mut self, key: &str) -> Option<Arc<LiveSession>> {
        let live = self.live.get(key).filter(|live| !live.ended.is_cancelled())?;
        live.touch();
        Some(live.clone())
    }

    fn insert(&mut self, live: Arc<LiveSession>) {
        self.remove(&live.key);
        self.live.insert(live.key.clone(), live);
    }

    fn remove(&mut self, key: &str) -> Option<Arc<LiveSession>> {
        let live = self.live.remove(key)?;
        live.end();
        Some(live)
    }

    /// Removes and returns expired sessions. Returns `None` if the last search is not long enough ago.
    fn sweep_if_due(&mut self, limits: &SessionLimits) -> Option<Vec<Arc<LiveSession>>> {
        let now = Instant::now();
        if self.last_sweep.is_some_and(|swept| now < swept + sweep_interval(limits)) {
            return None;
        }
        self.last_sweep = Some(now);
        let idle: Vec<_> = self
            .live
            .values()
            .filter(|live| live.is_idle(now, limits.session_idle))
            .map(|live| live.key.clone())
            .collect();
        Some(idle.iter().filter_map(|key| self.remove(key)).collect())
    }
}

fn sweep_if_due(
    server: &Server,
    table: &Mutex<Table>,
    kept_streams: &KeptStreams<StreamLog>,
    limits: &SessionLimits,
) {
    let swept = table.lock().sweep_if_due(limits);
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
            match here.inner.store.get(&live.key).await {
                Ok(Some(_)) => continue,
                // The other data of the session expires by itself, as do values that could not be deleted.
                Ok(None) => drop(live.memory().forget().await),
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
    let principal = owner(&live.key).map(Principal::new);
    arrival.principal.clone_from(&principal);
    let terminated = TerminationEvent::new(live.id.clone(), principal, reason);
    let here = server.clone();
    server.spawn_background(async move {
        here.run_hooks("on_terminate", &here.inner.end_hooks.terminate, &terminated, &arrival).await;
    });
}

impl Drop for Sessions {
    fn drop(&mut self) {
        if let Some(sweeper) = self.sweeper.get() {
            sweeper.abort();
        }
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sessions({})", self.table.lock().live.len())
    }
}

/// Returns the store key of a session's record. An id contains no slash, so different pairs of id and owner never share
/// a key. The key of a session without an owner differs from the key of a session whose owner has an empty name.
fn key(id: &str, owner: Option<&str>) -> String {
    match owner {
        Some(owner) => format!("session/{id}/{owner}"),
        None => format!("session/{id}"),
    }
}

/// Returns the owner that the key of a record contains.
fn owner(key: &str) -> Option<&str> {
    key.splitn(3, '/').nth(2)
}

fn is_session_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns 128 bits from the system's random source, in hexadecimal.
fn random_id() -> String {
    random_hex::<16>()
}
