//! Does the example `users` tell its callers apart, and does each see what its plan includes?

use serde_json::{Value, json};
use tokio::process::Command;

use super::{address_of, call, spawn, start};

#[tokio::test]
async fn a_plan_decides_what_is_seen() {
    let mut server = spawn("users", ["127.0.0.1:0"]);
    let url = format!("http://{}/mcp", address_of(&mut server).await);
    let names = async |token, method, list: &str| -> Vec<String> {
        let answer = ask(&url, Some(token), method, json!({})).await.0;
        let items = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
        items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let said = async |token, tool, arguments| -> String {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = ask(&url, Some(token), "tools/call", params).await.0;
        let error = &answer["error"]["message"];
        error.as_str().or(answer["result"]["content"][0]["text"].as_str()).unwrap().to_owned()
    };
    assert_eq!(names("token-of-ann", "tools/list", "tools").await, ["save", "wipe", "whoami"]);
    assert_eq!(names("token-of-bob", "tools/list", "tools").await, ["save", "whoami"]);
    assert_eq!(names("token-of-ann", "prompts/list", "prompts").await, ["summary"]);
    assert_eq!(names("token-of-bob", "prompts/list", "prompts").await, [""; 0]);
    assert_eq!(names("token-of-bob", "resources/templates/list", "resourceTemplates").await, ["note"]);

    assert_eq!(said("token-of-bob", "whoami", json!({})).await, "bob from 127.0.0.1");
    assert_eq!(said("token-of-bob", "save", json!({"text": "Milk."})).await, "notes://1");
    assert_eq!(said("token-of-bob", "wipe", json!({})).await, "no such tool: `wipe`");
    let read = async |token, uri| {
        let answer = ask(&url, Some(token), "resources/read", json!({"uri": uri})).await.0;
        answer["result"]["contents"][0]["text"].as_str().map(str::to_owned)
    };
    assert_eq!(read("token-of-bob", "notes://1").await.as_deref(), Some("Milk."));
    assert_eq!(read("token-of-ann", "notes://1").await, None);
    assert_eq!(read("token-of-ann", "statistics://notes").await.as_deref(), Some("1"));
    assert_eq!(read("token-of-bob", "statistics://notes").await, None);

    for (token, status, text) in [
        (None, 401, "authentication is required"),
        (Some("token-of-nobody"), 401, "authentication is required"),
        (Some("token-of-eve"), 403, "please upgrade your plan"),
    ] {
        let (answer, refused) = ask(&url, token, "tools/list", json!({})).await;
        assert_eq!((refused, &answer["error"]["message"]), (status, &json!(text)));
    }
}

#[tokio::test]
async fn on_a_pipe_there_is_one_caller() {
    let (client, _child) = start("users").await;
    assert_eq!(call(&client, "whoami", json!({})).await, "the owner of this machine");
    assert_eq!(client.tools().await.unwrap().len(), 3);
}

/// Sends a request of 2026-07-28 and returns the answer and the status.
async fn ask(url: &str, token: Option<&str>, method: &str, mut params: Value) -> (Value, u16) {
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut curl = Command::new("curl");
    curl.args(["-s", "-w", "\n%{http_code}", url, "--json", &message]);
    let headers = [
        Some("MCP-Protocol-Version: 2026-07-28".to_owned()),
        Some(format!("Mcp-Method: {method}")),
        name.map(|name| format!("Mcp-Name: {name}")),
        token.map(|token| format!("Authorization: Bearer {token}")),
    ];
    for header in headers.into_iter().flatten() {
        curl.args(["-H", &header]);
    }
    let output = curl.output().await.expect("this test needs the program `curl`");
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (serde_json::from_str(body).unwrap(), status.parse().unwrap())
}
