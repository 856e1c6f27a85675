//! Did a run keep every promise?
//!
//! The checker sees only what was written: the history of the clients and the journal of the nodes. Each mistake that it
//! reports names its kind and the call or the session.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::client::PRINCIPALS;
use crate::history::{Fact, Record, Run, principal_of};

/// Returns the mistakes of a run.
pub(crate) fn judge(history: &[Record], journal: &[Run]) -> Verdict {
    let mut checker = Checker::default();
    for record in history {
        checker.take(record);
    }
    checker.finish(journal);
    checker.verdict
}

/// The mistakes of a run, and some numbers of it.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) mistakes: Vec<String>,
    pub(crate) calls: usize,
    pub(crate) results: usize,
    pub(crate) lost: usize,
    /// Stateless calls whose connection broke.
    pub(crate) broken: usize,
    pub(crate) cancelled: usize,
    /// Attempts that were refused because the call runs.
    pub(crate) refused: usize,
    pub(crate) resumed: usize,
    pub(crate) news: usize,
    pub(crate) deleted: usize,
    pub(crate) intrusions: usize,
    /// The longest time from the death of a node to the end of a call, in milliseconds.
    pub(crate) slowest: u64,
    pub(crate) slowest_call: String,
}

#[derive(Debug, Default)]
struct Checker {
    verdict: Verdict,
    calls: BTreeMap<String, Call>,
    /// When each node died.
    deaths: HashMap<String, Vec<u64>>,
    frozen: BTreeSet<String>,
    /// The notification streams of sessions.
    streams: HashMap<String, Stream>,
}

/// What is known of a call.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one fact about the call")]
struct Call {
    tool: String,
    is_stateless: bool,
    /// The nodes that the client was connected to.
    nodes: BTreeSet<String>,
    attempts: BTreeMap<u32, Attempt>,
    results: usize,
    /// When the client last did something that lets the call end.
    moved: u64,
    ended: Option<u64>,
    is_lost: bool,
    is_closed: bool,
    is_cancelled: bool,
    is_unended: bool,
    /// The last attempt broke.
    is_broken: bool,
}

#[derive(Debug, Default)]
struct Attempt {
    stream: Stream,
    /// The number that was reported with each event.
    progress: HashMap<String, u64>,
    last_progress: u64,
    /// The number with which the progress ends.
    total: Option<u64>,
    is_answered: bool,
}

/// The events of a stream, or of streams that continue each other.
#[derive(Debug, Default)]
struct Stream {
    texts: HashMap<String, Value>,
    /// The stream and the number of the last event.
    last: Option<(String, u64)>,
}

impl Checker {
    fn mistake(&mut self, kind: &str, about: &str) {
        self.verdict.mistakes.push(format!("{kind}: {about}"));
    }

