//! Does the checker find mistakes while the store fails, and on streams that are bound to their nodes?

use serde_json::{Value, json};

use crate::checker::judge;
use crate::history::{Fact, Record, Run};
use crate::mistakes::{ONE, TELL, event, progress, result, run, sent};

/// Judges these facts. Returns the kinds of the mistakes.
fn kinds(facts: Vec<(u64, Fact)>, journal: &[Run]) -> Vec<String> {
    let history: Vec<_> = facts.into_iter().map(|(at, fact)| Record { at, fact }).collect();
    let mistakes = judge(&history, journal).mistakes;
    mistakes.iter().map(|mistake| mistake.split(':').next().unwrap().to_owned()).collect()
}

/// A call that is sent and answered at these times.
fn call(sent_at: u64, answered_at: u64) -> Vec<(u64, Fact)> {
    vec![(sent_at, sent(TELL, 0, "note", "node-1")), (answered_at, event(TELL, None, result(TELL)))]
}

fn with(mut facts: Vec<(u64, Fact)>, more: impl IntoIterator<Item = (u64, Fact)>) -> Vec<(u64, Fact)> {
    facts.extend(more);
    facts.sort_by_key(|(at, _)| *at);
    facts
}

fn run_at(at: u64) -> Run {
    Run { at, ..run("run", TELL) }
}

fn opened() -> Fact {
    let [principal, revision, node] = [ONE, "2025-11-25", "node-1"].map(str::to_owned);
    Fact::Opened { principal, session: "session".to_owned(), revision, node }
}

/// A replica that is behind from 10 s to 12 s.
fn promotion() -> [(u64, Fact); 2] {
    [(10_000, Fact::StoreBehind), (12_000, Fact::StorePromoted)]
}

/// A primary that is alone from 10 s to 16 s.
fn partition() -> [(u64, Fact); 2] {
    [(10_000, Fact::StoreApart), (16_000, Fact::StoreTogether)]
}

#[test]
fn a_call_that_begins_while_the_primary_is_alone_is_found() {
    assert_eq!(kinds(with(call(1000, 17_000), partition()), &[run_at(16_100)]), [""; 0]);
    assert_eq!(kinds(with(call(1000, 17_000), partition()), &[run_at(14_000)]), ["began apart", "late"]);
    // The claim of this one was confirmed before.
    let early = kinds(with(call(1000, 17_000), partition()), &[run_at(10_100)]);
    assert_eq!(early, ["late"], "no call began later");
}

#[test]
fn calls_that_begin_too_late_after_an_outage_are_found() {
    assert_eq!(kinds(with(call(1000, 30_000), partition()), &[run_at(29_000)]), ["late"]);
}

#[test]
fn a_refusal_without_advice_is_found() {
    let unadvised = (20_000, Fact::Unadvised { node: "node-1".to_owned() });
    assert_eq!(kinds(with(call(1000, 2000), [unadvised]), &[run_at(1100)]), ["unadvised"]);
}

#[test]
fn a_session_may_be_gone_only_if_the_store_has_forgotten_it() {
    let gone = |at| {
        let status = Fact::Status { call: TELL.to_owned(), node: "node-1".to_owned(), status: 404 };
        let facts = vec![(at, opened()), (20_000, sent(TELL, 0, "note", "node-1")), (20_100, status)];
        kinds(with(facts, promotion()), &[])
    };
    assert_eq!(gone(11_000), [""; 0]);
    assert_eq!(gone(1000), ["status", "not ended"]);
    assert_eq!(gone(15_000), ["status", "not ended"]);
}

#[test]
fn a_copy_may_run_only_if_the_store_has_forgotten_a_claim() {
    let twice = |at| {
        let copy = (at + 100, sent(TELL, 1, "note", "node-2"));
        kinds(with(with(call(at, 20_000), [copy]), promotion()), &[run_at(at), run_at(at)])
    };
    assert_eq!(twice(11_000), [""; 0]);
    assert_eq!(twice(1000), ["ran twice"]);
    assert_eq!(twice(15_000), ["ran twice"]);
    // One request runs once, whatever the store has forgotten.
    let once = with(call(11_000, 20_000), promotion());
    assert_eq!(kinds(once, &[run_at(11_000), run_at(11_000)]), ["ran twice"]);
}

