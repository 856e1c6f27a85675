//! Does an exported call do the same again: for a shell, for another user, as a test, as a recording?

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use toolway::client::record::Cassette;

use crate::browser::Inspected;
use crate::stage::{Folder, Http, fixture, fixture_path, toolway};

/// Calls whose results are the same each time.
fn calls() -> [(&'static str, Value); 5] {
    [
        ("add", json!({"a": 1.5, "b": 2})),
        ("sum", json!({"a": 1, "b": 2})),
        ("echo", json!({"text": "it's \"quoted\"\\ and\nbroken, größer $HOME `id` #\"#"})),
        ("facts", json!({})),
        ("draw", json!({})),
    ]
}

fn more_http() -> Http {
    let mut command = fixture();
    command.args(["more", "serve", "--http", "127.0.0.1:0"]);
    Http::start(command)
}

/// Runs a text in a shell in which `toolway` is the one of this build.
fn shell(text: &str) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_toolway")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    // The same settings as for every program of these tests.
    let clean = toolway();
    let mut command = Command::new("sh");
    command.args(["-euc", text]).env("PATH", path.unwrap());
    for (name, value) in clean.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.current_dir(clean.get_current_dir().unwrap()).output().unwrap();
    assert!(output.status.success(), "{text}\n{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn result_of(call: &Value) -> Value {
    serde_json::from_str(call["result"].as_str().unwrap()).unwrap()
}

/// Returns the parts of a result that do not depend on the connection.
fn content(result: &Value) -> (Value, Value) {
    (result["content"].clone(), result["structuredContent"].clone())
}

#[test]
fn an_exported_command_gives_the_same_result() {
    let http = more_http();
    let fixture = fixture_path();
    for words in [&["--", fixture.to_str().unwrap(), "more", "serve"][..], &[&http.url]] {
        let inspected = Inspected::start(words);
        inspected.ready();
        for (tool, arguments) in calls() {
            let call = inspected.call(tool, &arguments);
            let line = inspected.export(&call["id"], "toolway");
            assert!(line.starts_with("toolway call "), "{line}");
            let printed = shell(&line.replacen("toolway call", "toolway call --json", 1));
            let printed: Value =
                serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{line}: {printed}"));
            assert_eq!(content(&printed), content(&result_of(&call)), "{line}");
        }
        let read = inspected.begin(&json!({"kind": "resource", "uri": "fixture://city/Bern"}));
        inspected.over(read);
        assert_eq!(shell(&inspected.export(&json!(read), "toolway")), "Bern is a city.\n");
    }
}

#[test]
fn an_exported_curl_command_gives_the_same_result() {
    let http = more_http();
    for revision in ["2026-07-28", "2025-11-25"] {
        let inspected = Inspected::start(&["--protocol", revision, &http.url]);
        inspected.ready();
        for (tool, arguments) in calls() {
            let call = inspected.call(tool, &arguments);
            let text = inspected.export(&call["id"], "curl");
            assert_eq!(text.contains("session=$("), revision == "2025-11-25", "{text}");
            let printed = shell(&text);
            // The answer is JSON, or an event of a stream.
            let answer = printed
                .lines()
                .map(|line| line.strip_prefix("data:").unwrap_or(line))
                .filter_map(|line| serde_json::from_str::<Value>(line).ok())
                .find(|message| message["result"]["content"].is_array())
                .unwrap_or_else(|| panic!("{text}\n{printed}"));
            assert_eq!(content(&answer["result"]), content(&result_of(&call)), "{text}");
        }
    }
    let pipe = Inspected::fixture(&["serve"]);
    pipe.ready();
    let call = pipe.call("add", &json!({"a": 1, "b": 2}));
    let (status, error) = pipe.refused("/api/export", &json!({"call": call["id"], "as": "curl"}));
    assert_eq!(status, 400);
    assert!(error["message"].as_str().unwrap().contains("toolway proxy --http"), "{error}");
    assert_eq!(pipe.refused("/api/export", &json!({"call": call["id"], "as": "exe"})).0, 400);
}

#[test]
fn an_exported_recording_can_be_opened() {
    let inspected = Inspected::fixture(&["more", "serve"]);
    inspected.ready();
    inspected.call("add", &json!({"a": 1, "b": 2}));
    let call = inspected.call("echo", &json!({"text": "only this"}));
    inspected.call("facts", &json!({}));
    let text = inspected.export(&call["id"], "cassette");
    let frames = Cassette::read(&text).unwrap().frames;
    assert!(!frames.is_empty() && text.contains("only this") && !text.contains("facts"), "{text}");
    let folder = Folder::new();
    let again = Inspected::start(&[&folder.write("call.jsonl", &text)]);
    let mut shown = again.stream("/api/frames?server=0&after=0");
    let reply = shown.until(|frame| frame["kind"] == "result");
    assert_eq!((&reply["method"], &reply["about"]), (&json!("tools/call"), &json!("echo")));
}