    fn take(&mut self, record: &Record) {
        let at = record.at;
        match &record.fact {
            Fact::Killed { node } | Fact::Frozen { node } => {
                if matches!(record.fact, Fact::Frozen { .. }) {
                    self.frozen.insert(node.clone());
                }
                self.deaths.entry(node.clone()).or_default().push(at);
            }
            Fact::Sent { call, attempt, session, tool, node } => {
                let state = self.calls.entry(call.clone()).or_default();
                state.is_stateless = session.is_empty();
                state.tool.clone_from(tool);
                state.nodes.insert(node.clone());
                state.attempts.insert(*attempt, Attempt::default());
                state.is_broken = false;
                if *attempt == 0 {
                    state.moved = at;
                }
            }
            Fact::Event { call, attempt, id, message } => {
                self.check_crossing(principal_of(call), call, &message.to_string());
                self.take_event(at, call, *attempt, id.as_deref(), message);
            }
            Fact::Resumed { call, attempt, after, node, status } => {
                self.verdict.resumed += 1;
                let state = self.calls.entry(call.clone()).or_default();
                state.nodes.insert(node.clone());
                match status {
                    200 => {
                        let attempt = state.attempts.entry(*attempt).or_default();
                        attempt.stream.resume(after);
                        attempt.last_progress = attempt.progress.get(after).copied().unwrap_or_default();
                    }
                    503 => {}
                    _ => self.mistake("forgotten", &format!("{call} after {after}: {status}")),
                }
            }
            Fact::Ended { call, .. } => self.calls.entry(call.clone()).or_default().is_broken = true,
            Fact::Status { call, status: 503, .. } => {
                self.calls.entry(call.clone()).or_default().is_broken = false;
            }
            Fact::Status { call, node, status } => {
                self.mistake("status", &format!("{call} at {node}: {status}"));
            }
            Fact::Released { call } => self.calls.entry(call.clone()).or_default().moved = at,
            Fact::Cancelled { call, .. } => {
                let state = self.calls.entry(call.clone()).or_default();
                state.moved = at;
                state.is_cancelled = true;
            }
            Fact::Closed { call } => {
                let state = self.calls.entry(call.clone()).or_default();
                state.ended.get_or_insert(at);
                state.is_closed = true;
            }
            Fact::Unended { call } => self.calls.entry(call.clone()).or_default().is_unended = true,
            Fact::News { principal, session, id, message } => {
                self.verdict.news += 1;
                self.check_crossing(principal, session, &message.to_string());
                let stream = self.streams.entry(session.clone()).or_default();
                if let Some(mistake) = id.as_deref().and_then(|id| stream.take(id, message)) {
                    self.mistake(mistake, &format!("{session}, {id:?}"));
                }
            }
            Fact::NewsResumed { session, after, status, .. } => {
                let stream = self.streams.entry(session.clone()).or_default();
                match (status, after) {
                    (200, Some(after)) => stream.resume(after),
                    (200, None) => stream.last = None,
                    (400, after) => self.mistake("forgotten", &format!("{session} after {after:?}")),
                    _ => {}
                }
            }
            Fact::Untold { session, call, node } => {
                self.mistake("untold", &format!("{session} after {call} at {node}"));
            }
            Fact::Deleted { .. } => self.verdict.deleted += 1,
            Fact::Visited { session, node, status } if *status != 404 => {
                self.mistake("found after its end", &format!("{session} at {node}: {status}"));
            }
            Fact::Outlived { session } => {
                self.mistake("found after its end", &format!("the stream of {session}"));
            }
            Fact::Intruded { principal, node, status, text } => {
                self.verdict.intrusions += 1;
                self.check_crossing(principal, "an intrusion", text);
                if !matches!(status, 400 | 404 | 503) {
                    self.mistake("crossed", &format!("{principal} was let in at {node}: {status}"));
                }
            }
            Fact::Visited { .. }
            | Fact::Cut { .. }
            | Fact::Opened { .. }
            | Fact::Listening { .. }
            | Fact::StoreKilled
            | Fact::StoreListening => {}
        }
    }

    /// Checks that a text for one principal does not name the other.
    fn check_crossing(&mut self, principal: &str, place: &str, text: &str) {
        if PRINCIPALS.iter().any(|other| *other != principal && text.contains(other)) {
            self.mistake("crossed", &format!("{principal} in {place} got {text}"));
        }
    }

    fn take_event(&mut self, at: u64, call: &str, number: u32, id: Option<&str>, message: &Value) {
        let state = self.calls.entry(call.to_owned()).or_default();
        let attempt = state.attempts.entry(number).or_default();
        let mut mistakes = Vec::new();
        // A client that resumes the stream after its end gets the answer again.
        let is_again = id.is_some_and(|id| attempt.stream.texts.contains_key(id));
        mistakes.extend(id.and_then(|id| attempt.stream.take(id, message)));
        if message["method"] == "notifications/progress" {
            let progress = message["params"]["progress"].as_u64().unwrap_or_default();
            if progress > attempt.last_progress + 1 {
                mistakes.push("lost event");
            } else if progress <= attempt.last_progress {
                mistakes.push("doubled event");
            }
            attempt.last_progress = progress;
            attempt.total = message["params"]["total"].as_u64();
        }
        if let Some(id) = id {
            attempt.progress.insert(id.to_owned(), attempt.last_progress);
        }
        let field = |name| message.get(name).filter(|_| !is_again);
        let (error, result) = (field("error"), field("result"));
        let is_input = result.is_some_and(|result| result["resultType"] == "input_required");
        if is_input {
            state.moved = at;
        } else if let Some(result) = result {
            if std::mem::replace(&mut attempt.is_answered, true) {
                mistakes.push("ended twice");
            }
            state.results += 1;
            state.ended.get_or_insert(at);
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            if !text.starts_with(&format!("{call} ")) || !text.contains(principal_of(call)) {
                mistakes.push("wrong answer");
            }
            if state.tool == "tell" && attempt.total != Some(attempt.last_progress) {
                mistakes.push("lost event");
            }
        } else if let Some(error) = error {
            if std::mem::replace(&mut attempt.is_answered, true) {
                mistakes.push("ended twice");
            }
            match (error["code"].as_i64(), error["data"]["reason"].as_str()) {
                (Some(-32600), _) => self.verdict.refused += 1,
                (Some(-32603), Some("lost")) => {
                    state.ended.get_or_insert(at);
                    state.is_lost = true;
                }
                _ => mistakes.push("wrong answer"),
            }
        }
        for mistake in mistakes {
            self.mistake(mistake, &format!("{call}, attempt {number}, {id:?}: {message}"));
        }
    }

