//! Where is a call while its caller is asked something? Parked: it goes on at the other server, and no task here works on it.
//!
//! Where the caller is asked while its call waits, the call itself keeps it. Where the caller goes and comes back with the answer, it
//! stands in a table, under a name that cannot be guessed, for as long as an answer may take. Dropping it gives the call up at the other server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::upstream_event::{Events, Question};
use crate::client::answer::forwarded::Passed;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;
use crate::server::Running;

/// How many calls may be parked until their callers come back.
const MAX_PARKED: usize = 1024;

/// A call that is with the other server.
pub(super) struct Flight {
    pub(super) events: Events,
    pub(super) work: Running<Result<Passed>>,
    is_task: bool,
    /// How many questions it has asked.
    asked: u32,
    /// How often it was parked.
    pub(super) turn: u32,
}

impl Flight {
    pub(super) fn new(events: Events, work: Running<Result<Passed>>) -> Self {
        Self { events, work, is_task: false, asked: 0, turn: 0 }
    }

    /// What its next question is called. What the server calls it is an id of that conversation, and does not pass.
    pub(super) fn next_key(&mut self) -> String {
        self.asked += 1;
        format!("question-{}", self.asked)
    }

    /// Lets it go on by itself.
    fn alone(mut self) -> Self {
        if !self.is_task {
            let mut task: JoinSet<_> = [self.work].into_iter().collect();
            self.work = Box::pin(async move {
                let ended = task.join_next().await.and_then(Result::ok);
                ended.unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "the call was given up")))
            });
            self.is_task = true;
        }
        self
    }
}

/// A call whose caller is being asked, and what.
pub(super) struct Parked {
    pub(super) flight: Flight,
    /// The questions by the keys under which they were passed on.
    pub(super) pending: Vec<(String, Question)>,
}

impl Parked {
    pub(super) fn new(flight: Flight, pending: Vec<(String, Question)>) -> Self {
        Self { flight: flight.alone(), pending }
    }
}

/// A place for a parked call that its caller keeps.
pub(super) type Kept = Mutex<Option<Parked>>;

/// Where a call can be parked.
pub(super) enum ParkPlace {
    /// With the call of the caller, which waits.
    Call(Arc<Kept>),
    /// In the table, until the caller comes back.
    Table(ParkPermit),
}

/// The parked calls whose callers have gone for an answer.
pub(super) struct Parkings {
    entries: Mutex<HashMap<String, Entry>>,
    places: Arc<Semaphore>,
}

struct Entry {
    parked: Parked,
    turn: u32,
    _permit: ParkPermit,
    /// Ends it when the caller does not come back.
    _expiry: JoinSet<()>,
}

/// Room for a parked call.
pub(super) type ParkPermit = OwnedSemaphorePermit;

impl Default for Parkings {
    fn default() -> Self {
        Self { entries: Mutex::default(), places: Arc::new(Semaphore::new(MAX_PARKED)) }
    }
}

impl Parkings {
    /// Room for one more, if there is any.
    pub(super) fn place(&self) -> Option<ParkPermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// Keeps a call for so long.
    pub(super) fn put(self: &Arc<Self>, id: &str, parked: Parked, permit: ParkPermit, within: Duration) {
        let (table, name, turn) = (Arc::downgrade(self), id.to_owned(), parked.flight.turn);
        let expiry = async move {
            sleep(within).await;
            if let Some(table) = table.upgrade() {
                tracing::debug!("nobody came back with an answer: a call is given up");
                drop(table.take(&name, turn));
            }
        };
        let expiry = [expiry].into_iter().collect();
        let entry = Entry { parked, turn, _permit: permit, _expiry: expiry };
        self.entries.lock().insert(id.to_owned(), entry);
    }

    /// The call that was parked under this name, if it is still the one that was parked in this turn.
    pub(super) fn take(&self, id: &str, turn: u32) -> Option<Parked> {
        let mut entries = self.entries.lock();
        entries.get(id).filter(|entry| entry.turn == turn)?;
        entries.remove(id).map(|entry| entry.parked)
    }
}
