//! Which rules does the history of a cluster have to follow?
//!
//! | rule | what it demands |
//! |---|---|
//! | C-1 | A request that was let in has one end, and nothing is appended after the end of a log. Every call is concluded |
//! | C-2 | A request runs once until its reply was handed over |
//! | C-3 | The number of an event always stands for the same bytes |
//! | C-4 | No event id reaches a client before the event is in the store |
//! | C-5 | A resumed stream continues after the event, without a gap and without repetition; or the status is 400 or 503 |
//! | C-6 | A reader that was replaced gets nothing that was stored later |
//! | C-7 | One stream of a session gets a notification, and one does |
//! | C-8 | A principal finds nothing that belongs to another |
//! | C-9 | After a DELETE every node answers 404, nothing is stored, and what runs ends |
//! | C-10 | Nothing is left in the store when all lives have passed (checked by the run itself) |
//! | C-11 | A call whose node died ends as lost within 15 seconds, for a client that waits or comes back |
//! | C-12 | A lost message costs at most 15 seconds: a cancellation, an answer and the end of a session arrive |
//! | C-14 | While the store is away, session requests get 503 with `Retry-After`, other calls work, and streams stay open |
//!
//! What is weaker, because the design promises no more: if the store forgets what it confirmed last, a claim, a session,
//! what is stored about a session (also that its client is ready), and the reader of a stream may be forgotten with it
//! (C-2, C-6, C-7, C-9, C-12, and statuses 400, 404 and 503), and so may events whose node dies, freezes or stops as well
//! (C-1, C-3, C-5). A node that stops ends what does not finish in time without an answer, and a change is lost with the
//! node that announced it. The other rules of the design cannot be judged here.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::CallStory;
use super::history::{Conclusion, End, Event, Fate, Heard, Over, Purpose, StoreFault};
use super::nodes::{KEPT_FOR, done};

/// Returns the rules that the events break.
pub(crate) fn check(events: &[(u64, Event)]) -> Vec<String> {
    let mut checker = Checker::default();
    for (now, event) in events {
        checker.now = *now;
        checker.take(event);
    }
    checker.finish();
    checker.broken
}

#[derive(Default)]
struct Checker {
    now: u64,
    broken: Vec<String>,
    store: StoreStory,
    nodes: BTreeMap<usize, NodeStory>,
    streams: BTreeMap<usize, StreamStory>,
    exchanges: BTreeMap<usize, Exchange>,
    calls: BTreeMap<String, CallStory>,
    sessions: BTreeMap<usize, SessionStory>,
    calm_at: Option<u64>,
    /// When a change was announced after things were calm, and how often each session was told of it.
    announced: Vec<(u64, BTreeMap<usize, usize>)>,
    /// The sessions whose clients follow a notification stream.
    following: BTreeSet<usize>,
    /// When, and by which node, a change was announced before things were calm, for each session that has to be told.
    untold: BTreeMap<usize, (u64, usize)>,
}

/// When the store failed last, and since when it is away.
#[derive(Default)]
struct StoreStory {
    lost_tail: Option<u64>,
    failed: Option<u64>,
    away_since: Option<u64>,
}

/// When a node changed last.
#[derive(Default, Clone, Copy)]
struct NodeStory {
    died: Option<u64>,
    frozen: Option<u64>,
    thawed: Option<u64>,
    stopping: Option<u64>,
}

#[derive(Default)]
struct StreamStory {
    /// The hash and the time of each entry.
    entries: BTreeMap<u64, (u64, u64)>,
    /// What clients got under each number.
    got: BTreeMap<u64, u64>,
    end: Option<u64>,
    stored_at: u64,
}

#[derive(Clone)]
struct Exchange {
    session: usize,
    node: usize,
    purpose: Purpose,
    sent_at: u64,
    head_at: Option<u64>,
    over_at: Option<u64>,
    stream: Option<usize>,
    /// The number of the last event.
    position: u64,
    has_end: bool,
}

#[derive(Default)]
struct SessionStory {
    erased_at: Option<u64>,
    deleted_at: Option<u64>,
}

impl Checker {
    fn fail(&mut self, text: String) {
        self.broken.push(format!("{text} (at {} ms)", self.now));
    }

