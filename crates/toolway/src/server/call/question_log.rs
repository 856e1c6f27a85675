//! What was asked, answered and done in one run of a function?

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::types::InputRequest;
use toolway_protocol::{ProtocolVersion, RawJson};

use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::ground::outbound::Outbound;
use crate::server::call::replay::{Held, MAX_PAST, Past, Taken, size, too_large};
use crate::server::failure::ask::AskError;

/// The data about the questions of a call. The protocol revision determines how the client is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    pub(crate) way: Way,
    /// The state from earlier runs of the function.
    pub(crate) past: Option<Arc<Past>>,
    /// The new answers that this run was started with, or the errors of their questions.
    pub(crate) fresh: Option<Arc<Answers>>,
}

/// The way in which a question reaches the client.
#[derive(Debug, Clone, Default)]
pub(crate) enum Way {
    /// Questions are not allowed in this kind of request.
    #[default]
    NotHere,
    /// The client cannot be reached while a call runs.
    Nobody,
    /// The client is asked while the call runs.
    Live(Arc<dyn Asker>),
    /// The client calls again with the answers.
    Again,
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

/// The questions and effects of one run so far.
#[derive(Debug, Default)]
pub(crate) struct Asked(pub(super) Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// The digest of every question by its key.
    pub(super) seen: BTreeMap<String, u64>,
    /// The questions without an answer.
    pub(super) open: Vec<(String, InputRequest)>,
    /// The digests of the forms of the open questions, by key.
    pub(super) forms: BTreeMap<String, u64>,
    pub(super) taken: BTreeMap<String, Taken>,
    pub(super) failed: BTreeMap<String, AskError>,
    pub(super) effects: BTreeMap<String, RawJson>,
    /// The size in bytes of the answers and results for the next run, with their keys; at most [`MAX_PAST`].
    pub(super) size: usize,
    /// Digests of log messages of earlier runs that this run has not repeated yet; `None` until the first message.
    pub(super) unmet: Option<Vec<u64>>,
    /// Digests of the log messages of this run, including those that an earlier run has sent.
    pub(super) said: Vec<u64>,
    /// Digests of log messages of effects that have no result yet, by the keys of the effects.
    pub(super) said_in_vain: BTreeMap<String, Vec<u64>>,
    /// The state that is passed to the next run.
    pub(super) left: Option<RawJson>,
    pub(super) held: Option<Held>,
}

impl Asked {
    /// Returns whether a question has no answer. The run then ends with the question, whatever the function returns.
    pub(crate) fn is_open(&self) -> bool {
        !self.0.lock().open.is_empty()
    }

    pub(super) fn take(&self, key: &str, taken: Taken, past: Option<&Past>) -> Result<(), AskError> {
        let mut state = self.0.lock();
        if state.taken.contains_key(key) {
            return Ok(());
        }
        state.grow(size(key) + taken.answer.as_bytes().len(), past)?;
        state.taken.insert(key.to_owned(), taken);
        Ok(())
    }
}

impl State {
    /// Attributes log messages from now on to an effect. Returns the messages of the surrounding function, which
    /// [`say_again`](Self::say_again) restores.
    pub(super) fn say_apart(&mut self, key: &str) -> Vec<u64> {
        let inside = self.said_in_vain.remove(key).unwrap_or_default();
        std::mem::replace(&mut self.said, inside)
    }

    pub(super) fn say_again(&mut self, key: &str, around: Vec<u64>) {
        let inside = std::mem::replace(&mut self.said, around);
        if !inside.is_empty() {
            self.said_in_vain.insert(key.to_owned(), inside);
        }
    }

    /// Reserves space for more state. Fails if the limit is exceeded.
    pub(super) fn grow(&mut self, more: usize, past: Option<&Past>) -> Result<(), AskError> {
        if self.size == 0 {
            self.size = past.map_or(0, Past::size);
        }
        let size = self.size + more;
        if size > MAX_PAST {
            return Err(too_large());
        }
        self.size = size;
        Ok(())
    }
}
