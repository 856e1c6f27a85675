//! Which connections lead to one server?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

use crate::connector::Connector;
use crate::link::Link;
use crate::locate::{Locator, Place};

/// The connections to one server.
pub(crate) struct Node {
    pub(crate) steps: Link,
    /// Connections for steps that wait for replicas or for the disk, because such a step blocks all that come after it
    /// on its connection.
    confirmed: Vec<Link>,
    next: AtomicUsize,
}

impl Node {
    /// Connections to a server. `place` is called for each of them.
    pub(crate) fn new(
        connector: &Connector,
        confirmed: usize,
        is_up: &Arc<watch::Sender<u64>>,
        place: impl Fn() -> Place,
    ) -> Self {
        let link = || Link::new(Locator { connector: connector.clone(), place: place() }, is_up.clone());
        Self { steps: link(), confirmed: (0..confirmed).map(|_| link()).collect(), next: AtomicUsize::new(0) }
    }

    /// Returns the connection for a step: one of several in turn, if the step waits for replicas or for the disk.
    pub(crate) fn link(&self, is_confirmed: bool) -> &Link {
        let turn = self.next.fetch_add(usize::from(is_confirmed), Ordering::Relaxed);
        match self.confirmed.len() {
            count if is_confirmed && count > 0 => &self.confirmed[turn % count],
            _ => &self.steps,
        }
    }

    /// Returns all connections.
    #[cfg(feature = "sentinel")]
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::once(&self.steps).chain(&self.confirmed)
    }
}
