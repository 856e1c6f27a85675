//! How much of a server may one client use, and for how long? Limits that are specific to HTTP are in
//! `http/endpoint/limits.rs`.

use std::time::Duration;

use crate::server::build::builder::ServerBuilder;
use crate::transport::frame::message_limit;

impl ServerBuilder {
    /// Sets how long the values of [`Ctx::memory`](crate::server::Ctx::memory) are kept for a principal after their
    /// last use (default: 30 days). The values of a session are kept as long as the session.
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("app", "1.0.0").memory_ttl(Duration::from_secs(24 * 60 * 60)).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn memory_ttl(mut self, time: Duration) -> Self {
        self.memory_ttl = time;
        self
    }

    /// Sets the maximum size of a message that is sent or accepted, in bytes (default: 16 MiB). It applies to every
    /// transport: to a line of a pipe, the body of an HTTP request or reply, and an event of a stream.
    ///
    /// A larger request is refused with -32600, and the error's `data.maxMessage` contains the limit. A call whose
    /// result would be larger fails, and its error names this setting. Files that are served as resources count in
    /// their encoded form: a file that is not text grows by a third.
    ///
    /// A client has its own limit (`Client::builder().max_message(…)`): raise both if results are large.
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

    /// Sets how many requests may run at the same time (default: 4096), and how many of them may belong to one pipe or
    /// session (default: 256). Further requests are refused with an error that asks the client to retry later; pings,
    /// cancellations and answers are always accepted.
    pub fn max_in_flight(mut self, total: usize, of_one_peer: usize) -> Self {
        self.max_in_flight = total;
        self.max_in_flight_per_peer = of_one_peer;
        self
    }

    /// Sets how long a handler may run (default: 1 hour); `None` means no limit. A handler that takes longer is
    /// dropped, and its caller gets an error. The time during which the client is asked a question does not count.
    /// [`ToolEntry::with_deadline`](crate::server::ToolEntry::with_deadline) sets the limit of one tool.
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

    /// Sets how long a question to the client may stay unanswered (default: 10 minutes): see
    /// [`Ctx::ask`](crate::server::Ctx::ask). In 2026-07-28 this is the time that the client has to call again.
    pub fn question_timeout(mut self, time: Duration) -> Self {
        self.question_timeout = time;
        self
    }
}
