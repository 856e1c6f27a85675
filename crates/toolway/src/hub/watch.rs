//! What changed in a hub?

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch::Receiver;

use super::handle::Hub;
use super::snapshot::{HubSnapshot, Versions};

/// A part of a hub that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HubChange {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources or the resource templates.
    Resources,
    /// A server was added or removed, or its [status](Hub::status) changed.
    Servers,
}

/// A stream of the changes of a hub, created by [`Hub::watch`].
pub struct HubWatch {
    pub(super) snapshots: Receiver<Arc<HubSnapshot>>,
    pub(super) seen: Versions,
}

impl Hub {
    /// Watches for changes from now on. Several changes of one part between two calls of [`next`](HubWatch::next) are
    /// reported once.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// use toolway::hub::HubChange;
    ///
    /// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
    /// # #[tool] fn multiply(a: f64, b: f64) -> f64 { a * b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").tools(tools![multiply]).build()?;
    /// # let hub = Hub::new();
    /// # hub.connect("calc", &server).await?;
    /// let mut changes = hub.watch();
    /// # server.add_tool(tools![add].remove(0))?;
    /// while let Some(change) = changes.next().await {
    ///     if change == HubChange::Tools {
    ///         println!("now there are {} tools", hub.tools().len());
    ///         break;
    ///     }
    /// }
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn watch(&self) -> HubWatch {
        let snapshots = self.0.0.snapshot.subscribe();
        let seen = snapshots.borrow().versions;
        HubWatch { snapshots, seen }
    }
}

impl HubWatch {
    /// Waits for the next change. Returns `None` once the hub was dropped.
    pub async fn next(&mut self) -> Option<HubChange> {
        loop {
            if let Some(change) = self.take_unseen() {
                return Some(change);
            }
            self.snapshots.changed().await.ok()?;
        }
    }

    fn take_unseen(&mut self) -> Option<HubChange> {
        let now = self.snapshots.borrow_and_update().versions;
        let Versions { tools, prompts, resources, servers } = &mut self.seen;
        let parts = [
            (tools, now.tools, HubChange::Tools),
            (prompts, now.prompts, HubChange::Prompts),
            (resources, now.resources, HubChange::Resources),
            (servers, now.servers, HubChange::Servers),
        ];
        for (seen, now, change) in parts {
            if *seen != now {
                *seen = now;
                return Some(change);
            }
        }
        None
    }
}

impl fmt::Debug for HubWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubWatch").field("seen", &self.seen).finish_non_exhaustive()
    }
}
