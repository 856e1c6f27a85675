//! What may a handler say, ask and know that passes its call on to somebody else?
//!
//! What the other one says and asks is not the handler's own: it goes out as it came. What the other one has to know stands
//! here as well: what the caller sent in `_meta`, what it can be asked, and what it wants to hear.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{Id, Notification, RawJson};

use crate::server::call::context::{Ctx, is_more};
use crate::server::call::principal::Principal;
use crate::server::call::question_log::Way;
use crate::server::call::scope::{Round, Scope};
use crate::server::failure::ask::AskError;

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

    fn round(&self) -> &Round {
        self.0.round()
    }

    /// What says whose call it is: equal for two calls only if they are of the same caller, or of callers that nobody can tell
    /// apart.
    pub(crate) fn caller(&self) -> String {
        let arrival = &self.round().arrival;
        match (&arrival.principal, &arrival.memory) {
            (Some(principal), _) => format!("principal/{}", Principal::as_str(principal)),
            (None, Some(place)) => format!("place/{}", place.key()),
            (None, None) => String::new(),
        }
    }

    /// What the request had in `_meta`.
    pub(crate) fn meta(&self) -> Option<Settings> {
        self.round().facts.meta.as_ref()?.decode().ok()
    }

    /// Which log messages the caller wants to hear.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        let Round { facts, arrival, .. } = self.round();
        facts.threshold.least().filter(|_| arrival.outbound.is_open())
    }

    /// Tells of progress, whose token becomes the caller's own.
    pub(crate) async fn tell_progress(&self, mut progress: Progress) {
        let Round { facts, arrival, told, .. } = self.round();
        let token = facts.progress_token.as_ref().and_then(|token| token.decode::<Id>().ok());
        let Some(token) = token.filter(|_| arrival.outbound.is_open() && !self.0.is_cancelled()) else {
            return;
        };
        if is_more(told, &progress.progress) {
            progress.progress_token = token;
            arrival.outbound.tell(facts.peer.version, &Notification::Progress(progress)).await;
        }
    }

    /// Passes a log message on, if the caller wants to hear it.
    pub(crate) async fn tell_log(&self, message: LogMessage) {
        if self.0.log().is_wanted(message.level) {
            let Round { facts, arrival, .. } = self.round();
            arrival.outbound.tell(facts.peer.version, &Notification::LogMessage(message)).await;
        }
    }

    /// What the caller can be asked here.
    pub(crate) fn can_be_asked(&self) -> ClientCapabilities {
        let facts = &self.round().facts;
        let mut can = ClientCapabilities::new();
        if matches!(facts.asking.way, Way::Live(_) | Way::Again) {
            let ClientCapabilities { sampling, elicitation, roots, .. } = &facts.peer.capabilities;
            can.sampling.clone_from(sampling);
            can.elicitation.clone_from(elicitation);
            can.roots.clone_from(roots);
        }
        can
    }

    /// Whether the call goes on here while the caller is asked; else the caller calls again.
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self.round().facts.asking.way, Way::Live(_))
    }

    /// How long the caller may take to answer.
    pub(crate) fn question_timeout(&self) -> Duration {
        self.round().server.inner.question_timeout
    }

    /// Asks, as soon as the handler ends. The answer is among the [answers](Self::answers) when it runs again.
    pub(crate) fn ask(&self, key: String, question: InputRequest) -> Result<(), AskError> {
        self.round().ask_as_told(key, question)
    }

    /// Whether the caller can be asked this, and why not.
    pub(crate) fn check_askable(&self, question: &InputRequest) -> Result<(), AskError> {
        self.round().check_askable(question)
    }

    /// The answers that came with this run, by the keys of their questions.
    pub(crate) fn answers(&self) -> Option<&BTreeMap<String, Result<RawJson, AskError>>> {
        self.round().answers()
    }

    /// What the last run left: what travels, and what was kept here.
    pub(crate) fn left(&self) -> (Option<RawJson>, Option<Arc<dyn Any + Send + Sync>>) {
        self.round().left()
    }

    /// Leaves something to the next run. What is held ends with the call, if it [goes on](Self::goes_on) here.
    pub(crate) fn leave(
        &self,
        note: RawJson,
        held: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Result<(), AskError> {
        self.round().leave(note, held)
    }

    /// The call itself.
    pub(crate) fn ctx(&self) -> &Ctx {
        &self.0
    }
}
