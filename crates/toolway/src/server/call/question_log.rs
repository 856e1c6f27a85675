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

/// What an era knows about the questions of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    pub(crate) way: Way,
    /// What earlier rounds left.
    pub(crate) past: Option<Arc<Past>>,
    /// The answers that came with this round, or why there is none.
    pub(crate) fresh: Option<Arc<Answers>>,
}

/// How a question gets to the client.
#[derive(Debug, Clone, Default)]
pub(crate) enum Way {
    /// Nothing is asked in this place.
    #[default]
    NotHere,
    /// There is none.
    Nobody,
    /// The client is asked while the call runs.
    Live(Arc<dyn Asker>),
    /// The client calls again with the answers.
    Again,
}

/// Answers by the keys of their questions, or why there is none.
pub(crate) type Answers = BTreeMap<String, Result<RawJson, AskError>>;

/// Something that asks the client while a call runs.
pub(crate) trait Asker: std::fmt::Debug + Send + Sync {
    /// Asks all questions at once, and waits for every answer.
    fn ask<'a>(
        &'a self,
        version: ProtocolVersion,
        outbound: &'a Outbound,
        questions: Vec<(String, InputRequest)>,
        within: Duration,
    ) -> BoxFuture<'a, Answers>;
}

/// What one run has asked and done so far.
#[derive(Debug, Default)]
pub(crate) struct Asked(pub(super) Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// Every question by its key, with a digest of all of it.
    pub(super) seen: BTreeMap<String, u64>,
    /// Those that have no answer yet.
    pub(super) open: Vec<(String, InputRequest)>,
    /// Which forms they have.
    pub(super) forms: BTreeMap<String, u64>,
    pub(super) taken: BTreeMap<String, Taken>,
    pub(super) failed: BTreeMap<String, AskError>,
    pub(super) effects: BTreeMap<String, RawJson>,
    /// How much all of that takes.
    pub(super) size: usize,
    /// Log messages of earlier rounds that were not met again; nothing, while nothing was said.
    pub(super) unmet: Option<Vec<u64>>,
    /// Log messages of this run, those that were sent before as well.
    pub(super) said: Vec<u64>,
    /// Those of effects that have not come to a result, by their keys.
    pub(super) said_in_vain: BTreeMap<String, Vec<u64>>,
    /// What is left to the next run.
    pub(super) left: Option<RawJson>,
    pub(super) held: Option<Held>,
}

impl Asked {
    /// Whether a question has no answer: then the run ends in it, whatever the function does.
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
    /// What is said from now on belongs to an effect. Returns what was said around it.
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

    /// Makes room for something more to remember.
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