    fn finish(&mut self, journal: &[Run]) {
        let mut runs = HashMap::<&str, Vec<&str>>::new();
        let mut stopped = BTreeSet::new();
        for run in journal {
            match run.what.as_str() {
                "run" => runs.entry(&run.call).or_default().push(&run.node),
                _ => drop(stopped.insert(run.call.as_str())),
            }
        }
        let calls = std::mem::take(&mut self.calls);
        self.verdict.calls = calls.len();
        for (name, call) in &calls {
            let nodes = runs.remove(name.as_str()).unwrap_or_default();
            self.finish_call(name, call, &nodes, stopped.contains(name.as_str()));
        }
        for name in runs.into_keys() {
            self.mistake("ran without a call", name);
        }
    }

    fn finish_call(&mut self, name: &str, call: &Call, runs: &[&str], is_stopped: bool) {
        // When a frozen node wakes, it may run what it had received. Its client has sent a copy, and may have the reply.
        let is_late_copy = |node: &&&str| call.attempts.len() > 1 && self.frozen.contains(**node);
        if runs.len() - runs.iter().filter(is_late_copy).count().min(1) > 1 {
            self.mistake("ran twice", &format!("{name} at {runs:?}"));
        }
        if call.results > 1 {
            self.mistake("ended twice", name);
        }
        if call.results > 0 && runs.is_empty() {
            self.mistake("wrong answer", &format!("{name} has a result, and did not run"));
        }
        self.verdict.results += call.results.min(1);
        let Some(ended) = call.ended else {
            // Without sessions, a connection that breaks ends the call.
            let died = self.last_death(call.nodes.iter().map(String::as_str), u64::MAX);
            if call.is_stateless && call.is_broken && died.is_some() {
                self.verdict.broken += 1;
            } else {
                self.mistake("not ended", name);
            }
            return;
        };
        let nodes = || call.nodes.iter().map(String::as_str).chain(runs.iter().copied());
        let died = self.last_death(nodes(), ended);
        let since = died.unwrap_or_default().max(call.moved);
        let time = ended.saturating_sub(since);
        if died.is_some_and(|died| died >= call.moved) && time > self.verdict.slowest {
            self.verdict.slowest = time;
            name.clone_into(&mut self.verdict.slowest_call);
        }
        if time > LIMIT || call.is_unended {
            self.mistake("late", &format!("{name} took {time} ms"));
        }
        if call.is_lost {
            self.verdict.lost += 1;
            let of_run = if runs.is_empty() { nodes().collect::<Vec<_>>() } else { runs.to_vec() };
            if self.last_death(of_run.into_iter(), ended).is_none() {
                self.mistake("wrong answer", &format!("{name} is lost, but its node lived"));
            }
        }
        if call.is_closed {
            self.verdict.cancelled += 1;
            if !call.is_cancelled {
                self.mistake("not ended", &format!("{name} was closed without an answer"));
            }
            let is_dead = self.last_death(runs.iter().copied(), u64::MAX).is_some();
            if !is_stopped && !is_dead && !runs.is_empty() {
                self.mistake("ran on", &format!("{name} was cancelled"));
            }
        }
    }
}

impl Checker {
    /// Returns when the last of these nodes died that did so until a moment.
    fn last_death<'n>(&self, nodes: impl Iterator<Item = &'n str>, until: u64) -> Option<u64> {
        let deaths = nodes.filter_map(|node| self.deaths.get(node)).flatten();
        deaths.copied().filter(|at| *at <= until).max()
    }
}

impl Stream {
    fn resume(&mut self, after: &str) {
        self.last = parse(after);
    }

    /// Takes an event. Returns the mistake, if there is one.
    fn take(&mut self, id: &str, message: &Value) -> Option<&'static str> {
        let Some((stream, number)) = parse(id) else { return Some("wrong answer") };
        let known = self.texts.insert(id.to_owned(), message.clone());
        let before = self.last.replace((stream.clone(), number));
        if known.as_ref().is_some_and(|known| known != message) {
            return Some("changed event");
        }
        match before {
            Some((last, at)) if last == stream => match number {
                _ if number <= at => Some("doubled event"),
                _ if number > at + 1 => Some("lost event"),
                _ => None,
            },
            // The first event is not sent in all revisions.
            _ if number > 2 => Some("lost event"),
            _ if known.is_some() => Some("doubled event"),
            _ => None,
        }
    }
}

/// Splits an event id.
fn parse(id: &str) -> Option<(String, u64)> {
    let (stream, number) = id.rsplit_once('.')?;
    Some((stream.to_owned(), number.parse().ok()?))
}

/// How many milliseconds after the death of its node a call may end: 15 seconds, and as much again for a slow machine.
const LIMIT: u64 = 30_000;
