//! Servers that serve only one era: are messages of the other era answered as by a server that does not know it?

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolway::prelude::*;
use toolway::server::{Extensions, ServerBuilder};
use toolway::{Code, Era, ErrorKind, ProtocolVersion};

use super::http::post;
use super::pipe::{Talk, one_line};
use super::raw_http::{Raw, initialize, whole};

#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

fn server() -> ServerBuilder {
    Server::new("app", "1.0.0").tools(tools![add])
}

fn enveloped(method: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}})
}

fn bare(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method})
}

/// Returns the answer of a server on a pipe, which must equal its answer from `handle_json`.
async fn answer(server: &Server, message: &Value) -> Value {
    let by_pipe = one_line(server, message.to_string().as_bytes()).await;
    let by_hand = server.handle_json(message.to_string(), Extensions::new()).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&by_hand).unwrap(), by_pipe);
    by_pipe
}

/// Returns the answer over HTTP, with the headers that the newest revision needs.
async fn answer_http(server: &Server, message: &Value, version: Option<&str>) -> (u16, Value) {
    let mut request = post(message);
    if let Some(version) = version {
        let method = message["method"].as_str().unwrap();
        request.headers_mut().insert("mcp-protocol-version", version.parse().unwrap());
        request.headers_mut().insert("mcp-method", method.parse().unwrap());
    }
    let (status, body) = whole(server.http().handle(request).await).await;
    (status.as_u16(), body)
}

/// Clients that may use any revision, over a pipe and over HTTP.
async fn clients(server: &Server) -> [toolway::Result<Client>; 2] {
    let (near, far) = tokio::io::duplex(1 << 16);
    let serving = server.clone();
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        serving.serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    let by_pipe = Client::connect_io(reader, writer).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server.http().serve(listener));
    [by_pipe, Client::connect_http(&format!("http://{address}/mcp")).await]
}

#[tokio::test]
async fn without_the_stateless_era_clients_shake_hands() {
    let server = server().eras([Era::Handshake]).build().unwrap();
    for client in clients(&server).await {
        let client = client.unwrap();
        assert_eq!(client.protocol_version(), ProtocolVersion::LATEST_HANDSHAKE);
        let sum = client.call("add", json!({"a": 2, "b": 3})).await.unwrap();
        assert_eq!(sum.first_text(), Some("5"));
    }
    // A method that an older server does not know, and an envelope that it ignores.
    assert_eq!(answer(&server, &enveloped("server/discover")).await["error"]["code"], -32601);
    assert_eq!(answer(&server, &enveloped("ping")).await["result"], json!({}));
    let (status, body) = answer_http(&server, &enveloped("server/discover"), Some("2026-07-28")).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32600)), "{body}");
    let (status, body) = answer_http(&server, &initialize("2026-07-28"), None).await;
    assert_eq!((status, &body["result"]["protocolVersion"]), (200, &json!("2025-11-25")), "{body}");
}

#[tokio::test]
async fn without_the_handshake_whoever_says_initialize_reads_what_is_served() {
    let server = server().eras([Era::Stateless]).build().unwrap();
    for client in clients(&server).await {
        let client = client.unwrap();
        assert_eq!(client.protocol_version(), ProtocolVersion::LATEST);
        assert_eq!(client.tools().await.unwrap().len(), 1);
    }
    let supported = json!({"supported": ["2026-07-28"], "requested": "2025-06-18"});
    let told = |error: &Value| assert_eq!((&error["code"], &error["data"]), (&json!(-32022), &supported));
    told(&answer(&server, &initialize("2025-06-18")).await["error"]);
    for version in [None, Some("2025-06-18")] {
        let (status, body) = answer_http(&server, &initialize("2025-06-18"), version).await;
        assert_eq!(status, 400);
        told(&body["error"]);
    }
    for method in ["tools/list", "ping", "server/discover"] {
        let refused = answer(&server, &bare(method)).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let (status, refused) = answer_http(&server, &bare(method), None).await;
        assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32602)), "{refused}");
    }
    let (status, body) = answer_http(&server, &enveloped("tools/list"), Some("2026-07-28")).await;
    assert_eq!((status, body["result"]["tools"].as_array().map(Vec::len)), (200, Some(1)));
}

/// A program may take longer to start than the probe's timeout; it reads everything that was sent meanwhile.
#[tokio::test(start_paused = true)]
async fn a_server_without_the_handshake_that_starts_late_is_spoken_to_all_the_same() {
    let server = server().eras([Era::Stateless]).build().unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(12)).await;
        let (reader, writer) = tokio::io::split(far);
        server.serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    let client = Client::connect_io(reader, writer).await.unwrap();
    assert_eq!(client.protocol_version(), ProtocolVersion::LATEST);
    assert_eq!(client.call("add", json!({"a": 2, "b": 3})).await.unwrap().text().unwrap(), "5");
}

#[tokio::test]
async fn without_the_handshake_there_are_no_sessions_and_no_batches() {
    let server = server().eras([Era::Stateless]).build().unwrap();
    let service = server.http().legacy_sse();
    let raw = Raw { service, session: String::new(), version: "", headers: Vec::new() };
    for method in [Method::GET, Method::DELETE] {
        let response = raw.service.handle(raw.request(method, "")).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["allow"]),
            (405, &"POST".parse().unwrap())
        );
    }
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    let (status, body) = whole(raw.post(&batch).await).await;
    assert_eq!((status.as_u16(), &body["error"]["code"]), (400, &json!(-32600)));
    let mut talk = Talk::start(&server);
    talk.send_json(batch).await;
    assert_eq!(talk.receive().await["error"]["code"], -32600);
    // A notification gets no answer.
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(raw.post(&notification).await.status().as_u16(), 202);
    talk.send_json(notification).await;
    assert_eq!(talk.end().await, [] as [Value; 0]);
    let unasked = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
    assert_eq!(raw.post(&unasked).await.status().as_u16(), 400);
    // A client that supports no other era disconnects.
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        server.serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    let builder = Client::builder().protocol(ProtocolVersion::V2025_06_18);
    let error = builder.connect_io(reader, writer).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::UNSUPPORTED_VERSION), "{error}");
}

#[test]
fn eras_that_leave_nothing_or_contradict_a_pin_are_mistakes() {
    let mistake = |server: ServerBuilder| {
        let error = server.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        error.to_string()
    };
    assert!(mistake(server().eras([])).contains("`eras` is empty"));
    let pinned = mistake(server().eras([Era::Stateless]).protocol("2025-06-18"));
    assert!(
        pinned.contains("`protocol` pins 2025-06-18, but `eras` leaves out `Era::Handshake`"),
        "{pinned}"
    );
    server().eras([Era::Stateless, Era::Handshake]).protocol("2025-06-18").build().unwrap();
}
