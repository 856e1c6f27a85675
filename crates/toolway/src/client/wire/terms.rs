//! Which settings does one request have, how far has it come, and what did the server send for it, in either era?

use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::capability::Settings;
use toolway_protocol::types::{LogLevel, Progress};
use toolway_protocol::{RawJson, Request};

use crate::client::answer::caller::Caller;
use crate::client::notifications::listeners::Hook;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// The settings of one request, for all its rounds.
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

/// The state of a request that the server may have questions about. Questions and answers survive a lost connection: if
/// the request started again from the beginning, the server would repeat work that it has done.
pub(crate) struct Course<'r> {
    first: &'r Request,
    /// The request to send next, once the server has asked.
    again: Option<Request>,
    pub(crate) round: u32,
    /// How often the server sent neither questions nor a result.
    pub(crate) waits: u32,
    /// The log level of all rounds, in an era in which requests carry one.
    pub(crate) log_level: Option<LogLevel>,
}

impl<'r> Course<'r> {
    pub(crate) fn new(first: &'r Request) -> Self {
        Self { first, again: None, round: 0, waits: 0, log_level: None }
    }

    /// Returns whether the server has worked on the request.
    pub(crate) fn has_begun(&self) -> bool {
        self.again.is_some()
    }

    /// The request as it is sent in this round.
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
    /// Questions. Those that are for the application are answered while this is awaited.
    Asks(BoxFuture<'l, Result<T>>),
}
