//! How many resources may a peer use? Every limit of the HTTP endpoint, with its default.

use std::time::Duration;

use crate::ground::budget::Budget;

/// The limits of one endpoint. `docs/limits.md` lists them in a table.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// The longest accepted request body, in bytes; by default the message limit of the server.
    pub(crate) body: usize,
    /// How long the head of a request may take to arrive, and how long a connection may be idle.
    pub(crate) head_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub(crate) body_timeout: Duration,
    /// How many headers a request may have.
    pub(crate) headers: usize,
    /// How long the head of a request may be, in bytes.
    pub(crate) head: usize,
    /// How many connections may be open.
    pub(crate) connections: usize,
    /// How many connections may come from one address.
    pub(crate) connections_per_peer: usize,
    /// How many requests may be open at the same time on one HTTP/2 connection.
    pub(crate) h2_streams: usize,
    /// How many notification streams may be open.
    pub(crate) streams: usize,
    /// How many notification streams one peer may have open.
    pub(crate) streams_per_peer: usize,
    /// How long running requests may take after the server was asked to shut down.
    pub(crate) grace: Duration,
    /// How long the server serves on after SIGTERM, while it reports that it is not ready.
    pub(crate) lame_duck: Duration,
}

impl Limits {
    pub(crate) fn connection_budget(&self) -> Budget {
        Budget { total: self.connections, share: self.connections_per_peer }
    }

    pub(crate) fn stream_budget(&self) -> Budget {
        Budget { total: self.streams, share: self.streams_per_peer }
    }

    /// `is_shared` says whether several servers share a store, so that another one can take over.
    pub(crate) fn new(body: usize, is_shared: bool) -> Self {
        Self {
            body,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            headers: 100,
            head: 64 << 10,
            connections: 20_000,
            connections_per_peer: 5000,
            h2_streams: 100,
            streams: 10_000,
            streams_per_peer: 2500,
            grace: Duration::from_secs(10),
            lame_duck: if is_shared { Duration::from_secs(5) } else { Duration::ZERO },
        }
    }
}
