//! Which calls are there, and how do they go on?

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Notify;
use toolway::client::QuestionOrigin;
use toolway::client::record::Recorder;
use toolway::types::Progress;
use toolway::{Client, Error, RawJson};

use super::call_request::{CallKind, KeptAnswer};
use super::event_log::{EventLog, millis};
use super::frame_lines;
use super::object::{SetMember, object};
use super::outcome::CallOutcome;
use super::web::Refusal;
use crate::failure::{Failure, Fault};

/// How many calls are kept.
const MAX_CALLS: usize = 1000;

/// The maximum total size in bytes of the results that are kept.
const MAX_RESULTS: usize = 64 << 20;

/// How many calls may run at a time.
const MAX_RUNNING: usize = 100;

pub(super) struct Calls {
    events: Arc<EventLog>,
    next: AtomicU64,
    kept: Mutex<VecDeque<Arc<Call>>>,
}

/// The server of a call: its number, and the frames of its connection.
#[derive(Clone)]
pub(super) struct CallTarget {
    pub(super) server: usize,
    pub(super) recorder: Recorder,
    /// When the recorder began, in milliseconds since the inspector did.
    pub(super) recorded_since_ms: f64,
}

impl CallTarget {
    fn last_frame(&self) -> u64 {
        self.recorder.frames(0).last().map_or(0, |frame| frame.number)
    }
}

/// One call.
pub(super) struct Call {
    id: u64,
    target: CallTarget,
    kind: CallKind,
    /// The comparison that the call is a part of.
    both: Option<u64>,
    answers: Vec<KeptAnswer>,
    began: Instant,
    began_ms: f64,
    events: Arc<EventLog>,
    cancelled: Notify,
    state: Mutex<CallState>,
}

#[derive(Default)]
struct CallState {
    name: &'static str,
    revision: Option<String>,
    took_ms: Option<f64>,
    /// For how long the clock has been stopped, until `asked_since_ms`.
    asked_ms: f64,
    /// Since when the clock stands still, if it does.
    asked_since_ms: Option<f64>,
    /// The open questions for which the clock stands still.
    stops: usize,
    /// Those of them that are surely questions of this call.
    open_questions: usize,
    rounds: u32,
    progress: Option<Value>,
    error: Option<Value>,
    timeout: Option<Value>,
    frames: (u64, Option<u64>),
    outcome: Option<CallOutcome>,
    /// The result of the call before to the same element.
    previous: Option<RawJson>,
}

