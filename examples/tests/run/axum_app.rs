//! Is the example `axum_app` a web application and an MCP server, and does it stop on a signal?

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::{PATIENCE, address_of, spawn};

#[tokio::test]
async fn people_and_models_see_the_same_notes() {
    let mut server = spawn("axum_app", ["127.0.0.1:0"]);
    let address = address_of(&mut server).await;
    let page = |path: &str| curl(vec![format!("http://{address}{path}")]);
    assert_eq!(page("/").await.0, "<h1>0 notes</h1>");
    assert_eq!(page("/api/notes").await.0, "[]");

    let call = |token, tool, arguments| curl(a_call(&address, token, tool, &arguments));
    let (text, status) = call(Some("token-of-ann"), "save", json!({"text": "Buy milk."})).await;
    assert_eq!((text_of(&text), status), ("saved for ann".to_owned(), 200));
    assert_eq!(page("/").await.0, "<h1>1 notes</h1>");
    assert_eq!(page("/api/notes").await.0, r#"[{"author":"ann","text":"Buy milk."}]"#);
    let (text, _) = call(Some("token-of-bob"), "whoami", json!({})).await;
    assert_eq!(text_of(&text), "bob at 127.0.0.1");

    for token in [None, Some("token-of-nobody")] {
        let (text, status) = call(token, "save", json!({"text": "Let me in."})).await;
        assert_eq!(status, 401);
        assert!(text.contains("authentication is required"), "{text}");
    }
    let mut foreign = a_call(&address, Some("token-of-ann"), "whoami", &json!({}));
    foreign.extend(["-H".to_owned(), "Origin: https://evil.example".to_owned()]);
    assert_eq!(curl(foreign).await.1, 403);
    assert_eq!(page("/api/notes").await.0, r#"[{"author":"ann","text":"Buy milk."}]"#);
}

#[tokio::test]
async fn an_open_stream_does_not_hold_it_up() {
    let mut server = spawn("axum_app", ["127.0.0.1:0"]);
    let address = address_of(&mut server).await;
    let opening = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    });
    let url = format!("http://{address}/mcp");
    let ann = "Authorization: Bearer token-of-ann".to_owned();
    let arguments = [
        "-i".to_owned(),
        "-H".to_owned(),
        ann.clone(),
        "--json".to_owned(),
        opening.to_string(),
        url.clone(),
    ];
    let (reply, _) = curl(arguments.to_vec()).await;
    let session = reply.lines().find(|line| line.starts_with("mcp-session-id")).unwrap().to_owned();

    let mut stream = Command::new("curl")
        .args(["-sN", "-H", "Accept: text/event-stream", "-H", &ann, "-H", &session, &url])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(stream.stdout.take().unwrap()).lines();
    let first = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("the stream begins");
    assert!(first.unwrap().unwrap().starts_with("id: "));

    let pid = server.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
    let ended = tokio::time::timeout(PATIENCE, server.wait()).await.expect("the server ends");
    assert!(ended.unwrap().success());
    let left = tokio::time::timeout(PATIENCE, stream.wait()).await.expect("the stream ends");
    assert!(left.unwrap().success(), "it has ended as streams do, not been cut off");
}

/// The arguments of `curl` for a call of 2026-07-28.
fn a_call(address: &str, token: Option<&str>, tool: &str, arguments: &Value) -> Vec<String> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut all = vec![format!("http://{address}/mcp"), "--json".to_owned(), message.to_string()];
    let token = token.map(|token| format!("Authorization: Bearer {token}"));
    let named = ["MCP-Protocol-Version: 2026-07-28".to_owned(), "Mcp-Method: tools/call".to_owned()];
    for header in named.into_iter().chain([format!("Mcp-Name: {tool}")]).chain(token) {
        all.extend(["-H".to_owned(), header]);
    }
    all
}

/// Runs `curl` and returns the body and the status.
async fn curl(arguments: Vec<String>) -> (String, u16) {
    let asking = Command::new("curl").args(["-s", "-w", "\n%{http_code}"]).args(arguments).output();
    let Output { stdout, status, .. } = asking.await.expect("this test needs the program `curl`");
    assert!(status.success(), "curl: {status}");
    let text = String::from_utf8(stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (body.to_owned(), status.parse().unwrap())
}

/// Returns the text of a tool's answer.
fn text_of(reply: &str) -> String {
    let reply: Value = serde_json::from_str(reply).unwrap_or_else(|error| panic!("{error}: {reply}"));
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}
