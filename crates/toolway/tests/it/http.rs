//! HTTP: which requests are accepted, and what is transferred outside of the message?

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::http::{Hosts, HttpService, Origins, ResponseBody};

#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// A service without sessions.
pub(crate) fn service() -> HttpService {
    with_sessions().sessionless()
}

pub(crate) fn with_sessions() -> HttpService {
    Server::new("http", "1.0.0").tools(tools![add]).http().unwrap()
}

pub(crate) fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

/// A valid request; tests change the part they are about.
pub(crate) fn post(body: &Value) -> Request<Full<Bytes>> {
    Request::post("/mcp")
        .header("host", "localhost:8000")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(Full::new(body.to_string().into()))
        .unwrap()
}

pub(crate) async fn read(response: Response<ResponseBody>) -> (StatusCode, Value) {
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let value = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    (status, value)
}

fn with(mut request: Request<Full<Bytes>>, name: &'static str, values: &[&str]) -> Request<Full<Bytes>> {
    request.headers_mut().remove(name);
    for value in values {
        request.headers_mut().append(name, value.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn only_loopback_names_are_served_unless_told_otherwise() {
    let ours = service();
    let theirs = service().hosts(["api.example", "other.example:9000"]);
    let any = service().hosts(Hosts::Any);
    for (host, by_ours, by_theirs) in [
        (vec!["localhost"], 200, 200),
        (vec!["localhost:1234"], 200, 200),
        (vec!["127.0.0.1:8000"], 200, 200),
        (vec!["[::1]:8000"], 200, 200),
        (vec!["LocalHost"], 200, 200),
        (vec!["api.example"], 403, 200),
        (vec!["API.example:8443"], 403, 200),
        (vec!["other.example"], 403, 403),
        (vec!["other.example:9000"], 403, 200),
        (vec!["evil.example"], 403, 403),
        (vec!["localhost.evil.example"], 403, 403),
        (vec!["127.0.0.1.evil.example"], 403, 403),
        (vec!["user@localhost@evil.example"], 403, 403),
        (vec!["127.0.0.2"], 403, 403),
        (vec!["localhost", "evil.example"], 403, 403),
        (vec![""], 403, 403),
        (vec![], 403, 403),
    ] {
        let request = || with(post(&ping()), "host", &host);
        assert_eq!(ours.handle(request()).await.status(), by_ours, "{host:?}");
        assert_eq!(theirs.handle(request()).await.status(), by_theirs, "{host:?}");
        assert_eq!(any.handle(request()).await.status(), 200, "{host:?}");
    }
}

#[tokio::test]
async fn only_pages_of_the_listed_origins_may_call() {
    let ours = service();
    let theirs = service().origins(["https://app.example"]);
    let any = service().origins(Origins::Any);
    for (origin, by_ours, by_theirs) in [
        (vec![], 200, 200),
        (vec!["http://localhost:3000"], 200, 200),
        (vec!["https://127.0.0.1"], 200, 200),
        (vec!["http://[::1]:5173"], 200, 200),
        (vec!["https://app.example"], 403, 200),
        (vec!["https://APP.example"], 403, 200),
        (vec!["http://app.example"], 403, 403),
        (vec!["https://app.example:444"], 403, 403),
        (vec!["null"], 403, 403),
        (vec!["http://evil.example"], 403, 403),
        (vec!["http://localhost.evil.example"], 403, 403),
        (vec!["file://localhost"], 403, 403),
        (vec!["http://localhost", "http://evil.example"], 403, 403),
    ] {
        let request = || with(post(&ping()), "origin", &origin);
        assert_eq!(ours.handle(request()).await.status(), by_ours, "{origin:?}");
        assert_eq!(theirs.handle(request()).await.status(), by_theirs, "{origin:?}");
        assert_eq!(any.handle(request()).await.status(), 200, "{origin:?}");
    }
}

#[tokio::test]
async fn pages_of_every_origin_may_be_allowed() {
    for origin in ["null", "http://evil.example", "file://localhost", "gibberish"] {
        let request = || with(post(&ping()), "origin", &[origin]);
        assert_eq!(service().handle(request()).await.status(), 403, "{origin}");
        assert_eq!(service().origins(Origins::Any).handle(request()).await.status(), 200, "{origin}");
    }
}

#[tokio::test]
async fn the_check_of_the_origin_can_be_switched_off() {
    let request = |name| with(post(&ping()), name, &["http://evil.example"]);
    assert_eq!(service().validate_origin(true).handle(request("origin")).await.status(), 403);
    assert_eq!(service().validate_origin(false).handle(request("origin")).await.status(), 200);
    // Only that check is switched off.
    let request = || with(request("origin"), "host", &["evil.example"]);
    assert_eq!(service().validate_origin(false).handle(request()).await.status(), 403);
    assert_eq!(service().validate_origin(false).validate_host(false).handle(request()).await.status(), 200);
}

#[tokio::test]
async fn a_reply_is_what_the_client_takes() {
    let accepting = |accept: &str| with(post(&ping()), "accept", &[accept]);
    for accept in ["application/json, text/event-stream", "*/*", "application/json", "application/*;q=0.1"] {
        let response = service().handle(accepting(accept)).await;
        assert_eq!(response.status(), 200, "{accept}");
        assert_eq!(response.headers()["content-type"], "application/json", "{accept}");
    }
    for accept in ["text/html", "text/event-stream", "image/*"] {
        assert_eq!(service().handle(accepting(accept)).await.status(), 406, "{accept}");
    }
    // A call that sends messages before its answer is answered with a stream, if the client accepts one.
    let ended = Arc::new(Notify::new());
    let server = Server::new("http", "1.0.0").state(ended).tools(tools![endless]).build().unwrap();
    let response = server.http().handle(endless_call()).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    // A method that needs a stream is refused for a client that does not accept one.
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let mut request = with(post(&listen), "accept", &["application/json"]);
    for (name, value) in [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let (status, body) = read(server.http().handle(request).await).await;
    assert_eq!((status.as_u16(), &body["id"]), (406, &json!(1)), "{body}");
}

#[tokio::test]
async fn a_refusal_names_the_setting_to_change() {
    let (status, body) = read(service().handle(with(post(&ping()), "host", &["evil.example"])).await).await;
    assert_eq!(status, 403);
    assert!(body["error"]["message"].as_str().unwrap().contains(r#".hosts(["evil.example"])"#), "{body}");
    let (_, body) =
        read(service().handle(with(post(&ping()), "origin", &["http://evil.example"])).await).await;
    assert!(
        body["error"]["message"].as_str().unwrap().contains(r#".origins(["http://evil.example"])"#),
        "{body}"
    );
}

#[tokio::test]
async fn the_guard_comes_before_everything_else() {
    // Each of these would be refused for another reason too.
    for method in ["GET", "DELETE", "OPTIONS", "PUT", "POST"] {
        let mut request =
            with(with(post(&ping()), "host", &["evil.example"]), "content-type", &["text/plain"]);
        *request.method_mut() = method.parse().unwrap();
        assert_eq!(service().handle(request).await.status(), 403, "{method}");
    }
}

#[tokio::test]
async fn what_is_not_a_json_post_is_turned_away() {
    for method in ["GET", "DELETE", "OPTIONS", "PUT", "PATCH", "HEAD"] {
        let mut request = post(&ping());
        *request.method_mut() = method.parse().unwrap();
        let response = service().handle(request).await;
        assert_eq!(response.status(), 405, "{method}");
        assert_eq!(response.headers()["allow"], "POST");
    }
    for (content_type, status) in [
        (vec!["application/json"], 200),
        (vec!["Application/JSON; charset=utf-8"], 200),
        (vec!["text/plain"], 415),
        (vec!["application/jsonp"], 415),
        (vec!["application/x-www-form-urlencoded"], 415),
        (vec![], 415),
    ] {
        let response = service().handle(with(post(&ping()), "content-type", &content_type)).await;
        assert_eq!(response.status(), status, "{content_type:?}");
    }
    for (accept, status) in [
        (vec![], 200),
        (vec!["*/*"], 200),
        (vec!["application/json"], 200),
        (vec!["text/event-stream", "application/json"], 200),
        (vec!["text/html, application/*;q=0.8"], 200),
        (vec!["text/html"], 406),
    ] {
        assert_eq!(
            service().handle(with(post(&ping()), "accept", &accept)).await.status(),
            status,
            "{accept:?}"
        );
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let body = ping();
    let length = body.to_string().len();
    assert_eq!(service().max_body(length).handle(post(&body)).await.status(), 200);
    assert_eq!(service().max_body(length - 1).handle(post(&body)).await.status(), 413);
    // Also without a declared length.
    let stream = http_body_util::StreamBody::new(Endless);
    let (parts, _) = post(&body).into_parts();
    assert_eq!(service().handle(Request::from_parts(parts, stream)).await.status(), 413);
}

/// A body that never ends.
struct Endless;

impl futures_core::Stream for Endless {
    type Item = Result<http_body::Frame<Bytes>, std::convert::Infallible>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from_static(&[b' '; 1 << 13])))))
    }
}

#[tokio::test]
async fn broken_messages_are_bad_requests_with_a_message() {
    for (body, code, id) in [
        (&b"{"[..], -32700, Value::Null),
        (b"", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"{"id":3,"method":"ping"}"#, -32600, json!(3)),
    ] {
        let (parts, _) = post(&ping()).into_parts();
        let response =
            service().handle(Request::from_parts(parts, Full::new(Bytes::from_static(body)))).await;
        assert_eq!(response.headers()["content-type"], "application/json");
        let (status, body) = read(response).await;
        assert_eq!(status, 400);
        assert_eq!(body["error"]["code"], code, "{body}");
        assert_eq!(body.get("id").cloned().unwrap_or_default(), id);
    }
}

#[tokio::test]
async fn it_mounts_in_a_web_application_at_any_path() {
    let app = axum::Router::new()
        .nest_service("/deep/mcp", with_sessions())
        .route_service("/flat", with_sessions())
        .route_service("/alone", service());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    for path in ["/deep/mcp", "/flat", "/alone"] {
        let url = format!("http://{address}{path}");
        let old =
            Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE).connect_http(&url).await.unwrap();
        assert_eq!(old.call("add", json!({"a": 1, "b": 2})).await.unwrap().first_text(), Some("3"), "{path}");
        let client = Client::connect_http(&format!("http://{address}{path}")).await.unwrap();
        assert_eq!(
            client.call("add", json!({"a": 1, "b": 2})).await.unwrap().first_text(),
            Some("3"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn its_own_socket_answers_at_one_path() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(service().serve(listener));
    Client::connect_http(&format!("http://{address}/mcp")).await.unwrap();
    let error = Client::connect_http(&format!("http://{address}/elsewhere")).await.unwrap_err();
    assert!(error.is_peer_fault(), "{error:?}");
}

/// Says something and then never ends.
#[tool]
async fn endless(ctx: Ctx, ended: State<Arc<Notify>>) {
    struct Ended(Arc<Notify>);
    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let _ended = Ended(Arc::clone(&ended));
    ctx.progress(1, 2, "half").await;
    std::future::pending::<()>().await;
}

fn endless_call() -> Request<Full<Bytes>> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": 1,
    });
    let params = json!({"name": "endless", "arguments": {}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut request = post(&body);
    for (name, value) in
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "endless")]
    {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    request
}

async fn next_piece(body: &mut ResponseBody) -> String {
    let bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stream_shows_that_it_is_alive_and_its_end_ends_the_handler() {
    let ended = Arc::new(Notify::new());
    let server = Server::new("http", "1.0.0").state(ended.clone()).tools(tools![endless]).build().unwrap();
    let response = server.http().handle(endless_call()).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let mut body = response.into_body();
    assert!(next_piece(&mut body).await.contains("notifications/progress"));
    // The clock is paused and advances only when all tasks are idle: only the silence itself causes these.
    let start = tokio::time::Instant::now();
    assert_eq!(next_piece(&mut body).await, ": alive\n\n");
    assert_eq!(next_piece(&mut body).await, ": alive\n\n");
    assert_eq!(start.elapsed().as_secs(), 30);
    // In this era closing the stream cancels the call.
    drop(body);
    ended.notified().await;
}
