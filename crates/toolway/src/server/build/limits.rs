//! How much may a peer take of a server, and how long? What HTTP has of its own stands in `http/limits.rs`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use toolway_protocol::jsonrpc::{Rejected, Skimmed, Skimmer};
use toolway_protocol::{Method, RpcError};

use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::failure::errors::ErrorPolicy;
use crate::transport::frame::message_limit;

impl ServerBuilder {
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

/// A reply that is longer than the server sends.
pub(crate) struct TooLarge {
    pub(crate) text: String,
    /// True if the text is a result of a tool, which a model reads, and not an error of the protocol.
    pub(crate) is_result: bool,
    max: usize,
}

impl TooLarge {
    pub(crate) fn error(self) -> RpcError {
        RpcError::internal(self.text).with_max_message(self.max)
    }
}

impl Server {
    /// Looks at the size of a reply; what to send instead, if it is too large. What says so is sent whatever the limit is.
    pub(crate) fn too_large(&self, method: &Method, frame: &[u8]) -> Option<TooLarge> {
        let (size, max) = (frame.len(), self.max_message());
        if size <= max {
            return None;
        }
        let method_name = method.name();
        tracing::warn!(
            method = method_name,
            bytes = size,
            max_message = max,
            "a reply is longer than the server's `max_message`, and was not sent: answer with less, or raise it"
        );
        let text = format!(
            "the result is {size} bytes long, and the server sends at most {max}: ask for less, or raise `max_message` on the server"
        );
        let is_result = *method == Method::CallTool && self.inner.errors != ErrorPolicy::Rpc;
        Some(TooLarge { text, is_result, max })
    }

    /// The longest message that is sent and accepted, in bytes.
    pub fn max_message(&self) -> usize {
        self.inner.max_message.load(Ordering::Relaxed)
    }

    /// Changes [what the builder said](ServerBuilder::max_message), for a program that is told it when its server is built. It
    /// holds for the pipes and HTTP services that are opened from then on, and for every reply.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("photos", "1.0.0").build()?;
    /// server.set_max_message(64 << 20);
    /// assert_eq!(server.max_message(), 64 << 20);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn set_max_message(&self, bytes: usize) {
        self.inner.max_message.store(message_limit(bytes), Ordering::Relaxed);
    }

    /// Refuses a message that is longer than the server takes, where no transport has done so.
    pub(crate) fn refuse_long(&self, frame: &[u8]) -> Result<(), Rejected> {
        if frame.len() <= self.max_message() {
            return Ok(());
        }
        let mut skimmer = Skimmer::default();
        skimmer.push(frame);
        let id = match skimmer.finish() {
            Skimmed::Request(id) => Some(id),
            _ => None,
        };
        Err(Rejected { id, error: RpcError::too_large(self.max_message()) })
    }
}

/// How long a question may stay without an answer.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_mins(10);
/// How long a handler may run.
pub(crate) const DEADLINE: Duration = Duration::from_hours(1);
/// How many requests may run at the same time.
pub(crate) const MAX_RUNNING: usize = 4096;
/// How many of them may be of one peer.
pub(crate) const MAX_RUNNING_OF_ONE: usize = 256;
