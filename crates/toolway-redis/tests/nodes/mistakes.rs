//! Does the checker find mistakes of each kind?

use serde_json::{Value, json};

use crate::checker::judge;
use crate::history::{Fact, Record, Run};

/// A history without a mistake: a call with progress that is resumed, one that is lost, one that is cancelled, and a session
/// that is deleted.
fn history() -> (Vec<Record>, Vec<Run>) {
    let facts = vec![
        (0, sent(TELL, 0, "tell", "node-1")),
        (10, event(TELL, Some("aa.1"), Value::Null)),
        (20, event(TELL, Some("aa.2"), progress(1))),
        (30, resumed(TELL, "aa.2", 200)),
        (40, event(TELL, Some("aa.3"), progress(2))),
        (50, event(TELL, Some("aa.4"), result(TELL))),
        (60, sent(LOST, 0, "hold", "node-2")),
        (70, event(LOST, Some("bb.1"), Value::Null)),
        (100, Fact::Killed { node: "node-2".to_owned() }),
        (13_000, resumed(LOST, "bb.1", 200)),
        (13_100, event(LOST, Some("bb.2"), lost())),
        (13_200, sent(CANCELLED, 0, "hold", "node-1")),
        (13_300, Fact::Cancelled { call: CANCELLED.to_owned() }),
        (13_400, Fact::Closed { call: CANCELLED.to_owned() }),
        (13_500, news(ONE, "cc.2", "news://principal-one")),
        (13_600, Fact::Deleted { session: "session".to_owned() }),
        (13_700, Fact::Visited { session: "session".to_owned(), node: "node-1".to_owned(), status: 404 }),
        (13_800, intruded(404, "there is no such session")),
    ];
    let history = facts.into_iter().map(|(at, fact)| Record { at, fact }).collect();
    (history, vec![run("run", TELL), run("run", LOST), run("run", CANCELLED), run("stopped", CANCELLED)])
}

pub(crate) fn sent(call: &str, attempt: u32, tool: &str, node: &str) -> Fact {
    Fact::Sent {
        call: call.to_owned(),
        attempt,
        session: "session".to_owned(),
        tool: tool.to_owned(),
        node: node.to_owned(),
    }
}

pub(crate) fn event(call: &str, id: Option<&str>, message: Value) -> Fact {
    Fact::Event { call: call.to_owned(), attempt: 0, id: id.map(str::to_owned), message }
}

pub(crate) fn resumed(call: &str, after: &str, status: u16) -> Fact {
    let node = "node-3".to_owned();
    Fact::Resumed { call: call.to_owned(), attempt: 0, after: after.to_owned(), node, status }
}

pub(crate) fn news(principal: &str, id: &str, uri: &str) -> Fact {
    let message = json!({"method": "notifications/resources/updated", "params": {"uri": uri}});
    let (principal, session) = (principal.to_owned(), "session".to_owned());
    Fact::News { principal, session, id: Some(id.to_owned()), message }
}

fn intruded(status: u16, text: &str) -> Fact {
    let (principal, node) = (ONE.to_owned(), "node-1".to_owned());
    Fact::Intruded { principal, node, status, text: text.to_owned() }
}

pub(crate) fn progress(number: u64) -> Value {
    json!({"method": "notifications/progress", "params": {"progress": number, "total": 2}})
}

pub(crate) fn result(call: &str) -> Value {
    json!({"id": 1, "result": {"content": [{"type": "text", "text": format!("{call} <{ONE}>")}]}})
}

fn lost() -> Value {
    json!({"id": 2, "error": {"code": -32603, "message": "-", "data": {"reason": "lost"}}})
}

pub(crate) fn run(what: &str, call: &str) -> Run {
    let node = if call == LOST { "node-2" } else { "node-1" };
    Run { what: what.to_owned(), call: call.to_owned(), node: node.to_owned(), at: 0 }
}

/// Judges the history after a change to it. Returns the kinds of the mistakes.
fn kinds(change: impl FnOnce(&mut Vec<Record>, &mut Vec<Run>)) -> Vec<String> {
    let (mut history, mut journal) = history();
    change(&mut history, &mut journal);
    let mistakes = judge(&history, &journal).mistakes;
    mistakes.iter().map(|mistake| mistake.split(':').next().unwrap().to_owned()).collect()
}

/// Plants one record after the record with this time.
fn planted(at: u64, fact: Fact) -> Vec<String> {
    kinds(|history, _| {
        let place = history.iter().position(|record| record.at == at).unwrap() + 1;
        history.insert(place, Record { at, fact });
    })
}

/// Replaces the record with this time.
fn replaced(at: u64, fact: Fact) -> Vec<String> {
    kinds(|history, _| history.iter_mut().find(|record| record.at == at).unwrap().fact = fact)
}

fn removed(at: u64) -> Vec<String> {
    kinds(|history, _| history.retain(|record| record.at != at))
}

#[test]
fn a_good_history_has_no_mistake() {
    assert_eq!(kinds(|_, _| ()), [""; 0]);
    let (history, journal) = history();
    let verdict = judge(&history, &journal);
    assert_eq!((verdict.calls, verdict.results, verdict.lost, verdict.cancelled), (3, 1, 1, 1));
    assert_eq!(verdict.slowest, 13_000);
}

#[test]
fn a_call_without_an_end_is_found() {
    assert_eq!(removed(50), ["not ended"]);
    assert_eq!(removed(13_100), ["not ended"]);
    // An end without an answer is one only for a call that was cancelled.
    assert_eq!(removed(13_300), ["not ended"]);
    assert_eq!(planted(13_100, Fact::Unended { call: LOST.to_owned() }), ["late"]);
}

