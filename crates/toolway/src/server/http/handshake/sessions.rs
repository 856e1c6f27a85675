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

use super::limits::SessionLimits;
use super::live_session::{LiveSession, Record};
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
    /// A task that looks for expired sessions even if no request arrives. Runs only if there is an `on_terminate` hook.
    sweeper: OnceLock<AbortHandle>,
}

#[derive(Default)]
struct Table {
    /// The sessions by the keys of their records. A key contains the owner, so a caller cannot find the session of
    /// another owner.
    live: HashMap<String, Arc<LiveSession>>,
    by_peer: HashMap<String, usize>,
    /// How many sessions are being opened.
    reserved: usize,
    last_sweep: Option<Instant>,
}

impl Sessions {
    pub(crate) fn new(server: &Server, limits: &SessionLimits) -> Self {
        Self {
            server: server.clone(),
            limits: Arc::new(limits.clone()),
            table: Arc::default(),
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
        peer: Option<String>,
    ) -> Result<Result<Arc<LiveSession>, RpcError>> {
        self.sweep_if_due();
        if let Err(full) = self.table.lock().reserve(&self.limits, peer.as_deref()) {
            return Ok(Err(full));
        }
        self.start_sweeper();
        let id = random_id();
        let place = SessionReservation { sessions: self, peer: peer.clone() };
        let text = record.write();
        let key = key(&id, owner);
        self.store().put(&key, text.clone(), self.limits.session_idle).await?;
        let live = LiveSession::new(&self.server, &self.limits, id, key, peer, record, text);
        // For a moment the session is counted twice, so that it is never missing from the count.
        self.table.lock().insert(live.clone());
        drop(place);
        Ok(Ok(live))
    }

    /// Finds the session with this id, if it belongs to this owner. A session that has expired, or that belongs to
    /// another owner, is treated like an unknown session.
    pub(super) async fn find(&self, id: &str, owner: Option<&str>) -> Result<Option<Arc<LiveSession>>> {
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
        let Some(live) = known.or_else(|| self.restore(id, key, text.clone())) else { return Ok(None) };
        live.mark_used(text);
        live.renew_memory().await?;
        self.sweep_if_due();
        Ok(Some(live))
    }

    /// Creates the state to serve a session that another server opened.
    fn restore(&self, id: &str, key: String, text: Bytes) -> Option<Arc<LiveSession>> {
        let record = Record::read(&text)?;
        let mut table = self.table.lock();
        // A concurrent request may have restored the session already.
        if let Some(live) = table.touch(&key) {
            return Some(live);
        }
        let live = LiveSession::new(&self.server, &self.limits, id.to_owned(), key, None, record, text);
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

    /// Removes expired sessions, if the last search is long enough ago.
    fn sweep_if_due(&self) {
        let swept = self.table.lock().sweep_if_due(&self.limits);
        expire(&self.server, swept);
    }

    /// Starts the sweeper task, if there is an `on_terminate` hook.
    fn start_sweeper(&self) {
        if !self.server.has_terminate_hooks() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        self.sweeper.get_or_init(|| {
            let (server, table, limits) = (self.server.clone(), self.table.clone(), self.limits.clone());
            let task = runtime.spawn(async move {
                loop {
                    tokio::time::sleep(sweep_interval(&limits).max(MIN_SWEEP_INTERVAL)).await;
                    let swept = table.lock().sweep_if_due(&limits);
                    expire(&server, swept);
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
    /// Reserves room for one more session.
    fn reserve(&mut self, limits: &SessionLimits, peer: Option<&str>) -> Result<(), RpcError> {
        let has_room = |table: &Self| {
            table.live.len() + table.reserved < limits.sessions
                && peer.is_none_or(|peer| {
                    table.by_peer.get(peer).is_none_or(|number| *number < limits.sessions_per_peer)
                })
        };
        if !has_room(self) {
            return Err(busy("too many sessions are open"));
        }
        self.reserved += 1;
        self.count(peer);
        Ok(())
    }

    fn count(&mut self, peer: Option<&str>) {
        if let Some(peer) = peer {
            *self.by_peer.entry(peer.to_owned()).or_default() += 1;
        }
    }

    fn uncount(&mut self, peer: Option<&str>) {
        if let Some(peer) = peer
            && let Some(number) = self.by_peer.get_mut(peer)
        {
            *number -= 1;
            if *number == 0 {
                self.by_peer.remove(peer);
            }
        }
    }

    /// Returns an open session and marks it as used, so that it is not removed before its request has begun.
    fn touch(&mut self, key: &str) -> Option<Arc<LiveSession>> {
        let live = self.live.get(key).filter(|live| !live.ended.is_cancelled())?;
        live.touch();
        Some(live.clone())
    }

    fn insert(&mut self, live: Arc<LiveSession>) {
        self.remove(&live.key);
        self.count(live.peer.as_deref());
        self.live.insert(live.key.clone(), live);
    }

    fn remove(&mut self, key: &str) -> Option<Arc<LiveSession>> {
        let live = self.live.remove(key)?;
        self.uncount(live.peer.as_deref());
        live.ended.cancel();
        Some(live)
    }

    /// Removes and returns expired sessions, if the last search is long enough ago. The caller passes them to `expire`.
    fn sweep_if_due(&mut self, limits: &SessionLimits) -> Vec<Arc<LiveSession>> {
        let now = Instant::now();
        if self.last_sweep.is_some_and(|swept| now < swept + sweep_interval(limits)) {
            return Vec::new();
        }
        self.last_sweep = Some(now);
        let idle: Vec<_> = self
            .live
            .values()
            .filter(|live| live.is_idle(now, limits.session_idle))
            .map(|live| live.key.clone())
            .collect();
        idle.iter().filter_map(|key| self.remove(key)).collect()
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

/// Room for a session that is being opened. Dropped once the session is in the table, or when opening it has failed.
struct SessionReservation<'s> {
    sessions: &'s Sessions,
    peer: Option<String>,
}

impl Drop for SessionReservation<'_> {
    fn drop(&mut self) {
        let mut table = self.sessions.table.lock();
        table.reserved -= 1;
        table.uncount(self.peer.as_deref());
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
