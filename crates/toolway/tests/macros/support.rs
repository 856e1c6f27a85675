//! Sends requests to a server, as a client would.

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::Extensions;

/// Sends a request and returns its result.
pub(crate) async fn ask(server: &Server, method: &str, params: Value) -> Value {
    let mut answer = answer(server, method, params).await;
    assert_eq!(answer.get("error"), None, "{method} failed");
    answer["result"].take()
}

/// Sends a request and returns its error.
pub(crate) async fn refused(server: &Server, method: &str, params: Value) -> Value {
    let mut answer = answer(server, method, params).await;
    assert_eq!(answer.get("result"), None, "{method} succeeded");
    answer["error"].take()
}

async fn answer(server: &Server, method: &str, params: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let answer = server.handle_json(message, Extensions::new()).await.expect("a request is answered");
    serde_json::from_str(&answer).expect("an answer is JSON")
}

/// Calls a tool and returns its text.
pub(crate) async fn call(server: &Server, name: &str, arguments: Value) -> String {
    let result = ask(server, "tools/call", json!({"name": name, "arguments": arguments})).await;
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
