//! Does a call have the same result in both eras? It is made once in each, one after the other, with connections of their
//! own, and the library compares the results.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use toolway::client::record::{Direction, FrameBody, Recorder};
use toolway::types::OrderedMap;
use toolway::{Era, ProtocolVersion, RawJson};

use super::call_request::{CallKind, KeptAnswer};
use super::calls::{Call, CallTarget, Calls};
use super::difference::{Difference, differences};
use super::event_log::EventLog;
use super::frame_lines::describe_all;
use super::live_server::LiveServer;
use super::object::object;
use super::server::InspectedServer;
use super::spawn::spawn;
use super::web::Refusal;
use crate::failure::Failure;
use crate::location::CLOSE_TIMEOUT;

/// How many comparisons are kept.
const MAX_KEPT: usize = 50;

/// The parts of a result that are compared.
const PARTS: [&str; 4] = ["content", "structuredContent", "isError", "_meta"];

/// The prefix of members of `_meta` that belong to the protocol. They differ between the eras.
const PROTOCOL_PREFIX: &str = "io.modelcontextprotocol/";

pub(super) struct Comparisons {
    events: Arc<EventLog>,
    next: AtomicU64,
    kept: Mutex<VecDeque<Arc<Comparison>>>,
}

pub(super) struct Comparison {
    id: u64,
    state: Mutex<ComparisonState>,
}

#[derive(Default)]
struct ComparisonState {
    is_done: bool,
    sides: Vec<Side>,
    verdict: Option<Value>,
    error: Option<Value>,
}

struct Side {
    revision: &'static str,
    era: &'static str,
    recorder: Recorder,
    call: Option<Arc<Call>>,
}

impl Comparisons {
    pub(super) fn new(events: Arc<EventLog>) -> Self {
        Self { events, next: AtomicU64::new(1), kept: Mutex::default() }
    }

    pub(super) fn get(&self, id: u64) -> Result<Arc<Comparison>, Refusal> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .find(|comparison| comparison.id == id)
            .cloned()
            .ok_or_else(|| Refusal::not_found(format!("the comparison {id} is not kept any more")))
    }

    /// Returns the recorders of all connections that were made for comparisons: each has found secrets of its own.
    pub(super) fn recorders(&self) -> Vec<Recorder> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let recorders = kept.iter().flat_map(|comparison| {
            comparison.state().sides.iter().map(|side| side.recorder.clone()).collect::<Vec<_>>()
        });
        recorders.collect()
    }

    fn add(&self) -> Arc<Comparison> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let comparison = Arc::new(Comparison { id, state: Mutex::default() });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(comparison.clone());
        if kept.len() > MAX_KEPT {
            kept.pop_front();
        }
        comparison
    }

    fn tell(&self, comparison: &Comparison) {
        let name = if comparison.state().is_done { "done" } else { "running" };
        self.events.add(object! {"type": "both", "id": comparison.id, "state": name});
    }
}

impl Comparison {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    fn state(&self) -> MutexGuard<'_, ComparisonState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn describe(&self) -> Value {
        let state = self.state();
        let sides: Vec<Value> = state
            .sides
            .iter()
            .map(|side| {
                object! {
                    "revision": side.revision, "era": side.era,
                    "call": side.call.as_ref().map(|call| call.id()),
                    "summary": side.call.as_ref().map(|call| call.summary()),
                    "frames": describe_all(&side.recorder.frames(0), 0, u64::MAX),
                }
            })
            .collect();
        object! {
            "id": self.id, "state": if state.is_done { "done" } else { "running" }, "sides": sides,
            "verdict": state.verdict, "error": state.error,
        }
    }
}

/// Begins a comparison.
pub(super) fn begin(
    (calls, comparisons): (Arc<Calls>, Arc<Comparisons>),
    server: Arc<InspectedServer>,
    kind: CallKind,
    answers: Vec<KeptAnswer>,
    timeout: Option<Duration>,
) -> Result<Arc<Comparison>, Refusal> {
    server.need_live()?;
    let comparison = comparisons.add();
    let running = comparison.clone();
    spawn(Box::pin(async move {
        let parts = (&*calls, &*comparisons);
        let outcome = compare(parts, &running, &server, kind, answers, timeout).await;
        {
            let mut state = running.state();
            state.is_done = true;
            if let Err(failure) = outcome {
                state.error = Some(
                    object! {"code": failure.fault.name(), "message": failure.message, "hint": failure.hint},
                );
            }
        }
        comparisons.tell(&running);
    }));
    Ok(comparison)
}

