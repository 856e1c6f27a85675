//! How does a run ask, and how does it find earlier answers and effects?

use std::future::poll_fn;
use std::hash::Hasher;
use std::pin::pin;

use siphasher::sip::SipHasher13;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::era::questions::missing_capabilities;
use toolway_protocol::json::{Encode, Encoder};
use toolway_protocol::types::{Elicit, InputRequest, InputResponse};
use toolway_protocol::{ProtocolVersion, RawJson};

use crate::server::call::question_log::{AskMode, QuestionContext};
use crate::server::call::replay::{MAX_ROUNDS, ReplayState, UsedAnswer, key_size};
use crate::server::call::scope::Scope;
use crate::server::failure::ask::{AskError, AskErrorKind};

impl Scope {
    /// Returns the answer to a question, if there is one. `read` converts the answer to the function's type, and
    /// refuses an invalid answer.
    pub(crate) fn find_answer<T>(
        &self,
        key: &str,
        question: &InputRequest,
        read: impl FnOnce(InputResponse) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let peer = &self.arrival().peer;
        self.check_can_ask(key)?;
        self.check_supported(question)?;
        let QuestionContext { replay: past, new_answers: fresh, .. } = &self.arrival().questions;
        let past = past.as_deref();
        let (form, whole) = digests(peer.version, question);
        let mut state = self.question_log().state();
        match state.question_digests.get(key) {
            None => drop(state.question_digests.insert(key.to_owned(), whole)),
            Some(seen) if *seen == whole => {}
            Some(_) => {
                let text =
                    format!("two different questions have the key `{key}`: give one of them another key");
                return Err(AskError::new(AskErrorKind::InvalidKey, text));
            }
        }
        if let Some(taken) = past.and_then(|past| past.answers.get(key)).filter(|taken| taken.form == form) {
            let answer = taken.answer.clone();
            drop(state);
            return decode(key, question, &answer).and_then(read);
        }
        if let Some(failure) = past.and_then(|past| past.failed.get(key)) {
            return Err(failure.clone());
        }
        // A question that was asked with another form must be asked again.
        let is_asked = past.and_then(|past| past.asked.get(key)).is_none_or(|asked| *asked == form);
        match fresh.as_ref().and_then(|fresh| fresh.get(key)).filter(|_| is_asked) {
            Some(Ok(answer)) => {
                drop(state);
                // A refusal or an invalid answer is stored too: a function that continues with another question has
                // handled this one, and must find the same answer when it runs again.
                self.question_log().record_answer(key, UsedAnswer { form, answer: answer.clone() }, past)?;
                decode(key, question, answer).and_then(read)
            }
            Some(Err(failure)) => {
                state.failures.insert(key.to_owned(), failure.clone());
                Err(failure.clone())
            }
            None => {
                check_rounds(past)?;
                // A client gets a limited number of questions at once. The remaining ones are asked in the next run.
                if state.open.len() < MAX_OPEN_QUESTIONS && !state.form_digests.contains_key(key) {
                    state.reserve(key_size(key), past)?;
                    state.form_digests.insert(key.to_owned(), form);
                    state.open.push((key.to_owned(), question.clone()));
                }
                Err(AskError::new(
                    AskErrorKind::Unanswered,
                    format!("the question `{key}` has no answer yet"),
                ))
            }
        }
    }

    pub(super) fn check_supported(&self, question: &InputRequest) -> Result<(), AskError> {
        let peer = &self.arrival().peer;
        let Some(required) = missing_capabilities(peer.version, &peer.capabilities, question) else {
            return Ok(());
        };
        let text = format!("the client cannot be asked: it does not support {}", required_support(question));
        Err(AskError::unsupported(required, text))
    }

    fn check_can_ask(&self, key: &str) -> Result<(), AskError> {
        self.check_ask_mode()?;
        check_key(key)
    }

    pub(super) fn check_ask_mode(&self) -> Result<(), AskError> {
        match self.arrival().questions.mode {
            AskMode::NotAllowed => {
                let text =
                    "only the handler of a tool, a prompt or a resource may ask, and only during its call";
                return Err(AskError::new(AskErrorKind::NotAllowed, text));
            }
            AskMode::Unreachable => {
                let text =
                    "the client cannot be asked: the connection does not carry questions during a call";
                return Err(AskError::unsupported(ClientCapabilities::default(), text));
            }
            AskMode::Live(_) | AskMode::NextCall => {}
        }
        if self.is_over() {
            return Err(AskError::new(AskErrorKind::Ended, "the call that this question belongs to is over"));
        }
        Ok(())
    }

    /// Returns the result of an effect that was done before.
    pub(crate) fn effect_result(&self, key: &str) -> Result<Option<RawJson>, AskError> {
        check_key(key)?;
        let past = self.arrival().questions.replay.as_deref();
        if let Some(result) = past.and_then(|past| past.effects.get(key)) {
            return Ok(Some(result.clone()));
        }
        Ok(self.question_log().state().effects.get(key).cloned())
    }

    /// Remembers the result of an effect.
    pub(crate) fn record_effect(&self, key: String, result: RawJson) -> Result<(), AskError> {
        let past = self.arrival().questions.replay.as_deref();
        let mut state = self.question_log().state();
        state.reserve(key_size(&key) + result.as_bytes().len(), past)?;
        // The effect is not repeated, so its log messages will not be repeated either.
        state.effect_logs.remove(&key);
        state.effects.insert(key, result);
        Ok(())
    }

