//! Did a run keep every promise?
//!
//! The checker sees only what was written: the history of the clients and the journal of the nodes. Each mistake that it
//! reports names its kind and the call or the session.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::attached::AttachedStreams;
use crate::client::PRINCIPALS;
use crate::doubts::Doubts;
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
    /// Calls of conversations of 2024-11-05 that broke off.
    pub(crate) broken_off: usize,
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
    /// Calls of sessions that the store has forgotten.
    pub(crate) gone: usize,
    /// Calls whose claims the store may have forgotten.
    pub(crate) doubtful: usize,
    /// The longest time from the end of an outage of the store to the end of a call, in milliseconds.
    pub(crate) slowest_after_outage: u64,
    /// The progress that was told while the store could accept no change.
    pub(crate) told_apart: usize,
    /// The time until a call could begin again after that, in milliseconds.
    pub(crate) recovery: Option<u64>,
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
    sessions: HashMap<String, Session>,
    attached: AttachedStreams,
    doubts: Doubts,
}

/// When a session changed.
#[derive(Debug, Default)]
struct Session {
    opened: u64,
    subscribed: u64,
    /// When it was last told something.
    told: u64,
    deleted: u64,
}

/// What is known of a call.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one fact about the call")]
struct Call {
    tool: String,
    is_stateless: bool,
    session: String,
    /// When each attempt was sent.
    sent: Vec<u64>,
    /// The session of the call is gone.
    is_gone: bool,
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
    answer: Option<Value>,
    /// The answer that came before the client resumed the stream.
    former_answer: Option<Value>,
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
        self.doubts.take(at, &record.fact);
        self.attached.take(&record.fact);
        match &record.fact {
            Fact::Opened { session, .. } => self.sessions.entry(session.clone()).or_default().opened = at,
            Fact::Subscribed { session } => self.sessions.entry(session.clone()).or_default().subscribed = at,
            Fact::Killed { node } | Fact::Frozen { node } => {
                if matches!(record.fact, Fact::Frozen { .. }) {
                    self.frozen.insert(node.clone());
                }
                self.deaths.entry(node.clone()).or_default().push(at);
            }
            Fact::Sent { call, attempt, session, tool, node } => {
                let state = self.calls.entry(call.clone()).or_default();
                state.is_stateless = session.is_empty();
                state.session.clone_from(session);
                state.sent.push(at);
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
                        if let Some(answer) = attempt.answer.take() {
                            attempt.former_answer = Some(answer);
                        }
                    }
                    503 => {}
                    404 if self.is_gone(call) => {}
                    _ => self.mistake("forgotten", &format!("{call} after {after}: {status}")),
                }
            }
            Fact::Ended { call, .. } => self.calls.entry(call.clone()).or_default().is_broken = true,
            Fact::Status { call, status: 503, .. } => {
                self.calls.entry(call.clone()).or_default().is_broken = false;
            }
            Fact::Status { call, status: 404, .. } if self.is_gone(call) => {}
            Fact::Status { call, node, status } => {
                self.mistake("status", &format!("{call} at {node}: {status}"));
            }
            Fact::Released { call } | Fact::Cut { call, .. } => {
                self.calls.entry(call.clone()).or_default().moved = at;
            }
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
                self.sessions.entry(session.clone()).or_default().told = at;
                self.check_crossing(principal, session, &message.to_string());
                let stream = self.streams.entry(session.clone()).or_default();
                if let Some(mistake) = id.as_deref().and_then(|id| stream.take(id, message)) {
                    self.mistake(mistake, &format!("{session}, {id:?}"));
                }
            }
            Fact::NewsResumed { session, after, status, .. } => {
                match (status, after) {
                    (200, Some(after)) => self.streams.entry(session.clone()).or_default().resume(after),
                    (200, None) => self.streams.entry(session.clone()).or_default().last = None,
                    // Nothing writes a notification stream again that has no reader. The client begins anew.
                    (400, Some(_)) if self.may_notifications_be_forgotten(session) => {}
                    (400, after) => self.mistake("forgotten", &format!("{session} after {after:?}")),
                    _ => {}
                }
            }
            Fact::Detached { stream } => {
                if !self.may_be_detached(stream) {
                    self.mistake("stream ended", stream);
                }
            }
            Fact::Unposted { stream, node } => {
                if !self.has_died(node, stream) {
                    self.mistake("stream ended", &format!("{stream}, by a POST to {node}"));
                }
            }
            Fact::Unfound { stream, node } => {
                if !self.may_be_detached(stream) {
                    self.mistake("forgotten", &format!("{stream} at {node}"));
                }
            }
            Fact::Untold { session, call, node } => {
                if !self.may_be_untold(session, call) {
                    self.mistake("untold", &format!("{session} after {call} at {node}"));
                }
            }
            Fact::Deleted { session } => {
                self.verdict.deleted += 1;
                self.sessions.entry(session.clone()).or_default().deleted = at;
            }
            Fact::Visited { session, node, status } if *status != 404 => {
                if !self.may_be_back(session) {
                    self.mistake("found after its end", &format!("{session} at {node}: {status}"));
                }
            }
            Fact::Outlived { session } => {
                if !self.may_be_back(session) {
                    self.mistake("found after its end", &format!("the stream of {session}"));
                }
            }
            Fact::Unadvised { node } => self.mistake("unadvised", node),
            Fact::Intruded { principal, node, status, text } => {
                self.verdict.intrusions += 1;
                self.check_crossing(principal, "an intrusion", text);
                if !matches!(status, 400 | 404 | 503) {
                    self.mistake("crossed", &format!("{principal} was let in at {node}: {status}"));
                }
            }
            Fact::Visited { .. }
            | Fact::Attached { .. }
            | Fact::Listening { .. }
            | Fact::StoreKilled
            | Fact::StoreListening
            | Fact::StoreBehind
            | Fact::StorePromoted
            | Fact::StoreApart
            | Fact::StoreTogether => {}
        }
    }

    /// Checks that a text for one principal does not name the other.
    fn check_crossing(&mut self, principal: &str, place: &str, text: &str) {
        if PRINCIPALS.iter().any(|other| *other != principal && text.contains(other)) {
            self.mistake("crossed", &format!("{principal} in {place} got {text}"));
        }
    }

    /// Records that the session of a call is gone, if the store may have forgotten it.
    fn is_gone(&mut self, call: &str) -> bool {
        let Some(call) = self.calls.get_mut(call) else { return false };
        let session = self.sessions.get(&call.session);
        call.is_gone |= session.is_some_and(|session| self.doubts.may_be_forgotten(session.opened));
        call.is_gone
    }

    /// Returns whether a stream may have ended: its node has died since.
    fn may_be_detached(&self, stream: &str) -> bool {
        self.attached.holder(stream).is_some_and(|holder| self.has_died(&holder.node, stream))
    }

    /// Returns whether a node has died since a stream was opened.
    fn has_died(&self, node: &str, stream: &str) -> bool {
        let Some(holder) = self.attached.holder(stream) else { return false };
        self.last_death(std::iter::once(node), u64::MAX).is_some_and(|died| died >= holder.since)
    }

    /// Returns whether the store may have forgotten what a session was told last.
    fn may_notifications_be_forgotten(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|session| self.doubts.may_be_forgotten(session.told))
    }

    /// Returns whether the store may have forgotten the end of a session.
    fn may_be_back(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|session| self.doubts.may_be_forgotten(session.deleted))
    }

    /// Returns whether the store may have forgotten that a session subscribed to a resource, or that the resource changed.
    fn may_be_untold(&self, session: &str, call: &str) -> bool {
        let session =
            self.sessions.get(session).into_iter().flat_map(|known| [known.opened, known.subscribed]);
        let update =
            self.calls.get(call).into_iter().flat_map(|call| call.sent.iter().copied().chain(call.ended));
        session.chain(update).any(|at| self.doubts.may_be_forgotten(at))
    }

    fn take_event(&mut self, at: u64, call: &str, number: u32, id: Option<&str>, message: &Value) {
        let state = self.calls.entry(call.to_owned()).or_default();
        let attempt = state.attempts.entry(number).or_default();
        let mut mistakes = Vec::new();
        // A client that resumes the stream after its end gets the answer again. It had no id if the store was away.
        let is_again = id.is_some_and(|id| attempt.stream.texts.contains_key(id))
            || attempt.former_answer.as_ref() == Some(message);
        mistakes.extend(id.and_then(|id| attempt.stream.take(id, message)));
        if message["method"] == "notifications/progress" {
            if !state.is_stateless && self.doubts.is_apart(at) {
                self.verdict.told_apart += 1;
            }
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
            if attempt.answer.replace(message.clone()).is_some() || attempt.former_answer.is_some() {
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
            if attempt.answer.replace(message.clone()).is_some() || attempt.former_answer.is_some() {
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
                "run" => {
                    self.check_beginning(run);
                    runs.entry(&run.call).or_default().push(&run.node);
                }
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
        if self.doubts.last_reunion().is_some() && self.verdict.recovery.is_none_or(|time| time > RECOVERY) {
            self.mistake(
                "late",
                &format!("the first call after the outage began after {:?} ms", self.verdict.recovery),
            );
        }
    }

    /// Checks that a call with a claim did not begin while the store could accept none.
    fn check_beginning(&mut self, run: &Run) {
        let Some(call) = self.calls.get(&run.call).filter(|call| !call.is_stateless) else { return };
        if let Some(holder) = self.attached.conversation(&call.session) {
            if run.node != holder.node {
                self.mistake("ran elsewhere", &format!("{} at {}", run.call, run.node));
            }
            // Such a call has no claim.
            return;
        }
        if self.doubts.is_apart(run.at) {
            self.mistake("began apart", &format!("{} at {}, {} ms", run.call, run.node, run.at));
        }
        if let Some(time) = self.doubts.last_reunion().and_then(|reunion| run.at.checked_sub(reunion)) {
            let recovery = self.verdict.recovery.get_or_insert(time);
            *recovery = time.min(*recovery);
        }
    }

    fn finish_call(&mut self, name: &str, call: &Call, runs: &[&str], is_stopped: bool) {
        // When a frozen node wakes, it may run what it had received. Its client has sent a copy, and may have the reply.
        let is_late_copy = |node: &&&str| call.attempts.len() > 1 && self.frozen.contains(**node);
        // Each attempt may run if the claim of the one before may be forgotten.
        let is_doubtful = call.sent.iter().any(|at| self.doubts.may_be_forgotten(*at));
        self.verdict.doubtful += usize::from(is_doubtful);
        let limit = if is_doubtful { call.attempts.len() } else { 1 };
        if runs.len() - runs.iter().filter(is_late_copy).count().min(1) > limit {
            self.mistake("ran twice", &format!("{name} at {runs:?}"));
        }
        if call.results > limit {
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
            } else if call.is_broken && self.may_break_off(call) {
                self.verdict.broken_off += 1;
            } else if call.is_gone {
                self.verdict.gone += 1;
            } else {
                self.mistake("not ended", name);
            }
            return;
        };
        let nodes = || call.nodes.iter().map(String::as_str).chain(runs.iter().copied());
        let died = self.last_death(nodes(), ended);
        let outage = self.doubts.last_end(ended).unwrap_or_default();
        let since = died.unwrap_or_default().max(call.moved).max(outage);
        let time = ended.saturating_sub(since);
        if died.is_some_and(|died| died >= call.moved) && time > self.verdict.slowest {
            self.verdict.slowest = time;
            name.clone_into(&mut self.verdict.slowest_call);
        }
        if outage > 0 && outage == since {
            self.verdict.slowest_after_outage = self.verdict.slowest_after_outage.max(time);
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
    /// Returns whether a call of 2024-11-05 may have no end: the node with its stream has died, or one to which it was sent, or
    /// which has not replied to its cancellation or its answer.
    fn may_break_off(&self, call: &Call) -> bool {
        let Some(holder) = self.attached.conversation(&call.session) else { return false };
        let nodes = call.nodes.iter().chain(&holder.silent).chain([&holder.node]).map(String::as_str);
        self.last_death(nodes, u64::MAX).is_some_and(|died| died >= holder.since)
    }

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
/// How many milliseconds after an outage of the store calls begin again: 5 seconds, and as much again for a slow machine.
const RECOVERY: u64 = 10_000;
