//! Which connections lead to one server?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, MutexGuard, Notify, Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;
use toolway_store::Result;

use crate::connector::Connector;
use crate::link::{Counters, Link, not_done};
use crate::locate::{Locator, Place};

/// The connections to one server.
pub(crate) struct Node {
    pub(crate) steps: Link,
    /// Connections for steps that wait for replicas or for the disk, because such a step blocks all that come after it
    /// on its connection.
    confirmed: Vec<ConfirmedLink>,
    next: AtomicUsize,
    /// Lets steps choose a connection in the order in which they came.
    queue: Semaphore,
    /// Notified when a step leaves its connection to the next one.
    left: Notify,
    /// Counts how often a connection was opened.
    reached: Arc<watch::Sender<u64>>,
}

/// A connection that one step uses at a time. A step that waited behind another one would be done at an unknown time after
/// its caller has given it up.
struct ConfirmedLink {
    link: Link,
    turn: Mutex<()>,
}

/// The right to use a connection alone.
pub(crate) struct Turn<'n> {
    guard: Option<MutexGuard<'n, ()>>,
    left: &'n Notify,
    _permit: SemaphorePermit<'n>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.guard = None;
        self.left.notify_one();
    }
}

impl Node {
    /// Connections to a server. `place` is called for each of them.
    pub(crate) fn new(
        connector: &Connector,
        confirmed: usize,
        counters: &Counters,
        place: impl Fn() -> Place,
    ) -> Self {
        let reached = Arc::new(watch::Sender::new(0));
        let link = || {
            let locator = Locator { connector: connector.clone(), place: place() };
            Link::new(locator, counters, reached.clone())
        };
        let confirmed = (0..confirmed).map(|_| ConfirmedLink { link: link(), turn: Mutex::default() });
        let (confirmed, next): (Vec<_>, _) = (confirmed.collect(), AtomicUsize::new(0));
        let (queue, left) = (Semaphore::new(confirmed.len()), Notify::new());
        Self { steps: link(), confirmed, next, queue, left, reached }
    }

    /// Returns the connection for a step. If the step waits for replicas or for the disk, it has the connection for itself
    /// until it drops the turn, and may have to wait for one until `deadline`.
    pub(crate) async fn link(
        &self,
        is_confirmed: bool,
        deadline: Instant,
    ) -> Result<(&Link, Option<Turn<'_>>)> {
        if !is_confirmed || self.confirmed.is_empty() {
            return Ok((&self.steps, None));
        }
        let choice = tokio::time::timeout_at(deadline, self.choose());
        let Ok((link, guard, permit)) = choice.await else {
            return Err(not_done("all connections wait for replicas or for the disk"));
        };
        Ok((link, Some(Turn { guard: Some(guard), left: &self.left, _permit: permit })))
    }

    /// Waits for a connection that no other step uses.
    async fn choose(&self) -> (&Link, MutexGuard<'_, ()>, SemaphorePermit<'_>) {
        let mut reached = self.reached.subscribe();
        let permit = self.queue.acquire().await.expect("the semaphore is never closed");
        loop {
            let left = self.left.notified();
            if let Some((link, guard)) = self.free_link() {
                return (link, guard, permit);
            }
            tokio::select! {
                () = left => {}
                _ = reached.changed() => {}
            }
        }
    }

    /// Returns a connection that no step uses. One that is not open is of no use while another one is.
    fn free_link(&self) -> Option<(&Link, MutexGuard<'_, ()>)> {
        let count = self.confirmed.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let is_up = self.confirmed.iter().any(|confirmed| confirmed.link.is_up());
        (0..count).find_map(|number| {
            let ConfirmedLink { link, turn } = &self.confirmed[(first + number) % count];
            let guard = if link.is_up() == is_up { turn.try_lock().ok() } else { None };
            guard.map(|guard| (link, guard))
        })
    }
}
