//! The stateless era over HTTP: the order of refusals, with exact codes and statuses.

use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::ToolEntry;

use crate::http::{post, read, service};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const LATEST: &str = "2026-07-28";

fn envelope() -> Value {
    json!({VERSION: LATEST, CAPABILITIES: {}})
}

fn discover(meta: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}})
}

fn call() -> Value {
    let params = json!({"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": envelope()});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn dressed(body: &Value, headers: &[(&'static str, &str)]) -> Request<Full<bytes::Bytes>> {
    let mut request = post(body);
    for (name, value) in headers {
        request.headers_mut().append(*name, value.parse().unwrap());
    }
    request
}

async fn ask(body: &Value, headers: &[(&'static str, &str)]) -> (u16, Value) {
    let (status, body) = read(service().handle(dressed(body, headers)).await).await;
    (status.as_u16(), body)
}

#[tokio::test]
async fn a_complete_result_says_so_and_who_answers() {
    let headers = [("mcp-protocol-version", LATEST), ("mcp-method", "tools/call"), ("mcp-name", "add")];
    let (status, body) = ask(&call(), &headers).await;
    assert_eq!(status, 200);
    let server = json!({"name": "http", "version": "1.0.0"});
    let result = json!({
        "resultType": "complete", "content": [{"type": "text", "text": "5"}],
        "_meta": {"io.modelcontextprotocol/serverInfo": server},
    });
    assert_eq!(body, json!({"jsonrpc": "2.0", "id": 1, "result": result}));
}

#[tokio::test]
async fn discovery_lists_what_is_served() {
    let headers = [("mcp-protocol-version", LATEST), ("mcp-method", "server/discover")];
    let (status, body) = ask(&discover(&envelope()), &headers).await;
    assert_eq!(status, 200);
    let result = &body["result"];
    assert_eq!(result["supportedVersions"], json!([LATEST]));
    assert_eq!(result["capabilities"], json!({"tools": {"listChanged": true}, "logging": {}}));
    assert_eq!(result["ttlMs"], 0);
    assert_eq!(result["cacheScope"], "private");
    assert!(result.get("serverInfo").is_none(), "it stands in _meta only");
}

#[tokio::test]
async fn a_list_says_how_long_it_keeps() {
    let body = json!({"jsonrpc": "2.0", "id": "l", "method": "tools/list", "params": {"_meta": envelope()}});
    let (_, body) = ask(&body, &[("mcp-protocol-version", LATEST), ("mcp-method", "tools/list")]).await;
    assert_eq!(body["id"], "l");
    assert_eq!(body["result"]["ttlMs"], 0);
    assert_eq!(body["result"]["cacheScope"], "private");
    assert_eq!(body["result"]["tools"][0]["name"], "add");
}

#[tokio::test]
async fn each_refusal_has_its_code_and_its_place_in_the_order() {
    let version = ("mcp-protocol-version", LATEST);
    let method = ("mcp-method", "server/discover");
    let mut without_version = envelope();
    without_version.as_object_mut().unwrap().remove(VERSION);
    let mut without_capabilities = envelope();
    without_capabilities.as_object_mut().unwrap().remove(CAPABILITIES);
    let claims = |version: &str| json!({VERSION: version, CAPABILITIES: {}});
    let wrong = |key: &str, value: Value| {
        let mut meta = envelope();
        meta[key] = value;
        meta
    };
    for (case, body, headers, status, code) in [
        ("no envelope", discover(&json!({})), vec![version, method], 400, -32602),
        ("no version in it", discover(&without_version), vec![version, method], 400, -32602),
        ("no capabilities in it", discover(&without_capabilities), vec![version, method], 400, -32602),
        (
            "a version that is no text",
            discover(&wrong(VERSION, json!(7))),
            vec![version, method],
            400,
            -32602,
        ),
        (
            "capabilities that are none",
            discover(&wrong(CAPABILITIES, json!([]))),
            vec![version, method],
            400,
            -32602,
        ),
        (
            "a capability that is no object",
            discover(&wrong(CAPABILITIES, json!({"sampling": true}))),
            vec![version, method],
            400,
            -32602,
        ),
        (
            "an identity without a version",
            discover(&wrong(INFO, json!({"name": "x"}))),
            vec![version, method],
            400,
            -32602,
        ),
        (
            "a log level that there is not",
            discover(&wrong(LOG_LEVEL, json!("loud"))),
            vec![version, method],
            400,
            -32602,
        ),
        ("no version header", discover(&envelope()), vec![method], 400, -32020),
        (
            "another version header",
            discover(&envelope()),
            vec![("mcp-protocol-version", "2025-11-25"), method],
            400,
            -32020,
        ),
        ("two version headers", discover(&envelope()), vec![version, version, method], 400, -32020),
        ("mismatch before unknown version", discover(&claims("v999")), vec![version, method], 400, -32020),
        (
            "unknown version on both",
            discover(&claims("v999")),
            vec![("mcp-protocol-version", "v999"), method],
            400,
            -32022,
        ),
        (
            "a version that needs a handshake",
            discover(&claims("2025-11-25")),
            vec![("mcp-protocol-version", "2025-11-25"), method],
            400,
            -32022,
        ),
        ("no method header", discover(&envelope()), vec![version], 400, -32020),
        (
            "another method header",
            discover(&envelope()),
            vec![version, ("mcp-method", "tools/list")],
            400,
            -32020,
        ),
        (
            "method header in capitals",
            discover(&envelope()),
            vec![version, ("mcp-method", "SERVER/DISCOVER")],
            400,
            -32020,
        ),
        ("no name header", call(), vec![version, ("mcp-method", "tools/call")], 400, -32020),
        (
            "another name header",
            call(),
            vec![version, ("mcp-method", "tools/call"), ("mcp-name", "sub")],
            400,
            -32020,
        ),
        (
            "a broken name header",
            call(),
            vec![version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?YWRk=?=")],
            400,
            -32020,
        ),
        (
            "initialize under a stateless header",
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}),
            vec![version],
            400,
            -32020,
        ),
        (
            "a later version without envelope",
            discover(&json!({})),
            vec![("mcp-protocol-version", "2027-01-01")],
            400,
            -32602,
        ),
    ] {
        let (got_status, got) = ask(&body, &headers).await;
        assert_eq!((got_status, &got["error"]["code"]), (status, &json!(code)), "{case}: {got}");
        assert_eq!(got["id"], 1, "{case}: the id is echoed");
    }
}

#[tokio::test]
async fn methods_of_the_other_era_do_not_exist() {
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "prompts/list", "unknown/method"]
    {
        let body = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": {"_meta": envelope()}});
        let (status, body) = ask(&body, &[("mcp-protocol-version", LATEST), ("mcp-method", method)]).await;
        assert_eq!(
            (status, &body["error"]["code"], &body["id"]),
            (404, &json!(-32601), &json!(9)),
            "{method}"
        );
    }
}

#[tokio::test]
async fn an_unsupported_version_is_told_what_is_supported() {
    let meta = json!({VERSION: "v999", CAPABILITIES: {}});
    let (_, body) =
        ask(&discover(&meta), &[("mcp-protocol-version", "v999"), ("mcp-method", "server/discover")]).await;
    assert_eq!(body["error"]["data"], json!({"supported": [LATEST], "requested": "v999"}));
}

#[tokio::test]
async fn headers_are_compared_after_decoding_and_trimming() {
    for name in ["add", "  add  ", "=?base64?YWRk?="] {
        let headers = [("mcp-protocol-version", LATEST), ("mcp-method", "tools/call"), ("mcp-name", name)];
        assert_eq!(ask(&call(), &headers).await.0, 200, "{name:?}");
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_call_and_not_of_the_request() {
    let mut body = call();
    body["params"]["name"] = "no".into();
    let headers = [("mcp-protocol-version", LATEST), ("mcp-method", "tools/call"), ("mcp-name", "no")];
    let (status, body) = ask(&body, &headers).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
}

#[tokio::test]
async fn a_notification_is_accepted_and_ignored() {
    let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(ask(&body, &[("mcp-protocol-version", LATEST)]).await, (202, Value::Null));
}

#[tokio::test]
async fn session_and_resume_headers_mean_nothing_here() {
    let headers = [
        ("mcp-protocol-version", LATEST),
        ("mcp-method", "server/discover"),
        ("mcp-session-id", "x"),
        ("last-event-id", "7"),
    ];
    let response = service().handle(dressed(&discover(&envelope()), &headers)).await;
    assert_eq!(response.status(), 200);
    assert!(!response.headers().contains_key("mcp-session-id"));
}

/// Run a query somewhere.
#[tool]
fn query(
    #[arg(header = "Region")] region: Option<String>,
    #[arg(header = "Limit")] limit: Option<u32>,
) -> String {
    format!("{region:?} {limit:?}")
}

#[tokio::test]
async fn arguments_that_travel_in_headers_say_the_same_there() {
    let service = Server::new("headers", "1.0.0").tools(tools![query]).build().unwrap().http();
    for (arguments, headers, right) in [
        (json!({"region": "eu west"}), vec![("mcp-param-region", "eu west")], true),
        (json!({"region": "Zürich"}), vec![("mcp-param-region", "=?base64?WsO8cmljaA==?=")], true),
        (json!({"limit": 42}), vec![("mcp-param-limit", "42.0")], true),
        // An argument that is not in the body needs no header.
        (json!({}), vec![], true),
        (json!({"region": null}), vec![], true),
        (json!({"region": "eu"}), vec![], false),
        (json!({"region": "eu"}), vec![("mcp-param-region", "us")], false),
        (json!({"region": "eu"}), vec![("mcp-param-region", "eu"), ("mcp-param-region", "us")], false),
        (json!({"limit": 42}), vec![("mcp-param-limit", "43")], false),
        (json!({"region": "eu"}), vec![("mcp-param-region", "=?base64?%%%?=")], false),
    ] {
        let params = json!({"name": "query", "arguments": arguments, "_meta": envelope()});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let mut all =
            vec![("mcp-protocol-version", LATEST), ("mcp-method", "tools/call"), ("mcp-name", "query")];
        all.extend(headers);
        let (status, answer) = read(service.handle(dressed(&body, &all)).await).await;
        if right {
            assert_eq!(status, 200, "{params}: {answer}");
        } else {
            assert_eq!(
                (status.as_u16(), &answer["error"]["code"]),
                (400, &json!(-32020)),
                "{params}: {answer}"
            );
            assert_eq!(answer["id"], 1);
        }
    }
    // An annotation that clients must not follow is the author's mistake.
    let schema = json!({"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}});
    let tool = ToolEntry::define(toolway::types::Tool::new("bad", schema), || async {});
    let error = Server::new("headers", "1.0.0").tool(tool).build().unwrap_err().to_string();
    assert!(error.contains("x-mcp-header"), "{error}");
}
