//! What happens when the user cuts a connection? What can be resumed is resumed, and what is lost is said.

use serde_json::{Value, json};

use crate::browser::{Inspected, is_over};
use crate::stage::{Http, fixture, fixture_path};

fn more_http() -> Http {
    let mut command = fixture();
    command.args(["more", "serve", "--http", "127.0.0.1:0"]);
    Http::start(command)
}

fn begin_count(inspected: &Inspected) -> u64 {
    inspected
        .begin(&json!({"kind": "tool", "name": "count", "arguments": "{\"to\": 100}", "timeout_ms": 60_000}))
}

/// Returns the numbers of the events of progress that came in, in order.
fn progress_frames(inspected: &Inspected) -> Vec<u64> {
    let cassette = inspected.cassette(0);
    let frames = cassette.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    frames
        .filter(|line| line["dir"] == "in" && line["frame"]["method"] == "notifications/progress")
        .map(|line| line["frame"]["params"]["progress"].as_u64().unwrap())
        .collect()
}

fn note(events: &[Value], words: &str) {
    let notes: Vec<_> = events.iter().filter(|event| event["type"] == "note").collect();
    assert!(
        notes.iter().any(|note| note["text"].as_str().unwrap().contains(words)),
        "no note says {words:?}: {notes:?}"
    );
}

#[test]
fn a_stream_that_is_cut_is_resumed_and_nothing_arrives_twice() {
    for after in [37, 1, 100] {
        let http = more_http();
        let inspected = Inspected::start(&["--protocol", "2025-11-25", &http.url]);
        inspected.ready();
        inspected.post("/api/cut", &json!({"server": 0, "after_events": after}));
        let mut events = inspected.events();
        let call = begin_count(&inspected);
        let seen = events.all_until(|event| is_over(event, call));
        let last = seen.last().unwrap();
        assert_eq!(last["call"]["state"], "ok", "{last}");
        let progress = progress_frames(&inspected);
        assert_eq!(progress, (1..=100).collect::<Vec<_>>(), "after {after} events");
        note(&seen, "streams are resumed after their last event");
        note(&seen, if after == 1 { "cut after 1 event;" } else { "cut after" });
    }
}

#[test]
fn where_the_wire_cannot_resume_the_user_is_told_what_is_lost() {
    let http = more_http();
    let inspected = Inspected::start(&["--protocol", "2026-07-28", &http.url]);
    inspected.ready();
    // The stream of changes has an event of its own, which must not be one of those that are counted.
    let opened = "notifications/subscriptions/acknowledged";
    inspected.stream("/api/frames?server=0&after=0").until(|frame| frame["method"] == opened);
    inspected.post("/api/cut", &json!({"server": 0, "after_events": 37}));
    let mut events = inspected.events();
    let call = begin_count(&inspected);
    let seen = events.all_until(|event| is_over(event, call));
    assert_eq!(seen.last().unwrap()["call"]["state"], "failed", "{seen:?}");
    note(&seen, "cut after 37 events; this era cannot resume a reply");
    let progress = progress_frames(&inspected);
    assert_eq!(progress, (1..=37).collect::<Vec<_>>());
    let again = begin_count(&inspected);
    assert_eq!(inspected.over(again)["state"], "ok", "the next call works");
}

#[test]
fn a_pipe_that_is_cut_starts_the_program_again() {
    let fixture = fixture_path();
    for revision in ["2025-11-25", "2026-07-28"] {
        let inspected =
            Inspected::start(&["--protocol", revision, "--", fixture.to_str().unwrap(), "more", "serve"]);
        inspected.ready();
        let (status, error) = inspected.refused("/api/cut", &json!({"server": 0, "after_events": 3}));
        assert_eq!(status, 400);
        assert!(error["message"].as_str().unwrap().contains("over HTTP only"), "{error}");
        let mut events = inspected.events();
        let call = inspected.begin(&json!({"kind": "tool", "name": "forever", "arguments": "{}"}));
        events.until(|event| event["type"] == "call" && event["call"]["progress"]["progress"] == 1.0);
        inspected.post("/api/cut", &json!({"server": 0, "after_events": null}));
        let seen = inspected.events().all_until(|event| is_over(event, call));
        assert_eq!(seen.last().unwrap()["call"]["state"], "failed");
        let mut events = inspected.events();
        events.until(|event| event["type"] == "connection" && event["connection"]["state"] == "cut");
        events.until(|event| event["type"] == "connection" && event["connection"]["state"] == "ready");
        let seen = inspected.events().all_until(|event| event["connection"]["state"] == "cut");
        note(&seen, "the program was ended; calls that ran have failed");
        assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["state"], "ok", "the program runs again");
    }
}

#[test]
fn a_cut_now_over_http_ends_open_calls_or_resumes_them() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let http = more_http();
        let inspected = Inspected::start(&["--protocol", revision, &http.url]);
        inspected.ready();
        let mut events = inspected.events();
        let call = inspected.begin(&json!({"kind": "tool", "name": "forever", "arguments": "{}"}));
        events.until(|event| event["type"] == "call" && event["call"]["progress"]["progress"] == 1.0);
        inspected.post("/api/cut", &json!({"server": 0}));
        events.until(|event| event["type"] == "connection" && event["connection"]["state"] == "cut");
        events.until(|event| event["type"] == "connection" && event["connection"]["state"] == "ready");
        if revision == "2025-11-25" {
            // The call goes on: only the user ends it.
            assert_eq!(inspected.get(&format!("/api/call?id={call}"))["state"], "running");
            inspected.post("/api/cancel", &json!({ "call": call }));
            assert_eq!(inspected.over(call)["state"], "cancelled");
        } else {
            assert_eq!(inspected.over(call)["state"], "failed");
        }
        assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["state"], "ok");
    }
}

#[test]
fn a_server_is_restarted_and_spoken_to_in_another_revision() {
    let inspected = Inspected::fixture(&["serve"]);
    assert_eq!(inspected.ready()["revision"], "2026-07-28");
    let ready = |inspected: &Inspected, after: &Value| {
        let mut events = inspected.stream(&format!("/api/events?after={after}"));
        events.until(|event| event["type"] == "connection" && event["connection"]["state"] == "ready")
    };
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let after = inspected.state()["event"].clone();
        inspected.post("/api/revision", &json!({"server": 0, "revision": revision}));
        let event = ready(&inspected, &after);
        assert_eq!((&event["revision"], &event["wanted"]), (&json!(revision), &json!(revision)));
        assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["blocks"][0]["text"], "3");
    }
    let after = inspected.state()["event"].clone();
    inspected.post("/api/revision", &json!({"server": 0, "revision": null}));
    assert_eq!(ready(&inspected, &after)["wanted"], Value::Null);
    let after = inspected.state()["event"].clone();
    inspected.post("/api/restart", &json!({"server": 0}));
    ready(&inspected, &after);
    assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["state"], "ok");
    assert_eq!(inspected.refused("/api/revision", &json!({"server": 0, "revision": "1999-01-01"})).0, 400);
}
