//! Which settings and which state does a single request have, and what can the server reply, in either era?

use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::capability::Settings;
use toolway_protocol::types::{LogLevel, Progress};
use toolway_protocol::{RawJson, Request};

use crate::client::answer::caller::Caller;
use crate::client::notifications::listeners::Hook;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// The settings of one request. They stay the same if the request is sent again.
#[derive(Clone)]
pub(crate) struct Terms {
    /// How long the server may be silent about the request.
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) meta: Option<Settings>,
    pub(crate) progress: Progressing,
    /// The caller that the request is forwarded for; `None` for a request of the application itself.
    pub(crate) caller: Option<Arc<dyn Caller>>,
}

/// The progress setting of a request: whether the server is asked to report progress, and which hook is called.
#[derive(Clone)]
pub(crate) enum Progressing {
    Unwanted,
    Wanted(Option<Hook<Progress>>),
}

impl Terms {
    /// The defaults.
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        let (headers, progress) = (Vec::new(), Progressing::Unwanted);
        Self { timeout, headers, meta: None, progress, caller: None }
    }

    pub(crate) fn wants_progress(&self) -> bool {
        matches!(self.progress, Progressing::Wanted(_))
    }
}

/// The state of a request about which the server may ask questions. If it asks, the request is sent again with the
/// answers; each time that the request is sent is a *round*. The state survives a lost connection: if the request
/// started again from the first round, the server would repeat work that it has already done.
pub(crate) struct Course<'r> {
    first: &'r Request,
    /// The request of the current round, with the answers; `None` in the first round.
    again: Option<Request>,
    pub(crate) round: u32,
    /// How often the server required another round without a question.
    pub(crate) waits: u32,
    /// The log level that the request carries, in the stateless era.
    pub(crate) log_level: Option<LogLevel>,
}

impl<'r> Course<'r> {
    pub(crate) fn new(first: &'r Request) -> Self {
        Self { first, again: None, round: 0, waits: 0, log_level: None }
    }

    /// Returns whether the request is past its first round, so that the server has already worked on it.
    pub(crate) fn has_begun(&self) -> bool {
        self.again.is_some()
    }

    /// The request of the current round.
    pub(crate) fn request(&self) -> &Request {
        self.again.as_ref().unwrap_or(self.first)
    }

    /// Sets the request of the next round.
    pub(crate) fn go_on_with(&mut self, request: Request) {
        self.again = Some(request);
    }
}

/// The server's reply to a request.
pub(crate) enum Reply<'l, T> {
    /// The result, unchanged.
    Complete(RawJson),
    /// The server asks questions. The questions for the application are answered while the future is awaited.
    Asks(BoxFuture<'l, Result<T>>),
}
