//! What was asked, answered and done in one run of a function?

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::Duration;

use toolway_protocol::types::InputRequest;
use toolway_protocol::{ProtocolVersion, RawJson};

use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::ground::outbound::Outbound;
use crate::server::call::replay::{
    HeldState, MAX_REPLAY_SIZE, ReplayState, UsedAnswer, key_size, too_large_error,
};
use crate::server::failure::ask::AskError;

/// The data about the questions of a call. The protocol revision determines how the client is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuestionContext {
    pub(crate) mode: AskMode,
    /// The state from earlier runs of the function.
    pub(crate) replay: Option<Arc<ReplayState>>,
    /// The new answers that this run was started with, or the errors of their questions.
    pub(crate) new_answers: Option<Arc<Answers>>,
}

/// The way in which a question reaches the client.
#[derive(Debug, Clone, Default)]
pub(crate) enum AskMode {
    /// Questions are not allowed in this kind of request.
    #[default]
    NotAllowed,
    /// The client cannot be reached while a call runs.
    Unreachable,
    /// The client is asked while the call runs.
    Live(Arc<dyn Asker>),
    /// The client calls again with the answers.
    NextCall,
}

/// Answers by the keys of their questions. A question that failed has an error instead of an answer.
pub(crate) type Answers = BTreeMap<String, Result<RawJson, AskError>>;

/// Asks the client while a call runs.
pub(crate) trait Asker: std::fmt::Debug + Send + Sync {
    /// Sends all questions at once, and waits for every answer.
    fn ask<'a>(
        &'a self,
        version: ProtocolVersion,
        outbound: &'a Outbound,
        questions: Vec<(String, InputRequest)>,
        within: Duration,
    ) -> BoxFuture<'a, Answers>;
}

/// The questions and effects of one run so far. The state is made when the run asks, logs, or has an effect: most runs do
/// none of these, and would only make it to drop it.
#[derive(Debug, Default)]
pub(crate) struct QuestionLog(OnceLock<Box<Mutex<QuestionLogState>>>);

#[derive(Debug, Default)]
pub(super) struct QuestionLogState {
    /// The digest of every question by its key.
    pub(super) question_digests: BTreeMap<String, u64>,
    /// The questions without an answer.
    pub(super) open: Vec<(String, InputRequest)>,
    /// The digests of the forms of the open questions, by key.
    pub(super) form_digests: BTreeMap<String, u64>,
    pub(super) answers: BTreeMap<String, UsedAnswer>,
    pub(super) failures: BTreeMap<String, AskError>,
    pub(super) effects: BTreeMap<String, RawJson>,
    /// The size in bytes of the answers and results for the next run, with their keys; at most [`MAX_REPLAY_SIZE`].
    pub(super) size: usize,
    /// Digests of log messages of earlier runs that this run has not repeated yet; `None` until the first message.
    pub(super) earlier_logs: Option<Vec<u64>>,
    /// Digests of the log messages of this run, including those that an earlier run has sent.
    pub(super) logs: Vec<u64>,
    /// Digests of log messages of effects that have no result yet, by the keys of the effects.
    pub(super) effect_logs: BTreeMap<String, Vec<u64>>,
    /// The state that is passed to the next run.
    pub(super) carried_state: Option<RawJson>,
    pub(super) held: Option<HeldState>,
}

impl QuestionLog {
    /// Returns whether a question has no answer. The run then ends with the question, whatever the function returns.
    pub(crate) fn has_open_questions(&self) -> bool {
        self.0.get().is_some_and(|state| !state.lock().open.is_empty())
    }

    /// Returns the state, to read or change it.
    pub(super) fn state(&self) -> MutexGuard<'_, QuestionLogState> {
        self.0.get_or_init(Box::default).lock()
    }

    /// Takes the state out, if there is any.
    pub(super) fn take_state(&self) -> Option<QuestionLogState> {
        self.0.get().map(|state| std::mem::take(&mut *state.lock()))
    }

    pub(super) fn record_answer(
        &self,
        key: &str,
        taken: UsedAnswer,
        past: Option<&ReplayState>,
    ) -> Result<(), AskError> {
        let mut state = self.state();
        if state.answers.contains_key(key) {
            return Ok(());
        }
        state.reserve(key_size(key) + taken.answer.as_bytes().len(), past)?;
        state.answers.insert(key.to_owned(), taken);
        Ok(())
    }
}

impl QuestionLogState {
    /// Attributes log messages from now on to an effect. Returns the messages of the surrounding function, which
    /// [`exit_effect`](Self::exit_effect) restores.
    pub(super) fn enter_effect(&mut self, key: &str) -> Vec<u64> {
        let inside = self.effect_logs.remove(key).unwrap_or_default();
        std::mem::replace(&mut self.logs, inside)
    }

    pub(super) fn exit_effect(&mut self, key: &str, around: Vec<u64>) {
        let inside = std::mem::replace(&mut self.logs, around);
        if !inside.is_empty() {
            self.effect_logs.insert(key.to_owned(), inside);
        }
    }

    /// Reserves space for more state. Fails if the limit is exceeded.
    pub(super) fn reserve(&mut self, more: usize, past: Option<&ReplayState>) -> Result<(), AskError> {
        if self.size == 0 {
            self.size = past.map_or(0, ReplayState::size);
        }
        let size = self.size + more;
        if size > MAX_REPLAY_SIZE {
            return Err(too_large_error());
        }
        self.size = size;
        Ok(())
    }
}
