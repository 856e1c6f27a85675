//! What does a user see of a call: its check, its progress, its end, and how it differs from the one before?

use serde_json::{Value, json};

use crate::browser::{Inspected, is_over};
use crate::stage::{fixture_http, fixture_path, on_fixture};

#[test]
fn a_form_and_json_are_checked_in_the_words_of_the_command() {
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    let check = |request: Value| inspected.post("/api/check", &request);
    let checked = check(json!({"server": 0, "tool": "add", "fields": [["a", "1"], ["b", "2.5"]]}));
    assert_eq!(checked["ok"], true, "{checked}");
    let arguments: Value = serde_json::from_str(checked["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"a": 1, "b": 2.5}));
    for words in [&["a=x", "b=2"][..], &["a=1"], &["a=1", "b=2", "c=3"], &["a=@/etc/hostname", "b=1"], &[]] {
        let fields: Vec<_> = words.iter().map(|word| word.split_once('=').unwrap()).collect();
        let checked = check(json!({"server": 0, "tool": "add", "fields": fields}));
        assert_eq!(checked["ok"], false, "{words:?}");
        let said = on_fixture(&[&["call", "add"], words].concat()).stderr;
        for problem in checked["problems"].as_array().unwrap() {
            let problem = problem.as_str().unwrap();
            // On the command line this word is the content of a file.
            assert!(
                said.contains(problem) || words[0].contains('@'),
                "{words:?}: {problem} is not in {said}"
            );
        }
        assert!(!checked["problems"].as_array().unwrap().is_empty(), "{words:?}");
    }
    let checked = check(json!({"server": 0, "tool": "add", "text": "{\"a\": 1,\n \"b\": }"}));
    assert_eq!(
        (&checked["ok"], &checked["at"]),
        (&json!(false), &json!({"line": 2, "column": 7})),
        "{checked}"
    );
    let checked = check(json!({"server": 0, "tool": "add", "text": "[1]"}));
    assert_eq!((&checked["ok"], &checked["at"]), (&json!(false), &Value::Null), "{checked}");
    let (status, error) =
        inspected.refused("/api/check", &json!({"server": 0, "tool": "none", "text": "{}"}));
    assert_eq!((status, &error["code"]), (404, &json!("not_found")));
}

#[test]
fn numbers_and_the_order_of_members_arrive_as_they_were_written() {
    let inspected = Inspected::fixture(&["more", "serve"]);
    inspected.ready();
    let text = r#"{"password":"1.0e2 and 12345678901234567890123","text":"z first"}"#;
    let checked = inspected.post("/api/check", &json!({"server": 0, "tool": "echo", "text": text}));
    assert!(
        checked["arguments"].as_str().unwrap().find("password")
            < checked["arguments"].as_str().unwrap().find("text")
    );
    let call = inspected.begin(&json!({"kind": "tool", "name": "facts", "arguments": "{}"}));
    let call = inspected.over(call);
    assert_eq!(call["structured"], r#"{"z":1,"a":[true,null]}"#, "{call}");
}

#[test]
fn a_call_shows_its_progress_its_result_and_its_frames() {
    for http in [None, Some(fixture_http())] {
        let inspected = match &http {
            None => Inspected::fixture(&["serve"]),
            Some(http) => Inspected::start(&[&http.url]),
        };
        inspected.ready();
        let mut events = inspected.events();
        let call = inspected.begin(&json!({"kind": "tool", "name": "work", "arguments": "{\"steps\": 4}"}));
        let seen = events.all_until(|event| is_over(event, call));
        let progress: Vec<_> = seen
            .iter()
            .filter(|event| event["type"] == "call" && event["call"]["state"] == "running")
            .filter_map(|event| event["call"]["progress"]["progress"].as_f64())
            .collect();
        for step in [1.0, 2.0, 3.0, 4.0] {
            assert!(progress.contains(&step), "{progress:?}");
        }
        let details = inspected.get(&format!("/api/call?id={call}"));
        assert_eq!(
            (&details["state"], &details["kind"], &details["name"]),
            (&json!("ok"), &json!("tool"), &json!("work"))
        );
        assert_eq!(details["blocks"], json!([{"type": "text", "text": "done"}]));
        assert_eq!(details["output"]["state"], "none");
        assert!(details["bytes"].as_u64().unwrap() > 10);
        let (first, last) = (details["frames"][0].as_u64().unwrap(), details["frames"][1].as_u64().unwrap());
        let request = inspected
            .stream(&format!("/api/frames?server=0&after={}", first - 1))
            .until(|frame| frame["method"] == "tools/call" && frame["dir"] == "out");
        assert!((first..=last).contains(&request["n"].as_u64().unwrap()), "{request}");
        assert_eq!(request["about"], "work");
        let calls = inspected.get("/api/calls?server=0");
        assert_eq!(calls["calls"][0]["id"], call);
    }
}

#[test]
fn resources_templates_prompts_and_completions_are_called_too() {
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    let call = |request: Value| {
        let call = inspected.begin(&request);
        let over = inspected.over(call);
        assert_eq!(over["state"], "ok", "{over}");
        over
    };
    let read = call(json!({"kind": "resource", "uri": "fixture://about"}));
    assert_eq!(read["blocks"][0]["text"], "A fixture.");
    let read = call(
        json!({"kind": "resource", "template": "fixture://city/{name}", "arguments": "{\"name\":\"Bern\"}"}),
    );
    assert_eq!(
        (&read["blocks"][0]["text"], &read["name"]),
        (&json!("Bern is a city."), &json!("fixture://city/Bern"))
    );
    let prompt =
        call(json!({"kind": "prompt", "name": "sights", "arguments": "{\"city\":\"Bern\",\"days\":2}"}));
    assert_eq!(prompt["blocks"][0]["text"], "What should I see in Bern in 2 days?");
    assert_eq!(prompt["blocks"][1]["role"], "assistant");
    let completion = call(
        json!({"kind": "complete", "name": "sights", "argument": "city", "typed": "Be", "arguments": "{}"}),
    );
    let result: Value = serde_json::from_str(completion["result"].as_str().unwrap()).unwrap();
    assert_eq!(result["completion"]["values"], json!(["Bern", "Berlin"]));
    let completion = call(
        json!({"kind": "complete", "template": "fixture://city/{name}", "argument": "name", "typed": "L", "arguments": "{}"}),
    );
    let result: Value = serde_json::from_str(completion["result"].as_str().unwrap()).unwrap();
    assert_eq!(result["completion"]["values"], json!(["Lisbon"]));
    let missing = inspected.refused(
        "/api/call",
        &json!({"server": 0, "kind": "resource", "template": "fixture://city/{name}", "arguments": "{}"}),
    );
    assert_eq!(missing.0, 400);
    let picture = call(json!({"kind": "tool", "name": "draw", "arguments": "{}"}));
    assert_eq!(
        (&picture["blocks"][1]["type"], &picture["blocks"][1]["mime_type"]),
        (&json!("image"), &json!("image/png"))
    );
}

#[test]
fn errors_of_tools_servers_and_arguments_differ() {
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    let failed = inspected.call("fail", &json!({"reason": "no luck"}));
    assert_eq!((&failed["state"], &failed["blocks"][0]["text"]), (&json!("tool_error"), &json!("no luck")));
    let unknown = inspected.call("none", &json!({}));
    assert_eq!(
        (&unknown["state"], &unknown["error"]["code"]),
        (&json!("failed"), &json!("tool_error")),
        "{unknown}"
    );
    let said = on_fixture(&["call", "none"]);
    assert!(!said.stderr.is_empty());
    let (status, error) = inspected
        .refused("/api/call", &json!({"server": 0, "kind": "tool", "name": "add", "arguments": "[]"}));
    assert_eq!((status, &error["code"]), (400, &json!("usage")));
    assert_eq!(inspected.refused("/api/call", &json!({"server": 9, "kind": "tool", "name": "add"})).0, 404);
    assert_eq!(inspected.refused("/api/call", &json!({"server": 0, "kind": "program", "name": "ls"})).0, 400);
    assert_eq!(inspected.refused("/api/cancel", &json!({"call": 99})).0, 404);
}

#[test]
fn a_call_that_is_cancelled_is_cancelled_at_the_server() {
    for revision in ["2025-11-25", "2026-07-28"] {
        for is_http in [false, true] {
            let mut server = crate::stage::fixture();
            server.args(["more", "serve", "--http", "127.0.0.1:0"]);
            let mut http = is_http.then(|| crate::stage::Http::start(server));
            let fixture = fixture_path();
            let inspected = match &http {
                None => Inspected::start(&[
                    "--protocol",
                    revision,
                    "--",
                    fixture.to_str().unwrap(),
                    "more",
                    "serve",
                ]),
                Some(http) => Inspected::start(&["--protocol", revision, &http.url]),
            };
            inspected.ready();
            let mut events = inspected.events();
            let call = inspected.begin(&json!({"kind": "tool", "name": "forever", "arguments": "{}"}));
            events.until(|event| event["type"] == "call" && event["call"]["progress"]["progress"] == 1.0);
            inspected.post("/api/cancel", &json!({ "call": call }));
            let over = inspected.over(call);
            assert_eq!((&over["state"], &over["result"]), (&json!("cancelled"), &Value::Null));
            match &mut http {
                None => {
                    inspected
                        .stream("/api/frames?server=0&after=0")
                        .until(|frame| frame["dir"] == "err" && frame["raw"] == "the caller has given up");
                }
                Some(http) => {
                    http.hints_until("the caller has given up");
                }
            }
        }
    }
}

#[test]
fn a_timeout_says_what_is_open_and_silent() {
    let inspected = Inspected::fixture(&["hangs-in-call"]);
    inspected.ready();
    let call =
        inspected.begin(&json!({"kind": "tool", "name": "work", "arguments": "{}", "timeout_ms": 300}));
    let over = inspected.over(call);
    assert_eq!(over["state"], "failed", "{over}");
    assert!(over["error"]["message"].as_str().unwrap().contains("within 300ms"), "{over}");
    let open = over["timeout"]["open"].as_array().unwrap();
    assert!(
        open.iter().any(|request| request["method"] == "tools/call" && request["about"] == "work"),
        "{over}"
    );
    let lines = over["timeout"]["stderr"].as_array().unwrap();
    assert_eq!((lines.len(), &lines[9]), (10, &json!("waiting for the database, 20")), "{over}");
    assert_eq!(over["timeout"]["silent_streams"], json!([]));

    let http = fixture_http();
    let inspected = Inspected::start(&[&http.url]);
    inspected.ready();
    let call =
        inspected.begin(&json!({"kind": "tool", "name": "wait", "arguments": "{}", "timeout_ms": 300}));
    let over = inspected.over(call);
    assert_eq!(over["state"], "failed", "{over}");
    let open = over["timeout"]["open"].as_array().unwrap();
    assert!(open.iter().any(|request| request["method"] == "tools/call"), "{over}");
}

#[test]
fn a_result_is_compared_with_the_one_before() {
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    let first = inspected.call("add", &json!({"a": 1, "b": 2}));
    assert_eq!((&first["last"], &first["diff"]), (&Value::Null, &Value::Null));
    let same = inspected.call("add", &json!({"a": 2, "b": 1}));
    assert_eq!((&same["last"], &same["diff"]), (&first["result"], &json!([])));
    let other = inspected.call("add", &json!({"a": 2, "b": 2}));
    let changed = other["diff"].as_array().unwrap();
    assert!(changed.contains(&json!({"path": "/content/0/text", "was": "\"3\"", "is": "\"4\""})), "{other}");
    inspected.call("empty", &json!({}));
    let again = inspected.call("add", &json!({"a": 2, "b": 2}));
    assert_eq!(again["diff"], json!([]), "calls of other tools do not count");
}

#[test]
fn a_structured_result_fits_its_schema_or_the_differences_are_named() {
    let inspected = Inspected::fixture(&["more", "serve"]);
    inspected.ready();
    let fits = inspected.call("sum", &json!({"a": 1, "b": 2}));
    assert_eq!(
        (&fits["output"], &fits["structured"]),
        (&json!({"state": "fits", "problems": []}), &json!("{\"sum\":3}"))
    );
    let liar = Inspected::fixture(&["liar"]);
    liar.ready();
    let differs = liar.call("sum", &json!({}));
    assert_eq!(
        (&differs["state"], &differs["output"]["state"]),
        (&json!("ok"), &json!("differs")),
        "{differs}"
    );
    let problems = differs["output"]["problems"].to_string();
    assert!(problems.contains("sum") && problems.contains("more"), "{problems}");
}

#[test]
fn a_new_tool_is_a_change_of_the_catalog() {
    let inspected = Inspected::fixture(&["more", "serve"]);
    inspected.ready();
    let mut events = inspected.events();
    inspected.call("reconfigure", &json!({}));
    let change = events.until(|event| event["type"] == "catalog" && event["first"] == false);
    assert_eq!(change["diff"]["tools"]["added"], json!(["added"]), "{change}");
    assert_eq!(change["diff"]["tools"]["removed"], json!([]));
    let tools = inspected.server(0)["tools"].clone();
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["name"] == "added"));
    assert_eq!(inspected.call("added", &json!({}))["blocks"][0]["text"], "new");
}
