//! Which connections lead to one server?

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, MutexGuard};
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
}

/// A connection that one step uses at a time. A step that waited behind another one would be done at an unknown time after
/// its caller has given it up.
struct ConfirmedLink {
    link: Link,
    turn: Mutex<()>,
}

impl Node {
    /// Connections to a server. `place` is called for each of them.
    pub(crate) fn new(
        connector: &Connector,
        confirmed: usize,
        counters: &Counters,
        place: impl Fn() -> Place,
    ) -> Self {
        let link = || Link::new(Locator { connector: connector.clone(), place: place() }, counters);
        let confirmed = (0..confirmed).map(|_| ConfirmedLink { link: link(), turn: Mutex::default() });
        Self { steps: link(), confirmed: confirmed.collect(), next: AtomicUsize::new(0) }
    }

    /// Returns the connection for a step. If the step waits for replicas or for the disk, it has the connection for itself
    /// until it drops the guard, and may have to wait for one until `deadline`.
    pub(crate) async fn link(
        &self,
        is_confirmed: bool,
        deadline: Instant,
    ) -> Result<(&Link, Option<MutexGuard<'_, ()>>)> {
        let count = self.confirmed.len();
        if !is_confirmed || count == 0 {
            return Ok((&self.steps, None));
        }
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let in_turn = |number: usize| &self.confirmed[(first + number) % count];
        for ConfirmedLink { link, turn } in (0..count).map(in_turn) {
            if let Ok(guard) = turn.try_lock() {
                return Ok((link, Some(guard)));
            }
        }
        let ConfirmedLink { link, turn } = in_turn(0);
        match tokio::time::timeout_at(deadline, turn.lock()).await {
            Ok(guard) => Ok((link, Some(guard))),
            Err(_) => Err(not_done("all connections wait for replicas or for the disk")),
        }
    }

    /// Returns all connections.
    #[cfg(feature = "sentinel")]
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::once(&self.steps).chain(self.confirmed.iter().map(|confirmed| &confirmed.link))
    }
}