async fn compare(
    (calls, comparisons): (&Calls, &Comparisons),
    comparison: &Arc<Comparison>,
    server: &Arc<InspectedServer>,
    kind: CallKind,
    answers: Vec<KeptAnswer>,
    timeout: Option<Duration>,
) -> Result<(), Failure> {
    let Some(live) = server.live() else { return Ok(()) };
    for version in [ProtocolVersion::LATEST_HANDSHAKE, ProtocolVersion::LATEST] {
        let recorder = Recorder::new();
        let era = if version.era() == Era::Handshake { "handshake" } else { "stateless" };
        comparison.state().sides.push(Side {
            revision: version.as_str(),
            era,
            recorder: recorder.clone(),
            call: None,
        });
        comparisons.tell(comparison);
        let side = SideCall {
            version,
            recorder,
            recorded_since_ms: comparisons.events.now_ms(),
            kind: kind.clone(),
            answers: answers.clone(),
            timeout,
        };
        side.run(calls, comparison, server, live).await?;
        comparisons.tell(comparison);
    }
    let mut state = comparison.state();
    state.verdict = Some(verdict(&state.sides));
    Ok(())
}

/// The call of one side.
struct SideCall {
    version: ProtocolVersion,
    recorder: Recorder,
    recorded_since_ms: f64,
    kind: CallKind,
    answers: Vec<KeptAnswer>,
    timeout: Option<Duration>,
}

impl SideCall {
    async fn run(
        self,
        calls: &Calls,
        comparison: &Arc<Comparison>,
        server: &Arc<InspectedServer>,
        live: &LiveServer,
    ) -> Result<(), Failure> {
        let target = live.target(&self.recorder).await?;
        let builder = live.recorded(live.builder(Some(comparison.id)), &self.recorder).protocol(self.version);
        let client = builder.connect(target).await.map_err(|error| {
            let failure = live.failure(&error);
            let message =
                format!("the server cannot be compared in both eras: {}: {}", self.version, failure.message);
            Failure { message, ..failure }
        })?;
        let target = CallTarget {
            server: server.id(),
            recorder: self.recorder,
            recorded_since_ms: self.recorded_since_ms,
        };
        let begun = calls.begin(target, self.kind, self.answers, Some(comparison.id));
        if let Ok(call) = begun {
            if let Some(side) = comparison.state().sides.last_mut() {
                side.call = Some(call.clone());
            }
            call.run(client.clone(), self.timeout).await;
        }
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()).await;
        Ok(())
    }
}

fn verdict(sides: &[Side]) -> Value {
    let result = |side: &Side| side.call.as_ref().and_then(|call| call.result());
    let [left, right] = sides else { return Value::Null };
    let (left_result, right_result) = (result(left), result(right));
    let parts: Vec<Value> = PARTS
        .iter()
        .map(|name| {
            let part = |result: &Option<RawJson>| result.as_ref().and_then(|result| part_of(result, name));
            let found = differences(part(&left_result).as_ref(), part(&right_result).as_ref());
            let found: Vec<Value> = found.iter().map(Difference::to_json).collect();
            object! {"name": name, "equal": found.is_empty(), "differences": found}
        })
        .collect();
    let both = left_result.is_some() == right_result.is_some();
    let is_equal = both && parts.iter().all(|part| part["equal"] == true);
    object! {
        "equal": is_equal, "parts": parts,
        "rounds": [object! {"left": questions(left), "right": questions(right)}],
    }
}

/// Returns a part of a result, without what belongs to the protocol.
fn part_of(result: &RawJson, name: &str) -> Option<RawJson> {
    let OrderedMap(members) = result.decode::<OrderedMap<RawJson>>().ok()?;
    let (_, part) = members.into_iter().find(|(known, _)| known == name)?;
    if name != "_meta" {
        return Some(part);
    }
    let OrderedMap(mut members) = part.decode::<OrderedMap<RawJson>>().ok()?;
    members.retain(|(name, _)| !name.starts_with(PROTOCOL_PREFIX));
    (!members.is_empty()).then(|| RawJson::from_value(&OrderedMap(members)).ok())?
}

/// Returns what the server has asked on one side, in order.
fn questions(side: &Side) -> Vec<String> {
    let asked = side.recorder.frames(0).into_iter().filter_map(|frame| {
        let FrameBody::Json(text) = &frame.body else { return None };
        if frame.direction != Direction::In {
            return None;
        }
        let value: Value = text.decode().ok()?;
        if value["result"]["resultType"] == "input_required" {
            return Some("input_required".to_owned());
        }
        let method = value["method"].as_str()?;
        let is_question = value.get("id").is_some()
            && matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list");
        is_question.then(|| method.to_owned())
    });
    asked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_protocol_is_not_compared() {
        let result =
            RawJson::parse(r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{},"mine":1},"content":[]}"#)
                .unwrap();
        assert_eq!(part_of(&result, "_meta").unwrap().as_str(), r#"{"mine":1}"#);
        assert_eq!(part_of(&result, "content").unwrap().as_str(), "[]");
        assert_eq!(part_of(&result, "isError"), None);
    }
}
