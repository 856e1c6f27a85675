//! How much may a peer take of a server, and how long? What HTTP has of its own stands in `http/limits.rs`.

use std::time::Duration;

use super::ServerBuilder;

impl ServerBuilder {
    /// The longest message that is accepted, in bytes (4 MiB): a line of a pipe, the body of an HTTP request.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_frame = bytes;
        self
    }

    /// How many requests may run at the same time (4096), and how many of them may be of one pipe or session (256). What
    /// comes then is told to come again later; pings, cancels and answers always come through.
    pub fn max_in_flight(mut self, total: usize, of_one_peer: usize) -> Self {
        self.places = total;
        self.places_of_one = of_one_peer;
        self
    }

    /// How long a handler may run (1 hour), or `None` for as long as it likes. One that takes longer is dropped, and its caller
    /// hears of it. The time in which a client is asked something does not count. [`ToolEntry::deadline`](super::ToolEntry::deadline) gives a tool its own.
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("app", "1.0.0").deadline(Duration::from_secs(30)).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn deadline(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.deadline = time.into();
        self
    }

    /// How long a question to the client may stay without an answer (10 minutes): see [`Ctx::ask`](super::Ctx::ask). In
    /// 2026-07-28 the client has so long to call again.
    pub fn question_timeout(mut self, time: Duration) -> Self {
        self.question_timeout = time;
        self
    }
}

/// How long a question may stay without an answer.
pub(super) const QUESTION_TIMEOUT: Duration = Duration::from_mins(10);
/// How long a handler may run.
pub(super) const DEADLINE: Duration = Duration::from_hours(1);
/// How many requests may run at the same time.
pub(super) const MAX_RUNNING: usize = 4096;
/// How many of them may be of one peer.
pub(super) const MAX_RUNNING_OF_ONE: usize = 256;
