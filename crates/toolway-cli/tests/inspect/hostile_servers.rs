//! What does an inspector make of a server that dies, hangs, lies, or sends too much?

use serde_json::{Value, json};

use crate::browser::Inspected;

#[test]
fn a_server_that_dies_in_a_call_is_shown_with_its_last_words_and_starts_again() {
    let inspected = Inspected::fixture(&["dies-in-call"]);
    inspected.ready();
    for _ in 0..2 {
        let call = inspected.call("work", &json!({}));
        assert_eq!(
            (&call["state"], &call["error"]["code"]),
            (&json!("failed"), &json!("unreachable")),
            "{call}"
        );
        let mut frames = inspected.stream("/api/frames?server=0&after=0");
        frames.until(|frame| frame["dir"] == "err" && frame["raw"] == "fatal: the disk is full");
    }
    let mut events = inspected.events();
    events.until(|event| event["type"] == "connection" && event["connection"]["state"] == "closed");
    assert_eq!(inspected.state()["mode"], "server");
}

#[test]
fn a_server_that_never_starts_or_never_answers_fails_with_a_reason() {
    for (mode, code) in [
        ("die", "cannot_start"),
        ("rubbish", "unreachable"),
        ("silent", "unreachable"),
        ("incompatible", "unreachable"),
    ] {
        let fixture = crate::stage::fixture_path();
        let inspected = Inspected::start(&["--timeout", "0.5", "--", fixture.to_str().unwrap(), mode]);
        let error = inspected.failure();
        let codes = [json!(code), json!("cannot_start")];
        assert!(codes.contains(&error["code"]), "{mode}: {error}");
        assert!(!error["message"].as_str().unwrap().is_empty());
        assert_eq!(inspected.server(0)["connection"]["state"], "failed");
        let (status, error) =
            inspected.refused("/api/call", &json!({"server": 0, "kind": "tool", "name": "x"}));
        assert_eq!((status, &error["code"]), (409, &json!("unreachable")), "{mode}");
        // What it has said is there all the same, and another try is possible.
        inspected.post("/api/restart", &json!({"server": 0}));
        let doctor = inspected.post("/api/doctor", &json!({"server": 0}));
        assert_eq!(doctor["ok"], false, "{doctor}");
    }
}

#[test]
fn lines_that_are_not_messages_are_shown_and_do_no_harm() {
    let inspected = Inspected::fixture(&["garbage-in-call"]);
    inspected.ready();
    let call = inspected.call("work", &json!({}));
    assert_eq!((&call["state"], &call["blocks"][0]["text"]), (&json!("ok"), &json!("after all")), "{call}");
    let mut frames = inspected.stream("/api/frames?server=0&after=0");
    let line = frames.until(|frame| frame["raw"] == "Loading ...");
    assert_eq!((&line["dir"], &line["kind"]), (&json!("in"), &json!("none")));
    frames.until(|frame| frame["raw"].as_str().is_some_and(|raw| raw.contains("\u{1b}[2J")));
}

#[test]
fn five_thousand_tools_are_listed_whole() {
    let inspected = Inspected::fixture(&["many"]);
    let server = inspected.ready();
    let tools = server["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 5000);
    assert_eq!(tools[4999]["name"], "tool_4999");
    assert!(server["tokens"]["openai"].as_u64().unwrap() > 5000);
    assert_eq!(server["lists"]["tools"], Value::Null);
    assert_eq!(inspected.call("tool_77", &json!({}))["state"], "ok");
    let render = inspected.post("/api/render", &json!({"server": 0, "tool": "tool_77"}));
    let providers: Vec<_> =
        render["providers"].as_array().unwrap().iter().map(|one| one["provider"].clone()).collect();
    assert_eq!(providers, ["openai", "openai_strict", "anthropic", "gemini"]);
}

#[test]
fn an_answer_of_ten_mebibytes_arrives_or_is_refused_with_its_size() {
    let inspected = Inspected::fixture(&["ten-mib"]);
    inspected.ready();
    let call = inspected.call("work", &json!({}));
    if call["state"] == "ok" {
        assert_eq!(call["blocks"][0]["text"].as_str().unwrap().len(), 10 << 20);
    } else {
        assert!(call["error"]["message"].as_str().unwrap().contains("MiB"), "{call}");
    }
    let mut frames = inspected.stream("/api/frames?server=0&after=0");
    let frame = frames.until(|frame| frame["dir"] == "in" && frame["bytes"].as_u64() > Some(10 << 20));
    // The list stays small; the whole frame comes when it is wanted.
    assert_eq!(frame["folded"], true);
    assert!(frame.to_string().len() < 10_000);
    let whole = inspected.get(&format!("/api/frame?server=0&n={}", frame["n"]));
    assert_eq!(whole["folded"], false);
    assert!(whole["frame"].as_str().unwrap().len() > 10 << 20);
}

#[test]
fn schemas_that_are_not_valid_are_reported_and_can_be_called_with_json() {
    let inspected = Inspected::fixture(&["bad-schema"]);
    let server = inspected.ready();
    let tools = server["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6);
    assert_eq!(tools[5]["fits"], json!([]));
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let checked =
            inspected.post("/api/check", &json!({"server": 0, "tool": name, "text": "{\"a\": \"x\"}"}));
        assert!(checked["arguments"].is_string(), "{name}: {checked}");
        let (status, render) = inspected.ask("POST", "/api/render", &json!({"server": 0, "tool": name}));
        assert!(status == 200 || status == 400, "{name}: {render}");
        let call = inspected.call(name, &json!({"a": "x"}));
        assert_eq!(call["state"], "ok", "{name}: {call}");
    }
}

#[test]
fn characters_that_a_reader_does_not_see_are_listed() {
    let inspected = Inspected::fixture(&["hidden"]);
    let server = inspected.ready();
    let found = server["tools"][0]["hidden"].to_string();
    for words in [
        "name: U+E0041 at character 4",
        "title: U+202E at character 5",
        "description: U+200B at character 7",
        "description: U+2066",
        "description: U+2069",
        "description: U+001B",
        "input schema: U+FEFF",
    ] {
        assert!(found.contains(words), "{words} is not in {found}");
    }
    assert_eq!(server["tools"][1]["hidden"], json!([]));
    let instructions = server["hidden"].to_string();
    assert!(instructions.contains("U+202E") && instructions.contains("U+200B"), "{instructions}");
}
