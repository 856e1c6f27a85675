//! Does a call have the same result in both eras? The library compares, and names where it differs.

use serde_json::{Value, json};

use crate::browser::Inspected;
use crate::stage::{Http, fixture};

fn both(inspected: &Inspected, tool: &str, arguments: &Value, answers: &Value) -> Value {
    inspected.both(&json!({
        "server": 0, "tool": tool, "arguments": arguments.to_string(), "answers": answers, "timeout_ms": 30_000,
    }))
}

#[test]
fn every_tool_gives_the_same_in_both_eras() {
    let mut command = fixture();
    command.args(["more", "serve", "--http", "127.0.0.1:0"]);
    let http = Http::start(command);
    for inspected in [Inspected::fixture(&["more", "serve"]), Inspected::start(&[&http.url])] {
        let server = inspected.ready();
        let arguments = |tool: &str| match tool {
            "add" | "sum" => Some(json!({"a": 1, "b": 2})),
            "fail" => Some(json!({"reason": "no luck"})),
            "count" => Some(json!({"to": 3})),
            "echo" => Some(json!({"text": "é"})),
            "big" => Some(json!({"bytes": 100_000})),
            "summarize" => Some(json!({"text": "a story"})),
            // One differs, the next two never end, and the last one changes the server.
            "era" | "wait" | "forever" | "reconfigure" => None,
            _ => Some(json!({})),
        };
        let accept = |message: &str, content: Value| json!({"message": message, "action": "accept", "content": content.to_string()});
        let answers = json!([
            accept("Who are you?", json!({"name": "Ann"})),
            accept("Where do you live, Ann?", json!({"place": "Bern"})),
            accept("A table for the evening?", json!({"guests": 2, "outside": false})),
            accept("Please pay 3 €.", json!({})),
            accept("Summarize: a story", json!({"model": "m", "text": "short"})),
        ]);
        let mut compared = 0;
        for tool in server["tools"].as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            let Some(arguments) = arguments(name) else { continue };
            let both = both(&inspected, name, &arguments, &answers);
            assert_eq!(both["verdict"]["equal"], true, "{name}: {} {}", both["verdict"], both["error"]);
            let names: Vec<_> = both["verdict"]["parts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|part| part["name"].clone())
                .collect();
            assert_eq!(names, ["content", "structuredContent", "isError", "_meta"]);
            let (left, right) = (&both["sides"][0], &both["sides"][1]);
            assert_eq!((&left["revision"], &left["era"]), (&json!("2025-11-25"), &json!("handshake")));
            assert_eq!((&right["revision"], &right["era"]), (&json!("2026-07-28"), &json!("stateless")));
            for side in [left, right] {
                let call = inspected.get(&format!("/api/call?id={}", side["call"]));
                let expected = if name == "fail" { "tool_error" } else { "ok" };
                assert_eq!(call["state"], expected, "{name}: {call}");
                assert!(!side["frames"].as_array().unwrap().is_empty());
            }
            if name == "twice" {
                let rounds = &both["verdict"]["rounds"][0];
                assert_eq!(rounds["left"], json!(["elicitation/create", "elicitation/create"]));
                assert_eq!(rounds["right"], json!(["input_required", "input_required"]));
            }
            compared += 1;
        }
        assert!(compared >= 15, "{compared}");
    }
}

#[test]
fn a_difference_of_one_byte_has_its_path() {
    let inspected = Inspected::fixture(&["more", "serve"]);
    inspected.ready();
    let both = both(&inspected, "era", &json!({}), &json!([]));
    assert_eq!(both["verdict"]["equal"], false);
    let parts = both["verdict"]["parts"].as_array().unwrap();
    let structured = parts.iter().find(|part| part["name"] == "structuredContent").unwrap();
    assert_eq!(structured["differences"], json!([{"path": "/list/0/byte", "was": "\"a\"", "is": "\"b\""}]));
    let content = parts.iter().find(|part| part["name"] == "content").unwrap();
    assert_eq!((&content["equal"], &content["differences"][0]["path"]), (&json!(false), &json!("/0/text")));
    for name in ["isError", "_meta"] {
        assert_eq!(parts.iter().find(|part| part["name"] == name).unwrap()["equal"], true, "{name}");
    }
}

#[test]
fn a_question_of_a_comparison_is_asked_on_its_side() {
    let inspected = Inspected::fixture(&["more", "serve"]);
    inspected.ready();
    let mut events = inspected.events();
    let both =
        inspected.post("/api/both", &json!({"server": 0, "tool": "book", "arguments": "{}"}))["both"].clone();
    for revision in ["2025-11-25", "2026-07-28"] {
        let question = events.question();
        assert_eq!(question["revision"], revision);
        let call = inspected.get(&format!("/api/call?id={}", question["call"]));
        assert_eq!((&call["both"], &call["state"]), (&both, &json!("asking")));
        let answer = json!({"question": question["id"], "action": "accept", "fields": [["guests", "3"]]});
        inspected.post("/api/answer", &answer);
    }
    events.until(|event| event["type"] == "both" && event["state"] == "done");
    let comparison = inspected.get(&format!("/api/both?id={both}"));
    assert_eq!(comparison["verdict"]["equal"], true, "{comparison}");
}

#[test]
fn a_server_of_one_era_cannot_be_compared() {
    let inspected = Inspected::fixture(&["liar"]);
    inspected.ready();
    let both = both(&inspected, "sum", &json!({}), &json!([]));
    assert_eq!((&both["state"], &both["verdict"]), (&json!("done"), &Value::Null));
    let message = both["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("cannot be compared in both eras") && message.contains("2026-07-28"),
        "{message}"
    );
}
