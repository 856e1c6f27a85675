//! What do the rounds of a call leave to the next one?
//!
//! In the stateless era this travels to the client and back, sealed; in the handshake era it never leaves the server. Names are
//! short, because there is little room.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_protocol::RawJson;

use crate::server::failure::ask::{AskError, AskErrorKind};

/// How often a call may ask.
pub(crate) const MAX_ROUNDS: u8 = 10;
/// How much the answers and results of a call may take: with the rest, sealed and as text, it is at most 64 KiB then.
pub(crate) const MAX_PAST: usize = 42 * 1024;
/// How many log messages are remembered, so that they are not sent again.
const MAX_LOGS: usize = 256;
/// What stands around each thing that is remembered: quotes, colons, the digest of a form.
const OVERHEAD: usize = 48;

/// What happened so far.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Past {
    /// How many rounds there were.
    #[serde(rename = "r")]
    pub(crate) rounds: u8,
    /// The answers, by the keys of their questions.
    #[serde(rename = "a", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) answers: BTreeMap<String, Taken>,
    /// The results of what is done once.
    #[serde(rename = "e", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) effects: BTreeMap<String, RawJson>,
    /// The last progress that was told.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    told: Option<f64>,
    /// The questions that the last round ended in, and which forms they had.
    #[serde(rename = "q", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) asked: BTreeMap<String, u64>,
    /// Log messages that were sent.
    #[serde(rename = "l", default, skip_serializing_if = "Vec::is_empty")]
    logs: Vec<u64>,
    /// Questions that have no answer and will not get one. They need no place in what travels: a client that calls again has
    /// answered.
    #[serde(skip)]
    pub(crate) failed: BTreeMap<String, AskError>,
    /// What the last run left, for handlers that do not run from their beginning.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<RawJson>,
    /// What it left to the next run of the same call, if that is here. It ends with the call, and does not travel.
    #[serde(skip)]
    pub(crate) held: Option<Held>,
}

/// Something that is kept while a client is asked.
pub(crate) type Held = Arc<dyn Any + Send + Sync>;

impl fmt::Debug for Past {
    /// Shows nothing of what was answered.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rounds, is_held) = (&self.rounds, self.held.is_some());
        f.debug_struct("Past").field("rounds", rounds).field("is_held", &is_held).finish_non_exhaustive()
    }
}

/// An answer that was taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Which form it is an answer to.
    #[serde(rename = "d")]
    pub(crate) form: u64,
    #[serde(rename = "v")]
    pub(crate) answer: RawJson,
}

impl Past {
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// The text that travels.
    pub(crate) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// How much of it answers and results take.
    pub(crate) fn size(&self) -> usize {
        let answers = self.answers.iter().map(|(key, taken)| size(key) + taken.answer.as_bytes().len());
        let effects = self.effects.iter().map(|(key, result)| size(key) + result.as_bytes().len());
        answers.chain(effects).sum()
    }

    /// How many rounds there were.
    pub(crate) fn rounds(&self) -> u8 {
        self.rounds
    }

    /// The last progress that was told.
    pub(crate) fn told(&self) -> Option<f64> {
        self.told
    }

    pub(crate) fn set_told(&mut self, told: f64) {
        self.told = told.is_finite().then_some(told);
    }

    pub(crate) fn logs(&self) -> &[u64] {
        &self.logs
    }

    pub(crate) fn set_logs(&mut self, said: impl Iterator<Item = u64>) {
        self.logs = said.collect();
        let excess = self.logs.len().saturating_sub(MAX_LOGS);
        self.logs.drain(..excess);
    }
}

/// How much a key takes, and what stands around it. What looks short may be long as text.
pub(crate) fn size(key: &str) -> usize {
    serde_json::to_string(key).map_or(key.len(), |text| text.len()) + OVERHEAD
}

pub(crate) fn too_large() -> AskError {
    AskError::new(
        AskErrorKind::TooLarge,
        format!(
            "the answers and the results of `once` that this call has to remember take more than {} KiB: let `once` keep less, \
             such as the key under which the rest can be found",
            MAX_PAST / 1024
        ),
    )
}
