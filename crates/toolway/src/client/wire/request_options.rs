//! Which settings and which state does a single request have, and what can the server reply, in either era?

use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::capability::JsonObject;
use toolway_protocol::types::LogLevel;
use toolway_protocol::{RawJson, Request};

use crate::client::answer::caller::Caller;
use crate::client::notifications::listeners::ProgressHook;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// The settings of one request. They stay the same if the request is sent again.
#[derive(Clone)]
pub(crate) struct RequestOptions {
    /// How long the server may be silent about the request.
    pub(crate) timeout: Option<Duration>,
    /// How long the request may take in total, over all connections and rounds. Time in which questions are answered
    /// does not count.
    pub(crate) deadline: Option<Duration>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) meta: Option<JsonObject>,
    pub(crate) progress: ProgressMode,
    /// The caller that the request is forwarded for; `None` for a request of the application itself.
    pub(crate) caller: Option<Arc<dyn Caller>>,
    /// The number that the application has given the request, to recognize it in questions of the server.
    pub(crate) tag: Option<u64>,
}

/// The progress setting of a request: whether the server is asked to report progress, and which hook is called.
#[derive(Clone)]
pub(crate) enum ProgressMode {
    Unwanted,
    Wanted(Option<ProgressHook>),
}

impl RequestOptions {
    /// The defaults, without a deadline.
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        let (headers, progress) = (Vec::new(), ProgressMode::Unwanted);
        Self { timeout, deadline: None, headers, meta: None, progress, caller: None, tag: None }
    }

    pub(crate) fn wants_progress(&self) -> bool {
        matches!(self.progress, ProgressMode::Wanted(_))
    }
}

/// The state of a request about which the server may ask questions. If it asks, the request is sent again with the
/// answers; each time that the request is sent is a *round*. The state survives a lost connection: if the request
/// started again from the first round, the server would repeat work that it has already done.
pub(crate) struct RequestRounds<'r> {
    first_request: &'r Request,
    /// The request of the current round, with the answers; `None` in the first round.
    current: Option<Request>,
    pub(crate) round: u32,
    /// How often the server required another round without a question.
    pub(crate) empty_rounds: u32,
    /// The log level that the request carries, in the stateless era.
    pub(crate) log_level: Option<LogLevel>,
    /// How long the client has waited for the server so far, in earlier rounds and on earlier connections. Time in which
    /// questions were answered does not count.
    pub(crate) waited: Duration,
    /// See [`RequestOptions::tag`].
    pub(crate) tag: Option<u64>,
}

impl<'r> RequestRounds<'r> {
    pub(crate) fn new(first: &'r Request) -> Self {
        Self {
            first_request: first,
            current: None,
            round: 0,
            empty_rounds: 0,
            log_level: None,
            waited: Duration::ZERO,
            tag: None,
        }
    }

    /// Returns whether the request is past its first round, so that the server has already worked on it.
    pub(crate) fn is_past_first_round(&self) -> bool {
        self.current.is_some()
    }

    /// The request of the current round.
    pub(crate) fn request(&self) -> &Request {
        self.current.as_ref().unwrap_or(self.first_request)
    }

    /// Sets the request of the next round.
    pub(crate) fn set_next_round(&mut self, request: Request) {
        self.current = Some(request);
    }
}

/// The server's reply to a request.
pub(crate) enum ServerReply<'l, T> {
    /// The result, unchanged.
    Complete(RawJson),
    /// The server asks questions. The questions for the application are answered while the future is awaited.
    InputRequired(BoxFuture<'l, Result<T>>),
}
