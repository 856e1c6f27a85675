//! What goes for one request, how far has it come, and what did the server send for it, whichever era writes it?

use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::capability::Settings;
use toolway_protocol::types::{LogLevel, Progress};
use toolway_protocol::{RawJson, Request};

use crate::client::answer::caller::Caller;
use crate::client::notifications::listeners::Hook;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// What goes for one request and all its rounds.
#[derive(Clone)]
pub(crate) struct Terms {
    /// How long nothing may be heard of it.
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) meta: Option<Settings>,
    pub(crate) progress: Progressing,
    /// The caller it is forwarded for, if it is not the application's own.
    pub(crate) caller: Option<Arc<dyn Caller>>,
}

/// Whether the server is asked to tell of progress, and who hears of it.
#[derive(Clone)]
pub(crate) enum Progressing {
    Unwanted,
    Wanted(Option<Hook<Progress>>),
}

impl Terms {
    /// For a request about which nothing more was said.
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        let (headers, progress) = (Vec::new(), Progressing::Unwanted);
        Self { timeout, headers, meta: None, progress, caller: None }
    }

    pub(crate) fn wants_progress(&self) -> bool {
        matches!(self.progress, Progressing::Wanted(_))
    }
}

/// How far a request has come that the server has questions about. What was asked and answered stays so when the connection is
/// lost: from the beginning, the server would do again what it has done.
pub(crate) struct Course<'r> {
    first: &'r Request,
    /// The request as it is to be sent next.
    again: Option<Request>,
    pub(crate) round: u32,
    /// How often the server had nothing to ask and no result either.
    pub(crate) waits: u32,
    /// How much of the log all rounds want, where requests say so.
    pub(crate) log_level: Option<LogLevel>,
}

impl<'r> Course<'r> {
    pub(crate) fn new(first: &'r Request) -> Self {
        Self { first, again: None, round: 0, waits: 0, log_level: None }
    }

    /// Whether the server has worked on the request.
    pub(crate) fn has_begun(&self) -> bool {
        self.again.is_some()
    }

    /// The request as it is to be sent in this round.
    pub(crate) fn request(&self) -> &Request {
        self.again.as_ref().unwrap_or(self.first)
    }

    /// Sets what is sent in the next round.
    pub(crate) fn go_on_with(&mut self, request: Request) {
        self.again = Some(request);
    }
}

/// What the server sent for a request.
pub(crate) enum Reply<'l, T> {
    /// The result, as it came.
    Complete(RawJson),
    /// Questions. The application answers those that are its own while this is awaited.
    Asks(BoxFuture<'l, Result<T>>),
}
