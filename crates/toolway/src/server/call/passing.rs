//! What may a handler say, ask and know that passes its call on to somebody else?
//!
//! What the other one says and asks is not the handler's own: it goes out as it came. What the other one has to know stands
//! here as well: what the caller sent in `_meta`, what it can be asked, and what it wants to hear.

use std::time::Duration;

use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{Id, Notification, RawJson};

use crate::server::call::context::{Ctx, is_more};
use crate::server::call::principal::Principal;
use crate::server::call::question_log::{Answers, Way};
use crate::server::call::questions::{MAX_OPEN, check_rounds};
use crate::server::call::replay::{Held, size};
use crate::server::call::scope::Scope;
use crate::server::failure::ask::{AskError, AskErrorKind};

/// The `_meta` of a request.
pub(crate) struct RequestMeta(pub(crate) Option<RawJson>);

/// The call of somebody who passes it on.
#[derive(Clone)]
pub(crate) struct Passing(Ctx);

impl Passing {
    pub(crate) fn new(scope: &Scope) -> Self {
        Self(Ctx::of(scope))
    }

    pub(crate) fn of(ctx: Ctx) -> Self {
        Self(ctx)
    }

    fn scope(&self) -> &Scope {
        self.0.scope()
    }

    /// What says whose call it is: equal for two calls only if they are of the same caller, or of callers that nobody can tell
    /// apart.
    pub(crate) fn caller(&self) -> String {
        let arrival = self.scope().arrival();
        match (&arrival.principal, &arrival.memory) {
            (Some(principal), _) => format!("principal/{}", Principal::as_str(principal)),
            (None, Some(place)) => format!("place/{}", place.key),
            (None, None) => String::new(),
        }
    }

    /// What the request had in `_meta`.
    pub(crate) fn meta(&self) -> Option<Settings> {
        self.0.get::<RequestMeta>()?.0.as_ref()?.decode().ok()
    }

    /// Which log messages the caller wants to hear.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        let arrival = self.scope().arrival();
        arrival.threshold.least().filter(|_| arrival.outbound.is_open())
    }

    /// Tells of progress, whose token becomes the caller's own.
    pub(crate) async fn tell_progress(&self, mut progress: Progress) {
        let arrival = self.scope().arrival();
        let token = arrival.progress_token.as_ref().and_then(|token| token.decode::<Id>().ok());
        let Some(token) = token.filter(|_| arrival.outbound.is_open() && !self.0.is_cancelled()) else {
            return;
        };
        if is_more(self.scope().told(), &progress.progress) {
            progress.progress_token = token;
            arrival.outbound.tell(arrival.peer.version, &Notification::Progress(progress)).await;
        }
    }

    /// Passes a log message on, if the caller wants to hear it.
    pub(crate) async fn tell_log(&self, message: LogMessage) {
        if self.0.log().is_wanted(message.level) {
            let arrival = self.scope().arrival();
            arrival.outbound.tell(arrival.peer.version, &Notification::LogMessage(message)).await;
        }
    }

    /// What the caller can be asked here.
    pub(crate) fn can_be_asked(&self) -> ClientCapabilities {
        let arrival = self.scope().arrival();
        let mut can = ClientCapabilities::new();
        if matches!(arrival.asking.way, Way::Live(_) | Way::Again) {
            let ClientCapabilities { sampling, elicitation, roots, .. } = &arrival.peer.capabilities;
            can.sampling.clone_from(sampling);
            can.elicitation.clone_from(elicitation);
            can.roots.clone_from(roots);
        }
        can
    }

    /// Whether the call goes on here while the caller is asked; else the caller calls again.
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self.scope().arrival().asking.way, Way::Live(_))
    }

    /// How long the caller may take to answer.
    pub(crate) fn question_timeout(&self) -> Duration {
        self.scope().server().inner.question_timeout
    }

    /// Asks, as soon as the handler ends. The answer is among the [answers](Self::answers) when it runs again.
    pub(crate) fn ask(&self, key: String, question: InputRequest) -> Result<(), AskError> {
        self.check_askable(&question)?;
        let past = self.scope().arrival().asking.past.as_deref();
        check_rounds(past)?;
        let mut state = self.scope().asked().0.lock();
        if state.open.len() >= MAX_OPEN {
            let text = format!("more than {MAX_OPEN} questions were asked at once");
            return Err(AskError::new(AskErrorKind::Busy, text));
        }
        state.grow(size(&key), past)?;
        state.open.push((key, question));
        Ok(())
    }

    /// Whether the caller can be asked this, and why not.
    pub(crate) fn check_askable(&self, question: &InputRequest) -> Result<(), AskError> {
        self.scope().check_way()?;
        self.scope().check_able(question)
    }

    /// The answers that came with this run, by the keys of their questions.
    pub(crate) fn answers(&self) -> Option<&Answers> {
        self.scope().arrival().asking.fresh.as_deref()
    }

    /// What the last run left: what travels, and what was kept here.
    pub(crate) fn left(&self) -> (Option<RawJson>, Option<Held>) {
        let past = self.scope().arrival().asking.past.as_deref();
        let held = past.and_then(|past| past.held.clone());
        (past.and_then(|past| past.left.clone()), held)
    }

    /// Leaves something to the next run. What is held ends with the call, if it [goes on](Self::goes_on) here.
    pub(crate) fn leave(&self, note: RawJson, held: Option<Held>) -> Result<(), AskError> {
        let mut state = self.scope().asked().0.lock();
        state.grow(note.as_bytes().len(), self.scope().arrival().asking.past.as_deref())?;
        state.left = Some(note);
        state.held = held;
        Ok(())
    }

    /// The call itself.
    pub(crate) fn ctx(&self) -> &Ctx {
        &self.0
    }
}
