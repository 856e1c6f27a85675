//! Where is a call while its caller answers a question? The call is parked: it continues in a task of its own, while no
//! handler waits for it.
//!
//! If the caller answers while its own call stays open, that call keeps the parked call. If the caller sends the answer
//! with a new request, the parked call is in a table, under a random id, until the question times out. Dropping a
//! parked call cancels it at the other server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::upstream_event::{EventReceiver, UpstreamQuestion};
use crate::BoxFuture;
use crate::client::answer::forwarded::ForwardOutcome;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// The maximum number of parked calls in the table.
const MAX_PARKED: usize = 1024;

/// A call in progress at the other server.
pub(super) struct InFlightCall {
    pub(super) events: EventReceiver,
    pub(super) work: BoxFuture<'static, Result<ForwardOutcome>>,
    is_task: bool,
    /// The number of questions that the server has asked during the call.
    question_count: u32,
    /// How many times the call was parked.
    pub(super) park_count: u32,
}

impl InFlightCall {
    pub(super) fn new(events: EventReceiver, work: BoxFuture<'static, Result<ForwardOutcome>>) -> Self {
        Self { events, work, is_task: false, question_count: 0, park_count: 0 }
    }

    /// Returns the key of the next question. The id that the other server gave to the question is valid only in the
    /// session with that server, so it is not forwarded.
    pub(super) fn next_key(&mut self) -> String {
        self.question_count += 1;
        format!("question-{}", self.question_count)
    }

    /// Moves the work to its own task, so that the work continues although no handler polls it.
    fn into_task(mut self) -> Self {
        if !self.is_task {
            let mut task: JoinSet<_> = [self.work].into_iter().collect();
            self.work = Box::pin(async move {
                let ended = task.join_next().await.and_then(Result::ok);
                ended.unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "the call was cancelled")))
            });
            self.is_task = true;
        }
        self
    }
}

/// A parked call, and the questions that its caller has to answer.
pub(super) struct ParkedCall {
    pub(super) flight: InFlightCall,
    /// The questions by the keys under which they were forwarded.
    pub(super) pending: Vec<(String, UpstreamQuestion)>,
}

impl ParkedCall {
    pub(super) fn new(flight: InFlightCall, pending: Vec<(String, UpstreamQuestion)>) -> Self {
        Self { flight: flight.into_task(), pending }
    }
}

/// The slot for a parked call that the caller's open call keeps.
pub(super) type ParkSlot = Mutex<Option<ParkedCall>>;

/// The place where a call is parked.
pub(super) enum ParkPlace {
    /// With the caller's call, which stays open.
    Call(Arc<ParkSlot>),
    /// In the table, until the caller sends a new request.
    Table(ParkPermit),
}

/// The table of parked calls whose callers answer with a new request.
pub(super) struct ParkingTable {
    entries: Mutex<HashMap<String, ParkedEntry>>,
    permits: Arc<Semaphore>,
}

struct ParkedEntry {
    parked: ParkedCall,
    turn: u32,
    _permit: ParkPermit,
    /// Removes the entry when the time to answer is over.
    _expiry: JoinSet<()>,
}

/// A permit to park one call in the table.
pub(super) type ParkPermit = OwnedSemaphorePermit;

impl Default for ParkingTable {
    fn default() -> Self {
        Self { entries: Mutex::default(), permits: Arc::new(Semaphore::new(MAX_PARKED)) }
    }
}

impl ParkingTable {
    /// Returns a permit, if the table is not full.
    pub(super) fn try_acquire(&self) -> Option<ParkPermit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// Parks a call for at most `within`.
    pub(super) fn put(self: &Arc<Self>, id: &str, parked: ParkedCall, permit: ParkPermit, within: Duration) {
        let (table, name, turn) = (Arc::downgrade(self), id.to_owned(), parked.flight.park_count);
        let expiry = async move {
            sleep(within).await;
            if let Some(table) = table.upgrade() {
                tracing::debug!("the caller did not answer in time: a parked call is cancelled");
                drop(table.take(&name, turn));
            }
        };
        let expiry = [expiry].into_iter().collect();
        let entry = ParkedEntry { parked, turn, _permit: permit, _expiry: expiry };
        self.entries.lock().insert(id.to_owned(), entry);
    }

    /// Removes and returns the call that was parked under this id, if the call was not parked again since this turn.
    pub(super) fn take(&self, id: &str, turn: u32) -> Option<ParkedCall> {
        let mut entries = self.entries.lock();
        entries.get(id).filter(|entry| entry.turn == turn)?;
        entries.remove(id).map(|entry| entry.parked)
    }
}
