//! The handshake era: opening, versions, and headers.

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::testing::each_session;

use crate::http::{ping, post, read, service, with_sessions};

fn initialize(version: &str) -> Value {
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

async fn ask(body: &Value, version_header: Option<&str>) -> (u16, Value) {
    let mut request = post(body);
    if let Some(version) = version_header {
        request.headers_mut().insert("mcp-protocol-version", version.parse().unwrap());
    }
    let (status, body) = read(service().handle(request).await).await;
    (status.as_u16(), body)
}

#[tokio::test]
async fn initialize_is_answered_with_a_version_capabilities_and_identity() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        // Without a session the server cannot send change notifications.
        for (service, tools) in [(with_sessions(), json!({"listChanged": true})), (service(), json!({}))] {
            let (status, body) = read(service.handle(post(&initialize(asked))).await).await;
            assert_eq!(status, 200);
            let expected = json!({
                "protocolVersion": answered, "capabilities": {"tools": tools, "logging": {}},
                "serverInfo": {"name": "http", "version": "1.0.0"},
            });
            assert_eq!(body["result"], expected, "{asked}");
        }
    }
}

#[resource(uri = "notes://index")]
fn index() -> &'static str {
    "no notes"
}

#[tokio::test]
async fn only_a_peer_that_can_hear_of_changes_is_promised_them() {
    let server = Server::new("notes", "1.0.0").resources(resources![index]).build().unwrap();
    each_session(&server, async |client| {
        let promised = client.server_capabilities().resources.clone();
        assert_eq!(json!(promised), json!({"listChanged": true, "subscribe": true}));
    })
    .await;
    // Without a session a subscription cannot be stored, and a notification has no stream.
    let (_, body) = read(server.http().sessionless().handle(post(&initialize("2025-11-25"))).await).await;
    assert_eq!(body["result"]["capabilities"]["resources"], json!({}));
}

#[tokio::test]
async fn nothing_of_the_other_era_leaks_into_a_reply() {
    let (_, body) =
        ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}), Some("2025-11-25")).await;
    let members: Vec<_> = body["result"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["tools"]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
    let (_, body) = ask(&call, Some("2025-11-25")).await;
    assert_eq!(body["result"], json!({"content": [{"type": "text", "text": "3"}]}));
}

#[tokio::test]
async fn errors_travel_with_status_200() {
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    let (status, body) = ask(&unknown, Some("2025-11-25")).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32601)));
    let broken = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 7}});
    let (status, body) = ask(&broken, None).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
}

#[tokio::test]
async fn the_version_header_is_checked_and_may_be_missing() {
    assert_eq!(ask(&ping(), None).await.0, 200);
    assert_eq!(ask(&ping(), Some("2025-06-18")).await.0, 200);
    let (status, body) = ask(&ping(), Some("2025-01-01")).await;
    assert_eq!((status, &body["error"]["code"], &body["id"]), (400, &json!(-32600), &json!(1)));
    assert_eq!(ask(&ping(), Some("nonsense")).await.0, 400);
}

#[tokio::test]
async fn notifications_are_accepted_and_stray_answers_are_not() {
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(ask(&initialized, Some("2025-11-25")).await, (202, Value::Null));
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(ask(&answer, Some("2025-11-25")).await.0, 400);
}

#[tokio::test]
async fn a_pipe_is_opened_once() {
    let server = toolway::Server::new("pipe", "1.0.0").build().unwrap();
    let lines = format!("{}\n{}\n", initialize("2025-06-18"), initialize("2025-11-25"));
    let mut output = Vec::new();
    server.serve_io(lines.as_bytes(), &mut output).await.unwrap();
    let replies: Vec<Value> = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(replies[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(replies[1]["error"]["code"], -32600);
}
