//! How is a recording shown, of a file that is whole, grows, ends in a line, or is none?

use std::fs::OpenOptions;
use std::io::Write;

use serde_json::{Value, json};

use crate::browser::Inspected;
use crate::stage::{Folder, fixture_path, run, say, toolway};

/// Records a call of a tool. Returns the text of the cassette.
fn recorded() -> String {
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    assert_eq!(inspected.call("work", &json!({}))["state"], "ok");
    inspected.cassette(0)
}

fn frames(text: &str) -> usize {
    text.lines().count() - 1
}

#[test]
fn a_recording_is_shown_as_its_server_was() {
    let folder = Folder::new();
    let text = recorded();
    let file = folder.write("session.jsonl", &text);
    let inspected = Inspected::start(&[&file]);
    let state = inspected.state();
    assert_eq!(
        (&state["mode"], &state["recording"]),
        (&json!("recording"), &json!({"file": file, "following": false}))
    );
    let server = &state["servers"][0];
    assert_eq!((&server["name"], &server["over"]), (&json!("fixture"), &json!("recording")));
    assert_eq!((&server["revision"], &server["info"]["version"]), (&json!("2026-07-28"), &json!("1.2.3")));
    assert_eq!(server["can"], json!({"cut": false, "restart": false, "call": false}));
    let names: Vec<_> = server["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert!(names.contains(&json!("work")), "{names:?}");
    let shown = inspected
        .stream("/api/frames?server=0&after=0")
        .all_until(|frame| frame["n"] == u64::try_from(frames(&text)).unwrap());
    assert!(shown.iter().any(|frame| frame["method"] == "notifications/progress"));
    let again = inspected.cassette(0);
    assert_eq!(frames(&again), frames(&text), "it can be saved again");
    for (path, request) in [
        ("/api/call", json!({"server": 0, "kind": "tool", "name": "work"})),
        ("/api/both", json!({"server": 0, "tool": "work"})),
        ("/api/cut", json!({"server": 0})),
        ("/api/restart", json!({"server": 0})),
        ("/api/doctor", json!({"server": 0})),
        ("/api/log_level", json!({"server": 0, "level": "debug"})),
    ] {
        let (status, error) = inspected.refused(path, &request);
        assert_eq!(status, 400, "{path}");
        assert!(error["message"].as_str().unwrap().contains("this is a recording"), "{path}: {error}");
    }
}

#[test]
fn a_recording_that_grows_is_followed_line_by_line() {
    let folder = Folder::new();
    let text = recorded();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let file = folder.write("session.jsonl", &lines[..3].concat());
    let inspected = Inspected::start(&[&file, "--follow"]);
    assert_eq!(inspected.state()["recording"]["following"], true);
    let mut shown = inspected.stream("/api/frames?server=0&after=0");
    assert_eq!((shown.next()["n"].clone(), shown.next()["n"].clone()), (json!(1), json!(2)));
    let mut growing = OpenOptions::new().append(true).open(&file).unwrap();
    // A line that comes in two parts is one frame.
    let (first, second) = lines[3].split_at(lines[3].len() / 2);
    growing.write_all(first.as_bytes()).unwrap();
    growing.sync_data().unwrap();
    growing.write_all(second.as_bytes()).unwrap();
    assert_eq!(shown.next()["n"], 3);
    growing.write_all(b"this is not a frame\n").unwrap();
    growing.write_all(lines[4..].concat().as_bytes()).unwrap();
    let last = u64::try_from(lines.len() - 1).unwrap();
    shown.until(|frame| frame["n"] == last);
}

#[test]
fn what_a_proxy_records_can_be_opened_while_it_goes_on() {
    let folder = Folder::new();
    let file = folder.0.join("session.jsonl").to_str().unwrap().to_owned();
    let mut command = toolway();
    command.args(["proxy", "--record", &file, "--"]).arg(fixture_path()).arg("serve");
    let ran = run(command, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let inspected = Inspected::start(&[&file, "--follow"]);
    let mut shown = inspected.stream("/api/frames?server=0&after=0");
    let request = shown.until(|frame| frame["method"] == "ping");
    assert_eq!(request["dir"], "out");
    let reply = shown.until(|frame| frame["kind"] == "result");
    assert_eq!((&reply["answers"], &reply["method"]), (&request["n"], &json!("ping")));
}

#[test]
fn a_file_that_is_cut_off_in_a_line_is_shown_up_to_there() {
    let folder = Folder::new();
    let text = recorded();
    let cut = &text[..text.len() - 20];
    let file = folder.write("cut.jsonl", cut);
    let inspected = Inspected::start(&[&file, "--follow"]);
    let last = u64::try_from(frames(&text) - 1).unwrap();
    inspected.stream("/api/frames?server=0&after=0").until(|frame| frame["n"] == last);
    let ran = say(&["inspect", "--json", "--port", "0", &file]);
    if ran.code == Some(0) {
        return;
    }
    assert!(ran.stderr.contains(&format!("line {}", text.lines().count())), "{}", ran.stderr);
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let folder = Folder::new();
    let text = recorded();
    let newer = text.replacen("\"cassette\":1", "\"cassette\":2", 1);
    assert_ne!(newer, text);
    for (name, text, words) in [
        ("newer.jsonl", newer.as_bytes(), "newer"),
        ("notes.jsonl", b"{\"title\": \"notes\"}\n", "is not a cassette"),
        ("empty.jsonl", b"", "is not a cassette"),
        ("picture.jsonl", b"\x89PNG\r\n\x1a\n\x00", "is not a cassette"),
        ("wrong.jsonl", b"{\"cassette\":1}\n{\"n\":1,\"t\":0.1,\"dir\":\"in\",\"raw\":\"a\"}\n7\n", "line 3"),
    ] {
        let path = folder.0.join(name);
        std::fs::write(&path, text).unwrap();
        let ran = say(&["inspect", "--no-open", "--port", "0", path.to_str().unwrap()]);
        assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(words) && ran.stderr.contains(name), "{name}: {}", ran.stderr);
    }
    let ran = say(&["inspect", "--no-open", "--port", "0", folder.0.join("none.jsonl").to_str().unwrap()]);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_recording_can_be_given_to_the_page_as_bytes() {
    let text = recorded();
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    let token = format!("Bearer {}", inspected.token);
    let upload = |bytes: &[u8]| inspected.send("POST", "/api/cassette", &[("authorization", &token)], bytes);
    let (status, reply) = upload(text.as_bytes());
    assert_eq!((status, &reply["server"]), (200, &json!(1)), "{reply}");
    assert_eq!(inspected.server(1)["over"], "recording");
    assert_eq!(frames(&inspected.cassette(1)), frames(&text));
    let (status, reply) = upload(b"{\"cassette\":1}\n{}\n");
    assert_eq!(status, 400);
    assert!(reply["error"]["message"].as_str().unwrap().contains("line 2"), "{reply}");
    assert_eq!(upload(b"/etc/hostname").0, 400, "a path is not a recording");
    assert_eq!(upload(b"\xff\xfe").0, 400);
    for number in 2..=16 {
        assert_eq!(upload(text.as_bytes()).1["server"], json!(number));
    }
    let (status, reply) = upload(text.as_bytes());
    assert_eq!((status, &reply["error"]["code"]), (400, &json!("usage")), "the number is limited: {reply}");
    assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["state"], "ok", "the server goes on");
}

#[test]
fn everything_can_be_recorded_in_a_file_while_it_is_looked_at() {
    let folder = Folder::new();
    let file = folder.0.join("session.jsonl").to_str().unwrap().to_owned();
    let fixture = fixture_path();
    let inspected = Inspected::start(&["--record", &file, "--", fixture.to_str().unwrap(), "serve"]);
    inspected.ready();
    inspected.call("add", &json!({"a": 1, "b": 2}));
    let written = std::fs::read_to_string(&file).unwrap();
    let frames = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(frames(&written), frames(&inspected.cassette(0)));
    let header: Value = serde_json::from_str(written.lines().next().unwrap()).unwrap();
    assert_eq!(header["server"]["name"], "fixture");
}
