//! How much may a peer take? Every limit of the HTTP door, with its default.

use std::time::Duration;

/// The limits of one door. `docs/limits.md` has them as a table.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// The longest body, in bytes; the server's own limit unless said otherwise.
    pub(super) body: usize,
    /// How long the head of a request may take to come, and a connection may be idle.
    pub(super) head_timeout: Duration,
    /// How long the body of a request may take to come.
    pub(super) body_timeout: Duration,
    /// How many headers a request may have.
    pub(super) headers: usize,
    /// How long the head of a request may be, in bytes.
    pub(super) head: usize,
    /// How many connections may be open.
    pub(super) connections: usize,
    /// How many requests may be open at the same time on one connection of HTTP/2.
    pub(super) h2_streams: usize,
    /// How many requests may run at the same time.
    pub(super) in_flight: usize,
    /// How many streams of news may be open.
    pub(super) streams: usize,
    /// How many conversations may be open.
    pub(super) sessions: usize,
    /// How many of them may belong to one principal, or to one address if there are no principals.
    pub(super) sessions_per_peer: usize,
    /// How long a conversation may be silent before it is forgotten.
    pub(super) session_idle: Duration,
    /// How many requests of one conversation may run at the same time.
    pub(super) in_flight_per_session: usize,
    /// How many streams of news one conversation may have open.
    pub(super) streams_per_session: usize,
    /// How many finished streams of one conversation are kept for a client that may come back.
    pub(super) kept_streams: usize,
    /// How many notifications of one stream are kept.
    pub(super) kept_events: usize,
    /// How many bytes of notifications of one stream are kept.
    pub(super) kept_bytes: usize,
    /// How long a stream is kept after it was last used.
    pub(super) kept_for: Duration,
    /// How long a client is to wait before it comes back to a stream that broke off.
    pub(super) retry: Duration,
    /// How long running requests may take once the server is told to stop.
    pub(super) grace: Duration,
}

impl Limits {
    pub(super) fn new(body: usize, in_flight_per_session: usize) -> Self {
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
            sessions: 10_000,
            sessions_per_peer: 1000,
            session_idle: Duration::from_mins(30),
            in_flight_per_session,
            streams_per_session: 16,
            kept_streams: 64,
            kept_events: 1024,
            kept_bytes: 1 << 20,
            kept_for: Duration::from_mins(5),
            retry: Duration::from_secs(1),
            grace: Duration::from_secs(10),
        }
    }
}
