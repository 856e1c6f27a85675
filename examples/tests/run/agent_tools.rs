//! Does the example `agent_tools` offer tools in OpenAI's format, make the calls that the model wants, and return every
//! result?
//!
//! The model is a web server with scripted replies that records its requests.

use std::collections::VecDeque;
use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{PATIENCE, program};

/// A model with scripted replies, which repeats the last one.
#[derive(Clone)]
struct Script {
    replies: Arc<Mutex<VecDeque<Value>>>,
    heard: Arc<Mutex<Vec<Value>>>,
}

/// The key that the agent is given; only the model may see it.
const KEY: &str = "a-secret-key";

impl Script {
    /// Starts the model, and returns its URL.
    async fn start(replies: impl IntoIterator<Item = Value>) -> (Self, String) {
        let script =
            Self { replies: Arc::new(Mutex::new(replies.into_iter().collect())), heard: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1/", listener.local_addr().unwrap());
        let app = axum::Router::new().route("/v1/chat/completions", axum::routing::post(reply));
        tokio::spawn(axum::serve(listener, app.with_state(script.clone())).into_future());
        (script, base)
    }

    fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }
}

async fn reply(
    State(script): State<Script>,
    headers: HeaderMap,
    axum::Json(request): axum::Json<Value>,
) -> (StatusCode, axum::Json<Value>) {
    let is_known = headers.get("authorization").is_some_and(|token| *token == *format!("Bearer {KEY}"));
    if !is_known {
        return (StatusCode::UNAUTHORIZED, axum::Json(json!({"error": {"message": "who are you?"}})));
    }
    script.heard.lock().unwrap().push(request);
    let mut replies = script.replies.lock().unwrap();
    let message = if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
    (StatusCode::OK, axum::Json(json!({"id": "chatcmpl-1", "choices": [{"index": 0, "message": message}]})))
}

fn wants(calls: impl IntoIterator<Item = (&'static str, &'static str, &'static str)>) -> Value {
    let calls = calls.into_iter().map(|(id, name, arguments)| {
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()})
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// Runs the agent with a model.
async fn run(base: &str, key: &str) -> Output {
    let running = Command::new(program("agent_tools"))
        .arg("What is 2 + 3?")
        .env_remove("MCP_CONFIG")
        .env("OPENAI_BASE_URL", base)
        .env("OPENAI_API_KEY", key)
        .env("OPENAI_MODEL", "a-model")
        .kill_on_drop(true)
        .output();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap()
}

#[tokio::test]
async fn a_model_gets_tools_results_and_failures_until_it_has_an_answer() {
    let pair = wants([("call_a", "calc__add", r#"{"a": 2, "b": 3}"#), ("call_b", "today", "{}")]);
    let mistakes = wants([
        ("call_c", "calc__add", r#"{"a": 2, "#),
        ("call_d", "calc__ad", "{}"),
        ("call_e", "calc__divide", r#"{"a": 1, "by": 0}"#),
    ]);
    let (model, base) = Script::start([pair.clone(), mistakes.clone(), says("It is 5.")]).await;
    let Output { status, stdout, stderr } = run(&base, KEY).await;
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{stderr}");
    assert_eq!(String::from_utf8(stdout).unwrap(), "It is 5.\n");
    assert!(!stderr.contains(KEY), "{stderr}");

    let [first, second, third] = &*model.heard() else { panic!("three rounds: {:?}", model.heard()) };
    for request in [first, second, third] {
        assert_eq!(request["model"], "a-model");
        assert_eq!(request["tools"], first["tools"], "the same tools in each round");
    }
    check_tools(&first["tools"]);

    // The question, then the model's own message, then a result for each call, by its id.
    let asked = first["messages"].as_array().unwrap();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1], json!({"role": "user", "content": "What is 2 + 3?"}));
    let results = &second["messages"].as_array().unwrap()[2..];
    let told = [
        pair,
        json!({"role": "tool", "tool_call_id": "call_a", "content": "5"}),
        json!({"role": "tool", "tool_call_id": "call_b", "content": "Monday"}),
    ];
    assert_eq!(results, told);

    // A failure is a result as well.
    let results = &third["messages"].as_array().unwrap()[5..];
    assert_eq!(results[0], mistakes);
    let ids: Vec<_> = results[1..].iter().map(|message| message["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["call_c", "call_d", "call_e"]);
    let texts: Vec<_> = results[1..].iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert!(texts[0].starts_with("error: the arguments are not valid JSON: "), "{texts:?}");
    assert_eq!(texts[1], "error: no such tool: `calc__ad`, did you mean `calc__add`?");
    assert_eq!(texts[2], "error: a number cannot be divided by 0");
}

/// Checks `tools` against OpenAI's rules: functions with an allowed name, and an object of arguments.
fn check_tools(tools: &Value) {
    let tools = tools.as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["calc__add", "calc__divide", "today"]);
    for tool in tools {
        assert_eq!(tool["type"], "function");
        let keys: Vec<_> = tool["function"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["description", "name", "parameters"]);
        assert_eq!(tool["function"]["parameters"]["type"], "object");
    }
    let add = &tools[0]["function"];
    assert_eq!(add["description"], "Add two numbers.");
    assert_eq!(add["parameters"]["required"], json!(["a", "b"]));
    assert_eq!(add["parameters"]["properties"]["a"]["type"], "number");
}

#[tokio::test]
async fn a_model_that_never_comes_to_an_end_is_given_up() {
    let (model, base) = Script::start([wants([("call_a", "today", "{}")])]).await;
    let Output { status, stderr, .. } = run(&base, KEY).await;
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(!status.success());
    assert!(stderr.contains("the model wanted tools 8 times in a row: given up"), "{stderr}");
    assert_eq!(model.heard().len(), 8);
}

#[tokio::test]
async fn a_model_that_refuses_is_shown_without_the_key() {
    let (model, base) = Script::start([says("hello")]).await;
    let Output { status, stderr, .. } = run(&base, "another-secret").await;
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(!status.success());
    assert!(stderr.contains("401 Unauthorized") && stderr.contains("who are you?"), "{stderr}");
    assert!(!stderr.contains("another-secret"), "{stderr}");
    assert!(model.heard().is_empty());
}

#[tokio::test]
async fn without_a_model_a_program_plays_one() {
    let mut agent = Command::new(program("agent_tools"));
    agent
        .env_remove("OPENAI_BASE_URL")
        .env_remove("OPENAI_API_KEY")
        .env_remove("MCP_CONFIG")
        .kill_on_drop(true);
    let running = agent.output();
    let Output { status, stdout, stderr } =
        tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let said = String::from_utf8(stdout).unwrap();
    assert_eq!(said, "The tools say: 5; error: a number cannot be divided by 0.\n");
}