#[test]
fn an_event_is_not_forgotten_by_a_promotion() {
    let facts = |rest: Vec<(u64, Fact)>| {
        let start = vec![
            (11_000, sent(TELL, 0, "tell", "node-1")),
            (11_100, event(TELL, Some("aa.1"), Value::Null)),
            (11_200, event(TELL, Some("aa.2"), progress(1))),
            (11_300, event(TELL, Some("aa.3"), progress(2))),
        ];
        kinds(with(with(start, rest), promotion()), &[run_at(11_000)])
    };
    let resumed = |status| (12_500, crate::mistakes::resumed(TELL, "aa.2", status));
    let again = |value| (12_600, event(TELL, Some("aa.3"), value));
    let end = || (12_700, event(TELL, Some("aa.4"), result(TELL)));
    assert_eq!(facts(vec![resumed(503), resumed(200), again(progress(2)), end()]), [""; 0]);
    assert_eq!(facts(vec![resumed(400), resumed(200), again(progress(2)), end()]), ["forgotten"]);
    assert_eq!(facts(vec![resumed(200), end()]), ["lost event", "lost event"]);
    assert_eq!(facts(vec![resumed(200), again(json!({"method": "other"})), end()])[0], "changed event");
    assert_eq!(facts(Vec::new()), ["not ended"]);
}

#[test]
fn a_session_that_is_back_is_found_unless_the_store_has_forgotten_its_end() {
    let back = |at| {
        let session = || "session".to_owned();
        let visited = Fact::Visited { session: session(), node: "node-1".to_owned(), status: 200 };
        let facts = vec![(1000, opened()), (at, Fact::Deleted { session: session() }), (20_000, visited)];
        kinds(with(facts, promotion()), &[])
    };
    assert_eq!(back(11_000), [""; 0]);
    assert_eq!(back(5000), ["found after its end"]);
}

/// A conversation of 2024-11-05 whose stream is at the first node, with a call that has no end.
fn conversation(more: impl IntoIterator<Item = (u64, Fact)>) -> Vec<(u64, Fact)> {
    let attached = attached(true);
    let ended = Fact::Ended { call: TELL.to_owned(), attempt: 0, node: String::new(), is_clean: false };
    with(vec![(100, attached), (200, sent(TELL, 0, "note", "node-2")), (5000, ended)], more)
}

fn attached(is_conversation: bool) -> Fact {
    Fact::Attached { stream: "session".to_owned(), node: "node-1".to_owned(), is_conversation, since: 90 }
}

fn detached() -> Fact {
    Fact::Detached { stream: "session".to_owned() }
}

fn killed(node: &str) -> Fact {
    Fact::Killed { node: node.to_owned() }
}

#[test]
fn a_call_on_a_stream_that_lives_has_an_end() {
    // The node with the stream has died, or the one to which the call was posted.
    for node in ["node-1", "node-2"] {
        assert_eq!(kinds(conversation([(300, killed(node))]), &[run_at(210)]), [""; 0], "{node}");
    }
    assert_eq!(kinds(conversation([(300, killed("node-3"))]), &[run_at(210)]), ["not ended"]);
    // It was dead before the stream was opened.
    assert_eq!(kinds(conversation([(50, killed("node-1"))]), &[run_at(210)]), ["not ended"]);
}

#[test]
fn a_call_of_2024_11_05_that_runs_twice_or_elsewhere_is_found() {
    let dead = || conversation([(300, killed("node-1"))]);
    assert_eq!(kinds(dead(), &[run_at(210), run_at(220)]), ["ran twice"]);
    let elsewhere = Run { node: "node-2".to_owned(), ..run_at(210) };
    assert_eq!(kinds(dead(), &[elsewhere]), ["ran elsewhere"]);
}

#[test]
fn a_stream_that_ends_although_its_node_lives_is_found() {
    for is_conversation in [true, false] {
        let stream = |more: (u64, Fact)| {
            kinds(with(vec![(100, attached(is_conversation)), (500, detached())], [more]), &[])
        };
        assert_eq!(stream((300, killed("node-1"))), [""; 0]);
        assert_eq!(stream((300, killed("node-2"))), ["stream ended"]);
        // The client hears of the stream after the node is killed.
        assert_eq!(stream((95, killed("node-1"))), [""; 0]);
        assert_eq!(stream((85, killed("node-1"))), ["stream ended"]);
    }
    let stream = || "session".to_owned();
    let unposted = Fact::Unposted { stream: stream(), node: "node-2".to_owned() };
    let unfound = Fact::Unfound { stream: stream(), node: "node-2".to_owned() };
    let living = |fact| kinds(vec![(100, attached(true)), (500, fact)], &[]);
    assert_eq!(living(unposted), ["stream ended"]);
    assert_eq!(living(unfound), ["forgotten"]);
}

#[test]
fn mistakes_of_a_client_that_listens_are_found() {
    let session = || "session".to_owned();
    let news = |uri: &str| {
        let message = json!({"method": "notifications/resources/updated", "params": {"uri": uri}});
        Fact::News { principal: ONE.to_owned(), session: session(), id: None, message }
    };
    let facts = |fact| kinds(with(call(200, 300), [(100, attached(false)), (400, fact)]), &[run_at(210)]);
    assert_eq!(facts(news("news://principal-one")), [""; 0]);
    assert_eq!(facts(news("news://principal-two")), ["crossed"]);
    let untold = Fact::Untold { session: session(), call: TELL.to_owned(), node: "node-2".to_owned() };
    assert_eq!(facts(untold), ["untold"]);
}
