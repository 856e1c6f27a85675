//! How many resources may the sessions of one endpoint use? Every limit, with its default.

use std::time::Duration;

use super::log::event_log::KeptEvents;
use super::shared::session::SharedLimits;
use crate::ground::budget::Budget;
use crate::store::Room;

/// The limits of the sessions of one endpoint. `docs/limits.md` lists them in a table.
#[derive(Debug, Clone)]
pub(crate) struct SessionLimits {
    /// How many sessions may be open.
    pub(crate) sessions: usize,
    /// How many sessions may belong to one principal, or to one IP address if the caller has no principal.
    pub(crate) sessions_per_peer: usize,
    /// How long a session may be idle before it is removed.
    pub(crate) session_idle: Duration,
    /// How many notification streams one session may have open.
    pub(crate) streams_per_session: usize,
    /// How many finished streams of one session are kept for a client that may reconnect.
    pub(crate) kept_streams: usize,
    /// How many notifications of one stream are kept.
    pub(crate) kept_events: usize,
    /// How many bytes of notifications of one stream are kept.
    pub(crate) kept_bytes: usize,
    /// How long a stream is kept after it was last used.
    pub(crate) kept_for: Duration,
    /// How long a client should wait before it resumes a stream that broke off.
    pub(crate) retry: Duration,
}

impl SessionLimits {
    pub(crate) fn session_budget(&self) -> Budget {
        Budget { total: self.sessions, share: self.sessions_per_peer }
    }

    /// Returns how much of a stream is kept.
    pub(super) fn kept_events(&self) -> KeptEvents {
        KeptEvents { room: Room { entries: self.kept_events, bytes: self.kept_bytes }, time: self.kept_for }
    }

    /// Returns how long the data of a session is stored.
    pub(super) fn shared(&self) -> SharedLimits {
        SharedLimits { session_idle: self.session_idle, kept: self.kept_events() }
    }

    pub(crate) fn new() -> Self {
        Self {
            sessions: 10_000,
            sessions_per_peer: 1000,
            session_idle: Duration::from_secs(30 * 60),
            streams_per_session: 16,
            kept_streams: 64,
            kept_events: 1024,
            kept_bytes: 1 << 20,
            kept_for: Duration::from_secs(5 * 60),
            retry: Duration::from_secs(1),
        }
    }
}