#[test]
fn a_call_with_two_ends_is_found() {
    assert_eq!(planted(50, event(TELL, None, result(TELL))), ["ended twice", "ended twice"]);
    assert_eq!(planted(50, event(TELL, None, lost())), ["ended twice", "wrong answer"]);
    // Two copies of a request that both have a result.
    let copy = kinds(|history, _| {
        history.insert(1, Record { at: 0, fact: sent(TELL, 1, "hold", "node-2") });
        let message = result(TELL);
        history.push(Record {
            at: 13_900,
            fact: Fact::Event { call: TELL.to_owned(), attempt: 1, id: None, message },
        });
    });
    assert!(copy.contains(&"ended twice".to_owned()), "{copy:?}");
}

#[test]
fn a_late_end_is_found() {
    let late = kinds(|history, _| {
        history.iter_mut().filter(|record| record.at >= 13_100).for_each(|record| record.at += 17_100);
    });
    assert_eq!(late, ["late"]);
}

#[test]
fn an_error_that_is_not_typed_or_not_true_is_found() {
    let error = json!({"id": 2, "error": {"code": -32603, "message": "-"}});
    assert_eq!(replaced(13_100, event(LOST, Some("bb.2"), error)), ["wrong answer", "not ended"]);
    // Its node has not died.
    assert_eq!(replaced(100, Fact::Killed { node: "node-1".to_owned() }), ["wrong answer"]);
    assert_eq!(replaced(50, event(TELL, Some("aa.4"), result(LOST))), ["wrong answer"]);
    let status = Fact::Status { call: TELL.to_owned(), node: "node-1".to_owned(), status: 500 };
    assert_eq!(planted(50, status), ["status"]);
}

#[test]
fn a_lost_event_is_found() {
    // Found by its number, by the number of the progress, and by the missing end of the progress.
    assert_eq!(removed(40), ["lost event", "lost event"]);
    assert_eq!(replaced(40, event(TELL, Some("aa.3"), json!({"method": "other"}))), ["lost event"]);
    assert_eq!(removed(20), ["lost event"]);
    assert_eq!(replaced(13_500, news(ONE, "cc.3", "news://principal-one")), ["lost event"]);
    assert_eq!(replaced(30, resumed(TELL, "aa.2", 400)), ["forgotten"]);
    let untold =
        Fact::Untold { session: "session".to_owned(), call: TELL.to_owned(), node: "node-1".to_owned() };
    assert_eq!(planted(13_500, untold), ["untold"]);
}

#[test]
fn a_doubled_event_is_found() {
    assert_eq!(planted(20, event(TELL, Some("aa.2"), progress(1))), ["doubled event", "doubled event"]);
    assert_eq!(planted(30, event(TELL, Some("aa.2"), progress(1))), ["doubled event", "doubled event"]);
    // The same text with two numbers.
    let twice = kinds(|history, _| {
        history.insert(5, Record { at: 41, fact: event(TELL, Some("aa.4"), progress(2)) });
        history.iter_mut().find(|record| record.at == 50).unwrap().fact =
            event(TELL, Some("aa.5"), result(TELL));
    });
    assert_eq!(twice, ["doubled event"]);
    assert_eq!(planted(13_500, news(ONE, "cc.2", "news://principal-one")), ["doubled event"]);
}

#[test]
fn an_event_that_changes_is_found() {
    assert_eq!(planted(30, event(TELL, Some("aa.2"), progress(2)))[0], "changed event");
    // An event that a client gets again because it resumes before it is the same.
    let again = kinds(|history, _| {
        history.insert(5, Record { at: 41, fact: resumed(TELL, "aa.1", 200) });
        history.insert(6, Record { at: 41, fact: event(TELL, Some("aa.2"), progress(1)) });
        history.insert(7, Record { at: 41, fact: event(TELL, Some("aa.3"), progress(2)) });
    });
    assert_eq!(again, [""; 0]);
}

#[test]
fn a_handler_that_runs_twice_is_found() {
    assert_eq!(kinds(|_, journal| journal.push(run("run", TELL))), ["ran twice"]);
    assert_eq!(kinds(|_, journal| journal.push(run("run", LOST))), ["ran twice"]);
    assert_eq!(kinds(|_, journal| journal.push(run("run", "other"))), ["ran without a call"]);
    assert_eq!(kinds(|_, journal| drop(journal.remove(0))), ["wrong answer"]);
}

#[test]
fn a_handler_that_ignores_a_cancellation_is_found() {
    assert_eq!(kinds(|_, journal| drop(journal.pop())), ["ran on"]);
}

#[test]
fn bytes_of_the_other_principal_are_found() {
    assert_eq!(replaced(13_500, news(ONE, "cc.2", "news://principal-two")), ["crossed"]);
    assert_eq!(replaced(13_800, intruded(200, "")), ["crossed"]);
    assert_eq!(replaced(13_800, intruded(404, "principal-two")), ["crossed"]);
    let mut message = progress(1);
    message["params"]["message"] = json!("<principal-two>");
    assert_eq!(replaced(20, event(TELL, Some("aa.2"), message)), ["crossed"]);
}

#[test]
fn a_session_that_is_found_after_its_end_is_found() {
    let visited = Fact::Visited { session: "session".to_owned(), node: "node-2".to_owned(), status: 200 };
    assert_eq!(planted(13_700, visited), ["found after its end"]);
    let outlived = Fact::Outlived { session: "session".to_owned() };
    assert_eq!(planted(13_700, outlived), ["found after its end"]);
}

pub(crate) const ONE: &str = "principal-one";
pub(crate) const TELL: &str = "principal-one+1.0+1";
const LOST: &str = "principal-one+1.0+2";
const CANCELLED: &str = "principal-one+1.0+3";