    /// Runs an effect, and records its log messages separately from those of the surrounding function.
    pub(crate) async fn run_effect<F: Future>(&self, key: &str, effect: F) -> F::Output {
        let mut effect = pin!(effect);
        poll_fn(|cx| {
            let around = self.question_log().state().enter_effect(key);
            let polled = effect.as_mut().poll(cx);
            self.question_log().state().exit_effect(key, around);
            polled
        })
        .await
    }

    /// Returns `true` if no earlier run has sent this log message, and remembers the message.
    pub(crate) fn record_log(&self, message: &impl serde::Serialize) -> bool {
        let QuestionContext { mode: way, replay: past, .. } = &self.arrival().questions;
        if matches!(way, AskMode::NotAllowed | AskMode::Unreachable) {
            return true;
        }
        let text = serde_json::to_vec(message).unwrap_or_default();
        let digest = digest(&text);
        let mut state = self.question_log().state();
        // The number of remembered messages is limited.
        if state.logs.len() < MAX_RUN_LOGS {
            state.logs.push(digest);
        }
        let unmet = state
            .earlier_logs
            .get_or_insert_with(|| past.as_ref().map_or(Vec::new(), |past| past.logs().to_vec()));
        let met = unmet.iter().position(|known| *known == digest);
        met.map(|place| unmet.swap_remove(place)).is_none()
    }

    /// Returns the open questions of the run and the state for the next run; `None` if no question is open.
    pub(crate) fn take_questions(&self) -> Option<(Vec<(String, InputRequest)>, ReplayState)> {
        let state = self.question_log().take_state().filter(|state| !state.open.is_empty())?;
        let mut past = self.arrival().questions.replay.as_deref().cloned().unwrap_or_default();
        past.rounds += 1;
        past.answers.extend(state.answers);
        past.effects.extend(state.effects);
        past.failed.extend(state.failures);
        past.asked = state.form_digests;
        past.left = state.carried_state;
        past.held = state.held;
        let unmet = state.earlier_logs.unwrap_or_else(|| past.logs().to_vec());
        past.set_logs(unmet.into_iter().chain(state.effect_logs.into_values().flatten()).chain(state.logs));
        past.set_last_progress(*self.last_progress().lock());
        Some((state.open, past))
    }
}

pub(super) fn check_rounds(past: Option<&ReplayState>) -> Result<(), AskError> {
    if past.is_some_and(|past| past.rounds >= MAX_ROUNDS) {
        let text = format!("this call has asked in {MAX_ROUNDS} rounds, which is the maximum");
        return Err(AskError::new(AskErrorKind::TooManyRounds, text));
    }
    Ok(())
}

fn check_key(key: &str) -> Result<(), AskError> {
    if key.is_empty() || key.len() > MAX_KEY {
        let text = format!("a key must have 1 to {MAX_KEY} bytes, this one has {}", key.len());
        return Err(AskError::new(AskErrorKind::InvalidKey, text));
    }
    Ok(())
}

/// Reads an answer according to the kind of its question.
fn decode(key: &str, question: &InputRequest, answer: &RawJson) -> Result<InputResponse, AskError> {
    InputResponse::decode(question, answer).map_err(|error| {
        let text = format!(
            "the answer to `{key}` is malformed: {}",
            toolway_protocol::json::message_without_position(&error)
        );
        AskError::new(AskErrorKind::Invalid, text)
    })
}

fn required_support(question: &InputRequest) -> &'static str {
    match question {
        InputRequest::Elicit(Elicit::Form(_)) => "such forms for its user (elicitation)",
        InputRequest::Elicit(Elicit::Url(_)) => "web pages for its user (elicitation by URL)",
        InputRequest::CreateMessage(_) => "questions to its model (sampling)",
        InputRequest::ListRoots(_) => "roots",
    }
}

/// Returns two digests: of the form that an answer must match, and of the whole question.
fn digests(version: ProtocolVersion, question: &InputRequest) -> (u64, u64) {
    let mut whole = Vec::new();
    question.encode(&mut Encoder::new(&mut whole, version));
    let form = if let InputRequest::Elicit(Elicit::Form(form)) = question {
        let mut schema = Vec::new();
        // Always encoded in the latest revision, so that the digest stays the same if the client calls again with
        // another revision.
        form.requested_schema.encode(&mut Encoder::new(&mut schema, ProtocolVersion::LATEST));
        digest(&schema)
    } else {
        // The texts and URLs of a question may change in each run; whether an answer is valid does not depend on them.
        digest(question.method().name().as_bytes())
    };
    (form, digest(&whole))
}

/// Returns a digest that is the same on every machine. It is only used to compare texts. It does not protect against
/// forgery; the encryption of the state does.
fn digest(text: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(text);
    hasher.finish()
}

/// The maximum length of the key of a question or an effect, in bytes.
const MAX_KEY: usize = 256;

/// The maximum number of questions that a client gets at once.
pub(super) const MAX_OPEN_QUESTIONS: usize = 32;

/// The maximum number of log messages of one run that are remembered.
const MAX_RUN_LOGS: usize = 256;
