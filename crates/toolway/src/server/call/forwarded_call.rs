//! What can a handler do that forwards its call to another server?
//!
//! Messages and questions of the other server are passed on unchanged. [`ForwardedCall`] also provides what the other
//! server must know: the `_meta` of the caller's request, the questions that the caller supports, and the messages that
//! the caller requested.

use std::time::Duration;

use toolway_protocol::capability::{ClientCapabilities, JsonObject};
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{Id, Notification, RawJson};

use crate::server::call::context::{Ctx, advance_progress};
use crate::server::call::principal::Principal;
use crate::server::call::question_log::{Answers, AskMode};
use crate::server::call::questions::{MAX_OPEN_QUESTIONS, check_rounds};
use crate::server::call::replay::{HeldState, key_size};
use crate::server::call::scope::Scope;
use crate::server::failure::ask::{AskError, AskErrorKind};

/// The `_meta` of a request.
pub(crate) struct RequestMeta(pub(crate) Option<RawJson>);

/// The context of a call that is forwarded.
#[derive(Clone)]
pub(crate) struct ForwardedCall(Ctx);

impl ForwardedCall {
    pub(crate) fn new(scope: &Scope) -> Self {
        Self(Ctx::of(scope))
    }

    pub(crate) fn from_ctx(ctx: Ctx) -> Self {
        Self(ctx)
    }

    fn scope(&self) -> &Scope {
        self.0.scope()
    }

    /// Returns a key for the caller. Two calls have the same key only if they come from the same caller, or from
    /// callers that the server cannot distinguish.
    pub(crate) fn caller_key(&self) -> String {
        let arrival = self.scope().arrival();
        match (&arrival.principal, &arrival.memory_record) {
            (Some(principal), _) => format!("principal/{}", Principal::as_str(principal)),
            (None, Some(place)) => format!("place/{}", place.key),
            (None, None) => String::new(),
        }
    }

    /// Returns the caller's principal.
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.scope().principal()
    }

    /// Returns the `_meta` of the request.
    pub(crate) fn meta(&self) -> Option<JsonObject> {
        self.0.get::<RequestMeta>()?.0.as_ref()?.decode().ok()
    }

    /// Returns the lowest level of log messages that the caller requested.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        let arrival = self.scope().arrival();
        arrival.threshold.min_level().filter(|_| arrival.outbound.is_open())
    }

    /// Forwards a progress notification with the caller's own token.
    pub(crate) async fn forward_progress(&self, mut progress: Progress) {
        self.scope().record_progress();
        let arrival = self.scope().arrival();
        let token = arrival.progress_token.as_ref().and_then(|token| token.decode::<Id>().ok());
        let Some(token) = token.filter(|_| arrival.outbound.is_open() && !self.0.is_cancelled()) else {
            return;
        };
        if advance_progress(self.scope().last_progress(), &progress.progress) {
            progress.progress_token = token;
            arrival.outbound.send_notification(arrival.peer.version, &Notification::Progress(progress)).await;
        }
    }

    /// Forwards a log message, if the caller requested its level.
    pub(crate) async fn forward_log(&self, message: LogMessage) {
        if self.0.log().is_enabled(message.level) {
            let arrival = self.scope().arrival();
            arrival
                .outbound
                .send_notification(arrival.peer.version, &Notification::LogMessage(message))
                .await;
        }
    }

    /// Returns the kinds of questions that the caller supports here, as capabilities.
    pub(crate) fn askable_capabilities(&self) -> ClientCapabilities {
        let arrival = self.scope().arrival();
        let mut can = ClientCapabilities::new();
        if matches!(arrival.questions.mode, AskMode::Live(_) | AskMode::NextCall) {
            let ClientCapabilities { sampling, elicitation, roots, .. } = &arrival.peer.capabilities;
            can.sampling.clone_from(sampling);
            can.elicitation.clone_from(elicitation);
            can.roots.clone_from(roots);
        }
        can
    }

    /// Returns whether the handler's call stays open on this server while the caller is asked. Otherwise the call ends,
    /// and the caller calls again with the answers.
    pub(crate) fn stays_open(&self) -> bool {
        matches!(self.scope().arrival().questions.mode, AskMode::Live(_))
    }

    /// Returns the time that the caller has to answer.
    pub(crate) fn question_timeout(&self) -> Duration {
        self.scope().server().inner.question_timeout
    }

    /// Adds a question that is sent when the handler ends. The answer is among the [answers](Self::answers) of the next
    /// run.
    pub(crate) fn ask(&self, key: String, question: InputRequest) -> Result<(), AskError> {
        self.check_askable(&question)?;
        let past = self.scope().arrival().questions.replay.as_deref();
        check_rounds(past)?;
        let mut state = self.scope().question_log().state();
        if state.open.len() >= MAX_OPEN_QUESTIONS {
            let text = format!("more than {MAX_OPEN_QUESTIONS} questions were asked at once");
            return Err(AskError::new(AskErrorKind::Busy, text));
        }
        state.reserve(key_size(&key), past)?;
        state.open.push((key, question));
        Ok(())
    }

    /// Checks that the caller can be asked this question.
    pub(crate) fn check_askable(&self, question: &InputRequest) -> Result<(), AskError> {
        self.scope().check_ask_mode()?;
        self.scope().check_supported(question)
    }

    /// Returns the answers that came with this run, by the keys of their questions.
    pub(crate) fn answers(&self) -> Option<&Answers> {
        self.scope().arrival().questions.new_answers.as_deref()
    }

    /// Returns the state that the last run left for this one: the part that is sent with the questions, and the part
    /// that is kept in memory.
    pub(crate) fn carried_state(&self) -> (Option<RawJson>, Option<HeldState>) {
        let past = self.scope().arrival().questions.replay.as_deref();
        let held = past.and_then(|past| past.held.clone());
        (past.and_then(|past| past.left.clone()), held)
    }

    /// Passes state to the next run. `held` is kept in memory until the call ends, which requires that the call
    /// [stays open](Self::stays_open); otherwise `held` is dropped at once.
    pub(crate) fn carry_state(&self, note: RawJson, held: Option<HeldState>) -> Result<(), AskError> {
        let mut state = self.scope().question_log().state();
        state.reserve(note.as_bytes().len(), self.scope().arrival().questions.replay.as_deref())?;
        state.carried_state = Some(note);
        state.held = held;
        Ok(())
    }

    pub(crate) fn ctx(&self) -> &Ctx {
        &self.0
    }
}
