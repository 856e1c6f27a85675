//! How much of a server may one client use, and for how long? Limits that are specific to HTTP are in
//! `http/endpoint/limits.rs`.

use std::time::Duration;

use crate::ground::budget::Budget;
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

    /// Sets how many requests may run at the same time (default: 1024), and how many of them may belong to one peer
    /// (default: 256). A peer is a pipe, a principal, or an IP address if the caller has no principal; an IPv6 network
    /// (/64) counts as one address. Callers over HTTP without principal and address are told apart by their sessions.
    ///
    /// A request runs until its reply is sent. Further requests are refused with an error that asks the client to retry
    /// later; pings, cancellations and answers are always accepted.
    pub fn max_in_flight(mut self, total: usize, of_one_peer: usize) -> Self {
        self.budgets.requests = Budget { total, share: of_one_peer };
        self
    }

    /// Sets how many bytes the bodies of HTTP requests may take in memory, from when they are received until their
    /// requests are answered: of all peers (default: 128 MiB), and of one peer (default: 32 MiB). A peer is the same as
    /// for [`max_in_flight`](Self::max_in_flight).
    ///
    /// A request beyond that is refused with the status 503 before its body is read. A body that is larger than the
    /// share of its peer is accepted if the peer sends no other, so `max_message` may be larger than the share; but if
    /// such messages are frequent, raise this limit too.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("photos", "1.0.0").max_message(64 << 20).body_budget(512 << 20, 128 << 20).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn body_budget(mut self, total: usize, of_one_peer: usize) -> Self {
        self.budgets.bodies = Budget { total, share: of_one_peer };
        self
    }

    /// Sets how many bytes of replies and notifications may wait in memory until clients read them: of all peers
    /// (default: 128 MiB), and of one peer (default: 32 MiB; a pipe may use the total). A peer is the same as for
    /// [`max_in_flight`](Self::max_in_flight).
    ///
    /// Beyond that, notifications are dropped, and a call whose result does not fit fails with an error that asks the
    /// client to retry later. A reply that is larger than the share of its peer is sent if no other reply waits.
    pub fn reply_budget(mut self, total: usize, of_one_peer: usize) -> Self {
        self.budgets.replies = Budget { total, share: of_one_peer };
        self
    }

    /// Sets how many bytes of answers and events are kept for clients that may reconnect and resume a stream: of all
    /// peers (default: 64 MiB), and of one peer (default: 16 MiB). A peer is the same as for
    /// [`max_in_flight`](Self::max_in_flight).
    ///
    /// Beyond that, the oldest finished streams are forgotten: a client that resumes one of them gets the status 400.
    /// Only sessions over HTTP (up to 2025-11-25) keep anything.
    pub fn kept_budget(mut self, total: usize, of_one_peer: usize) -> Self {
        self.budgets.kept = Budget { total, share: of_one_peer };
        self
    }

    /// Sets how long a handler may run without [reporting progress](crate::server::Ctx::progress) (default: 5 minutes);
    /// `None` means no limit at all. Each report starts the time again, up to
    /// [`max_call_time`](Self::max_call_time). A handler that takes longer is dropped, and its caller gets an error. The
    /// time during which the client is asked a question does not count.
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

    /// Sets how long a handler may run in total, however much progress it reports (default: 1 hour). A
    /// [deadline](Self::deadline) that is longer, such as that of one tool, takes precedence.
    pub fn max_call_time(mut self, time: Duration) -> Self {
        self.max_call_time = time;
        self
    }

    /// Sets how long a question to the client may stay unanswered (default: 10 minutes): see
    /// [`Ctx::ask`](crate::server::Ctx::ask). In 2026-07-28 this is the time that the client has to call again.
    pub fn question_timeout(mut self, time: Duration) -> Self {
        self.question_timeout = time;
        self
    }

    /// Warns about budgets of which one large message uses more than the share of a peer.
    pub(super) fn warn_of_small_budgets(&self) {
        let budgets = [("body_budget", self.budgets.bodies), ("reply_budget", self.budgets.replies)];
        for (setting, budget) in budgets {
            if self.max_message > budget.share {
                tracing::warn!(
                    max_message = self.max_message,
                    of_one_peer = budget.share,
                    "`max_message` is larger than what one peer may use of `{setting}`, so a peer's large messages are accepted only one at a time: raise `{setting}` too"
                );
            }
        }
    }
}
