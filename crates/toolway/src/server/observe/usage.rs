//! What do the peers of a server use at the moment, and how often were they refused more?

use crate::ground::budget::Resource;
use crate::server::Server;
use crate::server::observe::store_meter::StoreUsage;

/// The use of a server by its peers at one moment: see [`Server::usage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Requests that run, or whose replies are not sent yet.
    pub requests: ResourceUsage,
    /// Bytes of request bodies.
    pub bodies: ResourceUsage,
    /// Bytes of replies and notifications that are not sent yet.
    pub replies: ResourceUsage,
    /// Bytes of answers and events that are kept for clients that reconnect. Here `refused` counts how often streams
    /// were forgotten to make room.
    pub kept: ResourceUsage,
    /// Open notification streams.
    pub streams: ResourceUsage,
    /// Open connections to the server's own socket.
    pub connections: ResourceUsage,
    /// Open sessions.
    pub sessions: ResourceUsage,
    /// The use of the store that the server shares with others; `None` if it shares none.
    pub store: Option<StoreUsage>,
}

/// How much of one resource is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceUsage {
    /// How much is used now.
    pub used: usize,
    /// How often more was refused since the server was built.
    pub refused: u64,
}

impl Server {
    /// Returns what the peers of this server use at the moment, on all transports, and how often they were refused more
    /// than the limits allow. A warning in the log, at most one per second, also reports refusals.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # let server = Server::new("app", "1.0.0").build()?;
    /// let usage = server.usage();
    /// println!("{} requests run, {} were refused", usage.requests.used, usage.requests.refused);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn usage(&self) -> Usage {
        let of = |resource| {
            let ledger = &self.inner.ledger;
            ResourceUsage { used: ledger.used(resource), refused: ledger.refused(resource) }
        };
        Usage {
            requests: of(Resource::Requests),
            bodies: of(Resource::Bodies),
            replies: of(Resource::Replies),
            kept: of(Resource::Kept),
            streams: of(Resource::Streams),
            connections: of(Resource::Connections),
            sessions: of(Resource::Sessions),
            store: self.inner.store_meter.as_ref().map(|meter| meter.usage()),
        }
    }
}
