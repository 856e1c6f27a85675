//! How much may a peer take of a server, and how long? What HTTP has of its own stands in `http/door/limits.rs`.

use std::time::Duration;

use crate::server::build::builder::ServerBuilder;
use crate::transport::frame::message_limit;

impl ServerBuilder {
    /// How long the values that [`Ctx::memory`](crate::server::Ctx::memory) gives are kept for a principal after they were last used
    /// (30 days). Those of a session live as long as the session.
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("app", "1.0.0").memory_for(Duration::from_secs(24 * 60 * 60)).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn memory_for(mut self, time: Duration) -> Self {
        self.memory_for = time;
        self
    }

    /// The longest message that is sent and accepted, in bytes (16 MiB), on every transport: a line of a pipe, the body of an HTTP
    /// request or reply, an event of a stream.
    ///
    /// A longer request is refused with -32600, and the error's `data.maxMessage` says how much is taken. A call whose result
    /// would be longer fails, and its error names this setting. Files that are served as resources count as they are sent: a file
    /// that is not text grows by a third.
    ///
    /// A client has a limit of its own (`Client::builder().max_message(…)`): raise both where results are large.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("photos", "1.0.0").max_message(64 << 20).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = message_limit(bytes);
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
    /// hears of it. The time in which a client is asked something does not count. [`ToolEntry::deadline`](crate::server::ToolEntry::deadline) gives a tool its own.
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

    /// How long a question to the client may stay without an answer (10 minutes): see [`Ctx::ask`](crate::server::Ctx::ask). In
    /// 2026-07-28 the client has so long to call again.
    pub fn question_timeout(mut self, time: Duration) -> Self {
        self.question_timeout = time;
        self
    }
}