    fn fail_all(&mut self, texts: Vec<String>) {
        for text in texts {
            self.fail(text);
        }
    }

    fn has_lost_tail(&self) -> bool {
        self.store.lost_tail.is_some()
    }

    /// Returns whether a confirmed event may be gone for good: with its writer.
    fn has_lost_tail_and_writer(&self) -> bool {
        let is_hurt =
            |node: &NodeStory| node.died.is_some() || node.frozen.is_some() || node.stopping.is_some();
        self.has_lost_tail() && self.nodes.values().any(is_hurt)
    }

    fn is_erased(&self, session: usize) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.erased_at.is_some())
    }

    fn node(&self, node: usize) -> NodeStory {
        self.nodes.get(&node).copied().unwrap_or_default()
    }

    fn take(&mut self, event: &Event) {
        let now = self.now;
        match event {
            Event::Stored { session, stream, first, entries, ends } => {
                self.stored(*session, *stream, *first, entries, *ends);
            }
            Event::Erased { session } => {
                self.sessions.entry(*session).or_default().erased_at.get_or_insert(now);
            }
            Event::Fault { fault, .. } => self.fault(*fault),
            Event::Node { node, fate } => {
                let story = self.nodes.entry(*node).or_default();
                match fate {
                    Fate::Started => {}
                    Fate::Killed | Fate::Stopped => {
                        story.died.get_or_insert(now);
                    }
                    Fate::Frozen => story.frozen = Some(now),
                    Fate::Thawed => story.thawed = Some(now),
                    Fate::Stopping => story.stopping = Some(now),
                }
            }
            Event::Ran { key, node } => {
                let has_lost_tail = self.has_lost_tail();
                let call = self.calls.entry(key.clone()).or_default();
                if !call.run(now, *node, key.ends_with("ask")) && !has_lost_tail {
                    self.fail(format!("C-2: {key} runs again before its reply was handed over"));
                }
            }
            Event::Left { key, node } => self.calls.entry(key.clone()).or_default().leave(now, *node),
            Event::HandedOver { key } => {
                if let Some(call) = self.calls.get_mut(key) {
                    call.handed_over_at = Some(now);
                }
            }
            Event::Announced { node } => self.announce(*node),
            Event::Sent { exchange, session, node, purpose } => {
                let sent = Exchange::new(*session, *node, purpose.clone(), now);
                self.exchanges.insert(*exchange, sent);
                match purpose {
                    Purpose::Call { key, .. } => {
                        self.calls.entry(key.clone()).or_default().session = Some(*session);
                    }
                    Purpose::Cancel(key) => self.calls.entry(key.clone()).or_default().is_cancelled = true,
                    // The client begins anew, and lists everything. One that resumes its stream does not, but what was
                    // not stored when the stream ended is lost: a known weakness.
                    Purpose::Listen | Purpose::Resume { key: None, .. } => drop(self.untold.remove(session)),
                    _ => {}
                }
            }
            Event::Head { exchange, status, has_retry_after } => {
                self.head(*exchange, *status, *has_retry_after);
            }
            Event::Got { exchange, id, hash, heard } => self.got(*exchange, *id, *hash, heard),
            Event::Over { exchange, over } => self.over(*exchange, *over),
            Event::Concluded { key, session, conclusion } => self.conclude(key, *session, conclusion),
            Event::Calm => self.calm_at = Some(now),
            Event::Broken(rule) => self.fail(rule.clone()),
        }
    }

    fn fault(&mut self, fault: StoreFault) {
        let now = self.now;
        match fault {
            StoreFault::MessageLost | StoreFault::MessageDoubled | StoreFault::MessagesSwapped => return,
            StoreFault::LostTail => self.store.lost_tail = Some(now),
            StoreFault::Away => self.store.away_since = Some(now),
            StoreFault::Back => self.store.away_since = None,
            StoreFault::NotDone | StoreFault::UnknownBefore | StoreFault::UnknownAfter | StoreFault::Slow => {
            }
        }
        self.store.failed = Some(now);
    }

    fn announce(&mut self, node: usize) {
        let now = self.now;
        if self.calm_at.is_none() {
            self.untold.extend(self.following.iter().map(|session| (*session, (now, node))));
            return;
        }
        self.check_untold();
        let listening = self.exchanges.values().filter(|exchange| exchange.listens());
        let told = listening.map(|exchange| (exchange.session, 0)).collect();
        self.announced.push((now, told));
    }

    /// Checks that each client was told of what had changed while things went wrong. A change is lost with its node.
    fn check_untold(&mut self) {
        for (session, (at, node)) in std::mem::take(&mut self.untold) {
            let is_dead =
                self.node(node).died.is_some_and(|died| self.calm_at.is_none_or(|calm| died < calm));
            let is_gone = is_dead || self.is_erased(session) || self.has_lost_tail();
            if !is_gone && self.calm_at.is_some_and(|calm| self.now > calm + MESSAGE_WITHIN) {
                self.fail(format!("C-7: session {session} was never told of the change at {at} ms"));
            }
        }
    }

    fn stored(&mut self, session: usize, stream: usize, first: u64, entries: &[u64], ends: bool) {
        let (now, is_weak) = (self.now, self.has_lost_tail_and_writer());
        if self.is_erased(session) && !self.has_lost_tail() {
            self.fail(format!("C-9: something was stored in session {session} after its end"));
        }
        let story = self.streams.entry(stream).or_default();
        let mut wrong = Vec::new();
        for (number, hash) in (first..).zip(entries) {
            if story.end.is_some_and(|end| number > end) {
                wrong.push(format!("C-1: event {number} of stream {stream} was stored after its end"));
            }
            match story.entries.get(&number) {
                Some((before, _)) if before != hash => {
                    wrong.push(format!("C-3: event {number} of stream {stream} has two contents"));
                }
                Some(_) => {}
                None => drop(story.entries.insert(number, (*hash, now))),
            }
        }
        story.stored_at = now;
        if ends {
            let last = first + entries.len() as u64 - 1;
            story.end = story.end.or(Some(last.max(story.entries.keys().last().copied().unwrap_or(0))));
        }
        if !is_weak {
            self.fail_all(wrong);
        }
    }

    fn head(&mut self, number: usize, status: u16, has_retry_after: bool) {
        let now = self.now;
        let Some(exchange) = self.exchanges.get_mut(&number) else { return };
        exchange.head_at = (status == 200).then_some(now);
        let exchange = exchange.clone();
        let node = self.node(exchange.node);
        let what =
            format!("{:?} of session {} at node {}", exchange.purpose, exchange.session, exchange.node);
        if status == 503 && !has_retry_after {
            self.fail(format!("C-14: {what} got 503 without Retry-After"));
        }
        let is_stopping = node.stopping.is_some();
        let is_frozen = node.frozen > node.thawed;
        let hurt_at = self.store.failed.max(node.thawed);
        let is_recent = hurt_at.is_some_and(|hurt| exchange.sent_at <= hurt + BACK_TO_NORMAL);
        let is_away = self.store.away_since.is_some();
        // An event that the store has lost is written again when the next one follows, or at the end.
        let may_be_unavailable = is_stopping || is_frozen || is_recent || is_away || self.has_lost_tail();
        if status == 503 && !may_be_unavailable {
            self.fail(format!("C-14: {what} got 503, though nothing is wrong"));
        }
        match &exchange.purpose {
            Purpose::Stateless if status != 200 && !(is_stopping && status == 503) => {
                return self.fail(format!("C-14: a call without a session got {status}"));
            }
            Purpose::Stateless | Purpose::Open => return,
            Purpose::Trespass => {
                if !matches!(status, 400 | 404 | 503) {
                    self.fail(format!("C-8: {what} got {status}"));
                }
                return;
            }
            Purpose::Resume { stream, .. } if status == 400 => {
                let kept_for = u64::try_from(KEPT_FOR.as_millis()).unwrap();
                let stored_at = self.streams.get(stream).map_or(0, |stream| stream.stored_at);
                let is_gone = self.has_lost_tail() || self.is_erased(exchange.session);
                if !is_gone && now < stored_at + kept_for {
                    self.fail(format!("C-5: {what} got 400, though the stream is kept"));
                }
            }
            Purpose::Delete if status / 100 == 2 => {
                self.sessions.entry(exchange.session).or_default().deleted_at.get_or_insert(now);
            }
            _ => {}
        }
        if self.store.away_since.is_some_and(|away| away < exchange.sent_at) && status != 503 && status != 404
        {
            self.fail(format!("C-14: {what} got {status} while the store was away"));
        }
        let session = self.sessions.entry(exchange.session).or_default();
        let is_gone = session.deleted_at.is_some_and(|deleted| exchange.sent_at > deleted);
        let is_open = session.erased_at.is_none();
        if is_gone && !matches!(status, 404 | 503) && !self.has_lost_tail() {
            self.fail(format!("C-9: {what} got {status} after the DELETE was answered"));
        }
        if is_open && status == 404 && !self.has_lost_tail() {
            self.fail(format!("C-9: {what} got 404, and the session was not ended"));
        }
        if let (Purpose::Cancel(key), 202) = (&exchange.purpose, status) {
            let call = self.calls.entry(key.clone()).or_default();
            // A cancellation that overtakes its request has no effect.
            if call.runs.first().is_some_and(|run| run.at < exchange.sent_at) {
                call.cancelled_at.get_or_insert(now);
            }
        }
        if let (Purpose::Answer(key), 202) = (&exchange.purpose, status) {
            // A copy of a request may run later than the first one is answered, and ask again.
            self.calls.entry(key.clone()).or_default().answered_at = Some(now);
        }
    }

    fn got(&mut self, number: usize, id: Option<(usize, u64)>, hash: u64, heard: &Heard) {
        let has_lost_tail = self.has_lost_tail();
        let Some(mut exchange) = self.exchanges.remove(&number) else { return };
        let mut wrong = Vec::new();
        match id {
            Some((stream, number)) => {
                let story = self.streams.entry(stream).or_default();
                let stored_at = story.entries.get(&number).map(|(_, stored_at)| *stored_at);
                let first = *story.got.entry(number).or_insert(hash);
                if first != hash && !self.has_lost_tail_and_writer() {
                    wrong.push(format!("C-3: event {number} of stream {stream} came with two contents"));
                }
                if stored_at.is_none() {
                    wrong.push(format!("C-4: event {number} of stream {stream} came before it was stored"));
                }
                // The rest of a notification stream is followed by the stream that replaces it.
                if exchange.stream != Some(stream) && exchange.is_listener() {
                    exchange.position = if exchange.is_resume_of(stream) { exchange.position } else { 0 };
                }
                // The first event has no message in the older revisions.
                let is_next = number == exchange.position + 1 || (exchange.position == 0 && number == 2);
                if !is_next {
                    let last = exchange.position;
                    wrong.push(format!("C-5: event {number} of stream {stream} came after event {last}"));
                }
                (exchange.stream, exchange.position) = (Some(stream), number);
                let is_later = |other: &Exchange| {
                    other.is_resume_of(stream)
                        && other.head_at > exchange.head_at
                        && other.head_at.zip(stored_at).is_some_and(|(taken, stored)| stored > taken)
                };
                if !has_lost_tail && self.exchanges.values().any(is_later) {
                    wrong.push(format!(
                        "C-6: a reader that was replaced got event {number} of stream {stream}"
                    ));
                }
            }
            None => exchange.position = exchange.position.max(1) + 1,
        }
        if exchange.purpose == Purpose::Trespass && *heard != Heard::Primer {
            let is_refusal = matches!(heard, Heard::End { end: End::Refused | End::Error(_), .. });
            if !is_refusal {
                wrong.push(format!("C-8: {heard:?} came to another principal"));
            }
        }
        if exchange.is_listener() && id.is_some() {
            self.following.insert(exchange.session);
        }
        match heard {
            Heard::Progress { key, step } if exchange.position != step + 1 => {
                let position = exchange.position;
                wrong.push(format!("C-5: step {step} of {key} came as event {position}"));
            }
            Heard::Changed => {
                self.untold.remove(&exchange.session);
                for (_, told) in self.announced.iter_mut().rev().take(1) {
                    *told.entry(exchange.session).or_default() += 1;
                }
            }
            Heard::End { key, end } => {
                exchange.has_end = true;
                wrong.extend(self.end(key, end, &exchange, (exchange.stream, number, hash)));
            }
            _ => {}
        }
        self.exchanges.insert(number, exchange);
        self.fail_all(wrong);
    }

    /// Records the end of a call, which came with an exchange.
    fn end(
        &mut self,
        key: &str,
        end: &End,
        exchange: &Exchange,
        (stream, number, hash): (Option<usize>, usize, u64),
    ) -> Option<String> {
        let is_weak = self.has_lost_tail_and_writer();
        if !self.calls.contains_key(key) {
            return None;
        }
        // A request that was refused was not let in.
        if matches!(end, End::Refused) || (*end == End::Lost && stream.is_none()) {
            return None;
        }
        if let End::Result(text) = end
            && *text != done(key)
        {
            return Some(format!("C-8: {key} ended with {text:?}"));
        }
        let call = self.calls.entry(key.to_owned()).or_default();
        let source = stream.map_or((false, number), |stream| (true, stream));
        call.ends.insert((source, hash));
        // A tool that only reads may run more than once.
        let is_repeatable = key.ends_with("peek");
        if call.ends.len() > call.runs.len().max(1) && !is_weak && !is_repeatable {
            return Some(format!("C-1: {key} has {} ends", call.ends.len()));
        }
        if *end != End::Lost {
            return None;
        }
        let Some(run) = call.runs.last().map(|run| run.node) else {
            return Some(format!("C-11: {key} is lost, and never ran"));
        };
        let node = self.node(run);
        let hurt_at = node.died.max(node.frozen).max(node.stopping).max(self.store.failed);
        let Some(hurt_at) = hurt_at else {
            return Some(format!("C-11: {key} is lost, and its node lives"));
        };
        let thawed_at = node.thawed.max(self.node(exchange.node).thawed).unwrap_or(0);
        let limit = hurt_at.max(exchange.sent_at).max(thawed_at) + LOST_WITHIN;
        (self.now > limit).then(|| format!("C-11: {key} was lost only after {} ms", self.now - hurt_at))
    }

    fn over(&mut self, number: usize, over: Over) {
        let (now, away_at) = (self.now, self.store.away_since);
        let Some(exchange) = self.exchanges.get_mut(&number) else { return };
        exchange.over_at = Some(now);
        let exchange = exchange.clone();
        let Some(stream) = exchange.stream.filter(|_| over == Over::Complete && !exchange.has_end) else {
            return;
        };
        let is_replaced = self.exchanges.values().any(|other| {
            other.is_resume_of(stream)
                && other.sent_at >= exchange.sent_at
                && other.head_at > exchange.head_at
        });
        let is_cancelled =
            self.calls.values().any(|call| call.is_cancelled && call.session == Some(exchange.session));
        let is_stopping = self.node(exchange.node).stopping.is_some();
        let is_long_away = away_at.is_some_and(|away| now > away + 100);
        if is_long_away && !is_replaced && !is_cancelled && !is_stopping && !self.is_erased(exchange.session)
        {
            self.fail(format!("C-14: stream {stream} ended while the store was away"));
        }
    }

    fn conclude(&mut self, key: &str, session: usize, conclusion: &Conclusion) {
        let call = self.calls.entry(key.to_owned()).or_default();
        let (is_cancelled, is_last) = (call.is_cancelled, key.ends_with("last"));
        let runs: Vec<_> = call.runs.iter().map(|run| (self.nodes.get(&run.node), run.left_at)).collect();
        let is_stopped = runs.iter().any(|(node, _)| node.is_some_and(|node| node.stopping.is_some()));
        // The handler died with its node, before a cancellation reached it.
        let died_with_node = |run: &(Option<&NodeStory>, Option<u64>)| {
            run.1.is_none() && run.0.is_some_and(|node| node.died.is_some())
        };
        let has_lost_run = runs.iter().any(died_with_node);
        let is_gone = self.is_erased(session) || self.has_lost_tail();
        let is_allowed = match conclusion {
            Conclusion::Answered => true,
            Conclusion::Hung => false,
            // The client follows its stream, so it comes before the stream is forgotten.
            Conclusion::Forgotten(400) => is_gone,
            // These statuses are judged where they come.
            Conclusion::Refused(_) | Conclusion::Broken | Conclusion::Forgotten(_) => !is_last || is_gone,
            Conclusion::NoAnswer => (is_cancelled && !has_lost_run) || is_stopped || is_gone,
        };
        if !is_allowed {
            self.fail(format!("C-1: {key} was concluded as {conclusion:?}"));
        }
    }

    fn finish(&mut self) {
        self.check_untold();
        let mut wrong = Vec::new();
        for (key, call) in &self.calls {
            let erased_at = call.session.and_then(|session| self.sessions.get(&session)?.erased_at);
            for run in &call.runs {
                // A copy that begins later asks again, and its question has an answer of its own, or none.
                let answered_at = call.answered_at.filter(|at| *at >= run.at);
                let orders = [
                    ("a cancellation", call.cancelled_at),
                    ("an answer", answered_at),
                    ("the end of its session", erased_at),
                ];
                for (what, ordered_at) in orders {
                    let Some(ordered_at) = ordered_at else { continue };
                    let node = self.node(run.node);
                    let disturbed_at = self.store.failed.unwrap_or(0);
                    let limit = ordered_at.max(disturbed_at).max(run.at) + MESSAGE_WITHIN;
                    // All nodes stop at the end.
                    let hurt_at = [node.frozen, node.stopping, node.died].into_iter().flatten().min();
                    let is_hurt = hurt_at.is_some_and(|hurt| hurt <= limit);
                    let ran_on = run.left_at.is_none_or(|left| left > limit) && self.now > limit;
                    if ran_on && !is_hurt && !self.has_lost_tail() {
                        wrong.push(format!("C-12: {what} did not reach {key}"));
                    }
                }
            }
        }
        for exchange in self.exchanges.values().filter(|exchange| exchange.is_listener()) {
            let erased_at = self.sessions.get(&exchange.session).and_then(|session| session.erased_at);
            let (Some(erased_at), Some(head_at)) = (erased_at, exchange.head_at) else { continue };
            let node = self.node(exchange.node);
            let disturbed_at = self.store.failed.unwrap_or(0);
            let limit = erased_at.max(disturbed_at).max(head_at) + MESSAGE_WITHIN;
            let hurt_at = [node.frozen, node.stopping, node.died].into_iter().flatten().min();
            let is_hurt = hurt_at.is_some_and(|hurt| hurt <= limit);
            let went_on = exchange.over_at.is_none_or(|over| over > limit) && self.now > limit;
            if went_on && !is_hurt && !self.has_lost_tail() {
                wrong.push(format!("C-12: the end of session {} did not reach a stream", exchange.session));
            }
        }
        for (at, told) in &self.announced {
            for (session, count) in told {
                let is_due = self.now > at + MESSAGE_WITHIN && !self.is_erased_before(*session, *at);
                if *count != 1 && is_due && !self.has_lost_tail() {
                    wrong.push(format!(
                        "C-7: session {session} was told {count} times of the change at {at} ms"
                    ));
                }
            }
        }
        self.fail_all(wrong);
    }

    fn is_erased_before(&self, session: usize, at: u64) -> bool {
        let erased_at = self.sessions.get(&session).and_then(|session| session.erased_at);
        erased_at.is_some_and(|erased| erased < at + MESSAGE_WITHIN)
    }
}

impl Exchange {
    fn new(session: usize, node: usize, purpose: Purpose, sent_at: u64) -> Self {
        let (stream, position) = match purpose {
            Purpose::Resume { stream, after, .. } => (Some(stream), after),
            _ => (None, 0),
        };
        Self {
            session,
            node,
            purpose,
            sent_at,
            head_at: None,
            over_at: None,
            stream,
            position,
            has_end: false,
        }
    }

    fn is_listener(&self) -> bool {
        matches!(self.purpose, Purpose::Listen | Purpose::Resume { key: None, .. })
    }

    /// Returns whether it is an open stream for notifications.
    fn listens(&self) -> bool {
        self.is_listener() && self.stream.is_some() && self.head_at.is_some() && self.over_at.is_none()
    }

    fn is_resume_of(&self, stream: usize) -> bool {
        matches!(self.purpose, Purpose::Resume { stream: resumed, .. } if resumed == stream)
    }
}

/// Within this time a call of a dead node is lost, in milliseconds.
const LOST_WITHIN: u64 = 15_000;
/// Within this time a lost message is made up for. The visits themselves take a little.
const MESSAGE_WITHIN: u64 = 16_000;
/// Within this time the cluster is back to normal.
const BACK_TO_NORMAL: u64 = 5000;
