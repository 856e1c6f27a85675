//! How much may a peer take? Every limit of the HTTP door, with its default.

use std::time::Duration;

/// The limits of one door. `docs/limits.md` has them as a table.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// The longest body, in bytes; the server's own limit unless said otherwise.
    pub(crate) body: usize,
    /// How long the head of a request may take to come, and a connection may be idle.
    pub(crate) head_timeout: Duration,
    /// How long the body of a request may take to come.
    pub(crate) body_timeout: Duration,
    /// How many headers a request may have.
    pub(crate) headers: usize,
    /// How long the head of a request may be, in bytes.
    pub(crate) head: usize,
    /// How many connections may be open.
    pub(crate) connections: usize,
    /// How many requests may be open at the same time on one connection of HTTP/2.
    pub(crate) h2_streams: usize,
    /// How many requests may run at the same time.
    pub(crate) in_flight: usize,
    /// How many streams of news may be open.
    pub(crate) streams: usize,
    /// How long running requests may take once the server is told to stop.
    pub(crate) grace: Duration,
}

impl Limits {
    pub(crate) fn new(body: usize) -> Self {
        Self {
            body,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            headers: 100,
            head: 64 << 10,
            connections: 20_000,
            h2_streams: 100,
            in_flight: 1024,
            streams: 10_000,
            grace: Duration::from_secs(10),
        }
    }
}
