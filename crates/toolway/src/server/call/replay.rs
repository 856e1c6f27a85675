//! Which state does one run of a handler pass to the next run of the same call?
//!
//! A call that asks questions runs in rounds: each round ends with questions, and the next one starts with the answers.
//! In 2026-07-28 the state is encrypted, sent to the client, and sent back with the answers. In earlier revisions it
//! never leaves the server. Member names are short to save space.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_protocol::RawJson;

use crate::server::failure::ask::{AskError, AskErrorKind};

/// The maximum number of rounds of a call.
pub(crate) const MAX_ROUNDS: u8 = 10;
/// The maximum size in bytes of the answers and results of a call. The whole state, encrypted and encoded, then has at
/// most 64 KiB.
pub(crate) const MAX_REPLAY_SIZE: usize = 42 * 1024;
/// The maximum number of log messages that are remembered, so that they are not sent again.
const MAX_LOGS: usize = 256;
/// An upper bound for the bytes around each remembered item: quotes, colons, the digest of a form.
const ITEM_OVERHEAD: usize = 48;

/// The state of a call after its rounds so far.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct ReplayState {
    /// The number of rounds.
    #[serde(rename = "r")]
    pub(crate) rounds: u8,
    /// The answers, by the keys of their questions.
    #[serde(rename = "a", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) answers: BTreeMap<String, UsedAnswer>,
    /// The results of effects that are done once, by their keys.
    #[serde(rename = "e", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) effects: BTreeMap<String, RawJson>,
    /// The last progress that was reported.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    told: Option<f64>,
    /// The questions that the last round ended with, and the digests of their forms.
    #[serde(rename = "q", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) asked: BTreeMap<String, u64>,
    /// The digests of log messages that were sent.
    #[serde(rename = "l", default, skip_serializing_if = "Vec::is_empty")]
    logs: Vec<u64>,
    /// The errors of questions that will not get an answer. They are not sent to the client: a client that calls again
    /// has answered.
    #[serde(skip)]
    pub(crate) failed: BTreeMap<String, AskError>,
    /// The state of a handler that continues where the last run ended instead of starting again from its beginning.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<RawJson>,
    /// State that the last run keeps in memory for the next run of the same call on this server. It is dropped with the
    /// call, and is not sent to the client.
    #[serde(skip)]
    pub(crate) held: Option<HeldState>,
}

/// A value that is kept while a client is asked.
pub(crate) type HeldState = Arc<dyn Any + Send + Sync>;

impl fmt::Debug for ReplayState {
    /// Shows none of the answers, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rounds, is_held) = (&self.rounds, self.held.is_some());
        f.debug_struct("ReplayState")
            .field("rounds", rounds)
            .field("is_held", &is_held)
            .finish_non_exhaustive()
    }
}

/// An answer that a run has used. It may be a refusal or invalid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct UsedAnswer {
    /// The digest of the form that was answered.
    #[serde(rename = "d")]
    pub(crate) form: u64,
    #[serde(rename = "v")]
    pub(crate) answer: RawJson,
}

impl ReplayState {
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Returns the state as JSON, to be encrypted and sent to the client.
    pub(crate) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns the size of the answers and results in bytes.
    pub(crate) fn size(&self) -> usize {
        let answers = self.answers.iter().map(|(key, taken)| key_size(key) + taken.answer.as_bytes().len());
        let effects = self.effects.iter().map(|(key, result)| key_size(key) + result.as_bytes().len());
        answers.chain(effects).sum()
    }

    /// Returns the number of rounds.
    pub(crate) fn rounds(&self) -> u8 {
        self.rounds
    }

    /// Returns the last progress that was reported.
    pub(crate) fn last_progress(&self) -> Option<f64> {
        self.told
    }

    pub(crate) fn set_last_progress(&mut self, told: f64) {
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

/// Returns the size of a key and its overhead. The key is measured as JSON, because escapes may make it longer.
pub(crate) fn key_size(key: &str) -> usize {
    serde_json::to_string(key).map_or(key.len(), |text| text.len()) + ITEM_OVERHEAD
}

pub(crate) fn too_large_error() -> AskError {
    AskError::new(
        AskErrorKind::TooLarge,
        format!(
            "the answers and the results of `once` that this call has to remember take more than {} KiB: let `once` keep less, \
             such as the key under which the rest can be found",
            MAX_REPLAY_SIZE / 1024
        ),
    )
}