impl Calls {
    pub(super) fn new(events: Arc<EventLog>) -> Self {
        Self { events, next: AtomicU64::new(1), kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<Call>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: u64) -> Result<Arc<Call>, Refusal> {
        self.kept()
            .iter()
            .find(|call| call.id == id)
            .cloned()
            .ok_or_else(|| Refusal::not_found(format!("the call {id} is not kept any more")))
    }

    /// Returns summaries of the calls to a server, the newest first.
    pub(super) fn summaries(&self, server: usize) -> Vec<Value> {
        self.kept()
            .iter()
            .rev()
            .filter(|call| call.target.server == server)
            .map(|call| call.summary())
            .collect()
    }

    /// Returns the calls that the question of the current callback may belong to. It is one if the wire tells which, or if
    /// only one runs on the connection: that of the server, or one made for the comparison `both`.
    pub(super) fn of_question(&self, server: usize, both: Option<u64>) -> Vec<Arc<Call>> {
        let told = QuestionOrigin::current().and_then(|origin| origin.request_tag());
        let may_ask = |call: &Arc<Call>| match told {
            Some(id) => call.id == id,
            None => {
                let is_completion = matches!(call.kind, CallKind::Complete { .. });
                call.target.server == server && call.both == both && !is_completion && call.runs()
            }
        };
        self.kept().iter().filter(|call| may_ask(call)).cloned().collect()
    }

    /// Adds a call that begins now.
    pub(super) fn begin(
        &self,
        target: CallTarget,
        kind: CallKind,
        answers: Vec<KeptAnswer>,
        both: Option<u64>,
    ) -> Result<Arc<Call>, Refusal> {
        let mut kept = self.kept();
        if kept.iter().filter(|call| call.runs()).count() >= MAX_RUNNING {
            return Err(Refusal::usage(format!("{MAX_RUNNING} calls run already; cancel some of them")));
        }
        let same = kept.iter().rev().find(|call| {
            call.target.server == target.server
                && call.both.is_none()
                && call.kind.label() == kind.label()
                && !call.runs()
        });
        let previous = same.and_then(|call| call.state().outcome.as_ref().map(CallOutcome::result));
        let call = Arc::new(Call {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            target: target.clone(),
            kind,
            both,
            answers,
            began: Instant::now(),
            began_ms: self.events.now_ms(),
            events: self.events.clone(),
            cancelled: Notify::new(),
            state: Mutex::new(CallState {
                name: "running",
                frames: (target.last_frame() + 1, None),
                previous,
                ..CallState::default()
            }),
        });
        kept.push_back(call.clone());
        while kept.len() > MAX_CALLS {
            let Some(at) = kept.iter().position(|call| !call.runs()) else { break };
            kept.remove(at);
        }
        let mut bytes = 0;
        for call in kept.iter().rev() {
            bytes += call.state().outcome.as_ref().map_or(0, CallOutcome::bytes);
            if bytes > MAX_RESULTS {
                call.state().outcome = None;
            }
        }
        drop(kept);
        call.tell();
        Ok(call)
    }
}

/// Describes an error as every command does.
fn error_json(error: &Error) -> Value {
    let failure = Failure::from_error(Fault::of(error), error);
    object! {"code": failure.fault.name(), "message": failure.message, "hint": failure.hint}
}

async fn send(call: &Arc<Call>, client: &Client, timeout: Option<Duration>) -> toolway::Result<CallOutcome> {
    let (watcher, id) = (call.clone(), call.id);
    let on_progress = move |progress: &Progress| watcher.note_progress(progress);
    match call.kind.clone() {
        CallKind::Tool { name, arguments, meta, output_schema } => {
            let mut exchange = client.call(name, arguments).tag(id).on_progress(on_progress);
            for (name, value) in meta.into_iter().flatten() {
                exchange = exchange.meta(name, value);
            }
            if let Some(limit) = timeout {
                exchange = exchange.timeout(limit);
            }
            Ok(CallOutcome::tool(exchange.await?.into_inner(), output_schema))
        }
        CallKind::Resource { uri } => {
            let mut exchange = client.read_resource(uri).tag(id).on_progress(on_progress);
            if let Some(limit) = timeout {
                exchange = exchange.timeout(limit);
            }
            exchange.await.map(CallOutcome::resource)
        }
        CallKind::Prompt { name, arguments } => {
            let mut exchange = client.get_prompt(name, arguments).tag(id).on_progress(on_progress);
            if let Some(limit) = timeout {
                exchange = exchange.timeout(limit);
            }
            exchange.await.map(CallOutcome::prompt)
        }
        CallKind::Complete { name, is_template, argument, typed, known } => {
            let exchange = if is_template {
                client.complete_resource(name, argument, typed, known)
            } else {
                client.complete_prompt(name, argument, typed, known)
            };
            exchange.await.map(CallOutcome::completion)
        }
    }
}

impl Call {
    fn state(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the call with a client until it ends or is cancelled.
    pub(super) async fn run(self: &Arc<Self>, client: Client, timeout: Option<Duration>) {
        self.state().revision = Some(client.protocol_version().as_str().to_owned());
        let outcome = tokio::select! {
            outcome = send(self, &client, timeout) => Some(outcome),
            () = self.cancelled.notified() => None,
        };
        let took = millis(self.began.elapsed());
        let timeout = match &outcome {
            Some(Err(error)) if error.is_timeout() => Some({
                let now = Duration::try_from_secs_f64(
                    (self.events.now_ms() - self.target.recorded_since_ms) / 1000.0,
                );
                frame_lines::timeout_report(&self.target.recorder.frames(0), now.unwrap_or_default())
            }),
            _ => None,
        };
        let (method, about) = self.kind.request();
        let begun = self.state().frames.0;
        // Other requests may have gone out first, such as one for the list of tools.
        let first =
            frame_lines::find_request(&self.target.recorder.frames(0), begun, method, about).unwrap_or(begun);
        {
            let mut state = self.state();
            state.start_clock(self.events.now_ms());
            // In tenths, as all times.
            state.took_ms = Some(((took - state.asked_ms).max(0.0) * 10.0).round() / 10.0);
            state.frames = (first, Some(self.target.last_frame()));
            state.timeout = timeout;
            match outcome {
                None => state.name = "cancelled",
                Some(Ok(result)) => {
                    state.name = if result.is_error() { "tool_error" } else { "ok" };
                    state.outcome = Some(result);
                }
                Some(Err(error)) => {
                    state.name = "failed";
                    state.error = Some(error_json(&error));
                }
            }
        }
        self.tell();
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn server(&self) -> usize {
        self.target.server
    }

    pub(super) fn kind(&self) -> &CallKind {
        &self.kind
    }

    pub(super) fn revision(&self) -> Option<String> {
        self.state().revision.clone()
    }

    pub(super) fn result(&self) -> Option<RawJson> {
        self.state().outcome.as_ref().map(CallOutcome::result)
    }

    /// Returns the numbers of the first and the last frame of the call.
    pub(super) fn frames(&self) -> (u64, u64) {
        let (first, last) = self.state().frames;
        (first, last.unwrap_or(u64::MAX))
    }

    pub(super) fn runs(&self) -> bool {
        matches!(self.state().name, "running" | "asking")
    }

    pub(super) fn cancel(&self) {
        self.cancelled.notify_one();
    }

    pub(super) fn kept_answer(&self, message: &str) -> Option<KeptAnswer> {
        self.answers.iter().find(|answer| answer.message == message).cloned()
    }

    /// Counts a question. Returns its number.
    pub(super) fn begin_round(&self) -> u32 {
        let mut state = self.state();
        state.rounds += 1;
        state.rounds
    }

    /// Stops the clock of the call, which asks, until the guard is dropped.
    pub(super) fn ask(self: &Arc<Self>) -> ClockGuard {
        {
            let mut state = self.state();
            state.open_questions += 1;
            state.name = "asking";
        }
        self.stop_clock(true)
    }

    /// Stops the clock of the call, which may be the one that asks, until the guard is dropped. Its time limits stand still
    /// too.
    pub(super) fn may_ask(self: &Arc<Self>) -> ClockGuard {
        self.stop_clock(false)
    }

    fn stop_clock(self: &Arc<Self>, asks: bool) -> ClockGuard {
        {
            let mut state = self.state();
            state.stops += 1;
            state.asked_since_ms.get_or_insert(self.events.now_ms());
        }
        self.tell();
        ClockGuard { call: self.clone(), asks }
    }

    fn note_progress(&self, progress: &Progress) {
        self.state().progress = Some(object! {
            "progress": progress.progress, "total": progress.total, "message": progress.message,
        });
        self.tell();
    }

    fn tell(&self) {
        self.events.add(object! {"type": "call", "server": self.target.server, "call": self.summary()});
    }

    pub(super) fn summary(&self) -> Value {
        let state = self.state();
        let (kind, name) = self.kind.label();
        object! {
            "id": self.id, "server": self.target.server, "kind": kind, "name": name, "state": state.name,
            "revision": state.revision, "began_ms": self.began_ms, "took_ms": state.took_ms, "asked_ms": state.asked_ms,
            "asked_since_ms": state.asked_since_ms,
            "rounds": state.rounds, "progress": state.progress, "error": state.error, "timeout": state.timeout,
            "bytes": state.outcome.as_ref().map_or(0, CallOutcome::bytes),
            "frames": [Some(state.frames.0), state.frames.1], "both": self.both,
        }
    }

    /// Returns everything that is known of the call.
    pub(super) fn details(&self) -> Value {
        let mut details = self.summary();
        let state = self.state();
        details.set("arguments", &self.kind.arguments());
        details.set("last", &state.previous.as_ref().map(RawJson::as_str));
        match &state.outcome {
            Some(outcome) => outcome.describe(&mut details, state.previous.as_ref()),
            None => {
                for name in ["result", "structured", "diff"] {
                    details[name] = Value::Null;
                }
                details.set("blocks", &Value::Array(Vec::new()));
                details.set("output", &object! {"state": "none", "problems": Value::Array(Vec::new())});
            }
        }
        details
    }
}

impl CallState {
    /// Counts the time for which the clock was stopped.
    fn start_clock(&mut self, now_ms: f64) {
        self.asked_ms += self.asked_since_ms.take().map_or(0.0, |since| now_ms - since);
    }
}

/// Keeps the clock of a call stopped.
pub(super) struct ClockGuard {
    call: Arc<Call>,
    /// `true` if it is certain that this call asks.
    asks: bool,
}

impl Drop for ClockGuard {
    fn drop(&mut self) {
        {
            let mut state = self.call.state();
            state.stops -= 1;
            state.open_questions -= usize::from(self.asks);
            if state.open_questions == 0 && state.name == "asking" {
                state.name = "running";
            }
            if state.stops == 0 {
                state.start_clock(self.call.events.now_ms());
            }
        }
        self.call.tell();
    }
}
