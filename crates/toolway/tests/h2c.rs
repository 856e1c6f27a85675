//! HTTP/2 without TLS: does it get the same answers as HTTP/1.1, and are the resources of each connection limited?
//!
//! Well-behaved clients use the crate `h2`; hostile ones write frames by hand. First come the conversations, then the
//! abuse, then the two clients.
//!
//! A test binary of its own, because it counts the memory of the whole process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::{Method, Request, Response, StatusCode, Version};
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore, oneshot};
use tokio::task::JoinHandle;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::server::http::HttpService;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Held by tests that measure memory, so that they do not measure each other.
static COUNTING: Mutex<()> = Mutex::const_new(());
/// The most memory that an attack may use, including the attacker's own part.
const MOST_MEMORY: usize = 32 << 20;
/// Short enough for a test that waits for a timeout, and long enough to send a request on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_call_that_describes_itself_is_answered() {
    let (server, _) = house();
    let address = serve(server.http()).await;
    let mut client = Client::connect(address).await;
    let (head, body) = client.call("add", &json!({"a": 1, "b": 2})).await;
    assert_eq!((head.status(), head.version()), (StatusCode::OK, Version::HTTP_2));
    assert_eq!(head.headers()["content-length"], body.to_string().len().to_string());
    assert_eq!(body["result"]["content"][0]["text"], "3");
    // Many calls on one connection.
    for number in 0..10 {
        let (_, body) = client.call("add", &json!({"a": number, "b": 2})).await;
        assert_eq!(body["result"]["content"][0]["text"], (number + 2).to_string());
    }
}

#[tokio::test]
async fn a_session_has_its_stream_beside_its_calls_on_one_connection() {
    let (server, _) = house();
    let address = serve(server.http()).await;
    let mut client = Client::connect(address).await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let opening = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let (head, body) = client.post(&opening, &[]).await;
    assert_eq!(body["result"]["protocolVersion"], "2025-11-25");
    let session = head.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];

    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(client.post(&ready, &headers).await.0.status(), StatusCode::ACCEPTED);

    let mut get = request(Method::GET, "http://localhost/mcp", &headers);
    get.headers_mut().insert("accept", "text/event-stream".parse().unwrap());
    let mut news = client.send(get, None).await;
    assert_eq!(
        (news.status(), &news.headers()["content-type"]),
        (StatusCode::OK, &"text/event-stream".parse().unwrap())
    );

    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
    let (_, body) = client.post(&call, &headers).await;
    assert_eq!(body["result"]["content"][0]["text"], "3");

    server.add_tool(ToolEntry::from_fn("hello", || async { "hello" })).unwrap();
    read_until(news.body_mut(), "notifications/tools/list_changed").await;

    let end = client.send(request(Method::DELETE, "http://localhost/mcp", &headers), None).await;
    assert!(end.status().is_success(), "{end:?}");
    while news.body_mut().data().await.is_some() {}
}

#[tokio::test]
async fn http_1_is_spoken_on_the_same_socket() {
    let (server, _) = house();
    let address = serve(server.http()).await;
    let _other = Client::connect(address).await;
    let call = stateless("add", &json!({"a": 1, "b": 2}));
    let requests = [
        (String::from("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"), "ok\n"),
        // Begins like the preface of HTTP/2.
        (String::from("PRI * HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"), "403 Forbidden"),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: add\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{call}",
                call.len()
            ),
            r#""text":"3""#,
        ),
    ];
    for (request, expected) in &requests {
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        // In pieces: the protocol is detected from as many pieces as it takes.
        for piece in request.as_bytes().chunks(1).take(30) {
            socket.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        socket.write_all(&request.as_bytes()[request.len().min(30)..]).await.unwrap();
        let mut reply = String::new();
        socket.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 ") && reply.contains(expected), "{request}\n{reply}");
    }
}

#[tokio::test]
async fn the_authority_is_judged_like_the_host() {
    let (server, _) = house();
    let ours = serve(server.http()).await;
    let theirs = serve(server.http().hosts(["api.example"])).await;
    let rows: [(Option<&str>, &[&str], u16, u16); 15] = [
        (Some("localhost"), &[], 200, 200),
        (Some("localhost:8000"), &[], 200, 200),
        (Some("127.0.0.1:8000"), &[], 200, 200),
        (Some("[::1]:8000"), &[], 200, 200),
        (Some("api.example"), &[], 403, 200),
        (Some("evil.example"), &[], 403, 403),
        (Some("localhost.evil.example"), &[], 403, 403),
        (Some("localhost"), &["localhost"], 200, 200),
        (Some("localhost"), &["LOCALHOST"], 200, 200),
        (Some("localhost"), &["evil.example"], 403, 403),
        (Some("evil.example"), &["localhost"], 403, 403),
        (Some("localhost"), &["127.0.0.1"], 403, 403),
        (Some("localhost"), &["localhost", "localhost"], 403, 403),
        (None, &["localhost"], 200, 200),
        (None, &["evil.example"], 403, 403),
    ];
    for (address, is_ours) in [(ours, true), (theirs, false)] {
        let mut client = Client::connect(address).await;
        for (authority, hosts, by_ours, by_theirs) in rows {
            let uri = authority.map_or("/mcp".to_owned(), |authority| format!("http://{authority}/mcp"));
            for (method, uri) in
                [(Method::POST, uri.clone()), (Method::DELETE, uri.replace("mcp", "nothing"))]
            {
                let mut request = request(method.clone(), &uri, &[]);
                if authority.is_none() {
                    // The only way to make `h2` leave out `:authority`.
                    *request.version_mut() = Version::HTTP_11;
                }
                for host in hosts {
                    request.headers_mut().append("host", host.parse().unwrap());
                }
                let body = (method == Method::POST).then(|| stateless("add", &json!({"a": 1, "b": 2})));
                let status = client.send(request, body).await.status().as_u16();
                let due = match if is_ours { by_ours } else { by_theirs } {
                    200 if method == Method::DELETE => 404,
                    due => due,
                };
                assert_eq!(status, due, "{method} {authority:?} {hosts:?}, ours: {is_ours}");
            }
        }
        // Neither `:authority` nor `host`.
        let mut request = request(Method::GET, "/nothing", &[]);
        *request.version_mut() = Version::HTTP_11;
        assert_eq!(client.send(request, None).await.status(), StatusCode::FORBIDDEN);
    }
}

/// Every combination of host, origin, method and route; `hostile_http/framing.rs` has the same table for HTTP/1.1.
#[tokio::test]
async fn every_route_checks_authority_and_origin_with_every_method() {
    let (server, _) = house();
    let address = serve(server.http().legacy_sse()).await;
    let mut client = Client::connect(address).await;
    let hosts = [
        ("localhost", None, true),
        ("evil.example", None, false),
        ("", None, false),
        ("localhost", Some("evil.example"), false),
    ];
    let origins = [
        (None, true),
        (Some("http://localhost:3000"), true),
        (Some("null"), false),
        (Some("https://evil.example"), false),
    ];
    // The status of a request that is allowed, for each route.
    let routes = ["/mcp", "/mcp?sessionId=0", "/health", "/ready", "/nothing"];
    let methods = [
        (Method::POST, [200, 404, 405, 405, 404]),
        (Method::GET, [200, 200, 200, 200, 404]),
        (Method::DELETE, [400, 400, 405, 405, 404]),
        (Method::OPTIONS, [405, 405, 405, 405, 404]),
    ];
    let mut cells = 0;
    for (method, allowed) in methods {
        for (route, allowed) in routes.into_iter().zip(allowed) {
            for ((authority, host, is_our_host), (origin, is_our_page)) in
                hosts.into_iter().flat_map(|host| origins.map(|origin| (host, origin)))
            {
                let scheme = if authority.is_empty() { "" } else { "http://" };
                let mut request = request(method.clone(), &format!("{scheme}{authority}{route}"), &[]);
                if authority.is_empty() {
                    *request.version_mut() = Version::HTTP_11;
                }
                request
                    .headers_mut()
                    .insert("accept", "application/json, text/event-stream".parse().unwrap());
                for (name, value) in [("host", host), ("origin", origin)] {
                    if let Some(value) = value {
                        request.headers_mut().insert(name, value.parse().unwrap());
                    }
                }
                let body = (method == Method::POST).then(|| stateless("add", &json!({"a": 1, "b": 2})));
                let answer = client.send(request, body).await;
                // Load balancers use the address, so the health checks do not look at the host.
                let is_allowed = is_our_host && is_our_page || matches!(route, "/health" | "/ready");
                let due = if is_allowed { allowed } else { 403 };
                assert_eq!(answer.status(), due, "{method} {route} {authority:?} {host:?} {origin:?}");
                assert!(!format!("{:?}", answer.headers()).contains("access-control"), "{answer:?}");
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 320);
}

#[tokio::test]
async fn a_call_that_runs_may_finish_when_the_server_is_told_to_stop() {
    let (server, watch) = house();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, told) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.http().serve_until(listener, async { drop(told.await) }));
    let mut waiting = TcpStream::connect(address).await.unwrap();
    let mut raw = Raw::connect(address).await;
    raw.write(&raw_call(1, "hold")).await;
    watch.entered.acquire().await.unwrap().forget();
    stop.send(()).unwrap();
    assert_eq!(raw.find(GOAWAY).await.unwrap().code(), Reason::NO_ERROR);
    // A connection without any bytes so far is closed immediately.
    assert_eq!(waiting.read(&mut [0]).await.unwrap(), 0);
    watch.gate.add_permits(1);
    let end = raw.find_end_of(1).await.unwrap();
    assert!(String::from_utf8_lossy(&end.payload).contains("held to the end"), "{end:?}");
    raw.end().await;
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn more_requests_than_may_be_open_are_refused_and_the_connection_lives() {
    let (server, watch) = house();
    let address = serve(server.http().max_h2_streams(2)).await;
    let mut raw = Raw::connect(address).await;
    for stream in [1, 3, 5] {
        raw.write(&raw_call(stream, "hold")).await;
    }
    let refused = raw.find(RST_STREAM).await.unwrap();
    assert_eq!((refused.stream, refused.code()), (5, Reason::REFUSED_STREAM));
    watch.entered.acquire_many(2).await.unwrap().forget();
    watch.gate.add_permits(3);
    raw.find_end_of(1).await.unwrap();
    raw.find_end_of(3).await.unwrap();
    raw.write(&raw_call(7, "hold")).await;
    raw.find_end_of(7).await.unwrap();
    assert_eq!(watch.started.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_and_the_connection_lives() {
    let (server, _) = house();
    let address = serve(server.http()).await;
    let mut client = Client::connect(address).await;
    let mut long = request(Method::GET, "http://localhost/health", &[]);
    long.headers_mut().insert("x", "y".repeat(70 << 10).parse().unwrap());
    assert_eq!(client.send(long, None).await.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    for (count, due) in [(101, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE), (90, StatusCode::OK)] {
        let mut many = request(Method::GET, "http://localhost/health", &[]);
        for _ in 0..count {
            many.headers_mut().append("x", "y".parse().unwrap());
        }
        assert_eq!(client.send(many, None).await.status(), due, "{count} headers");
    }
}

#[tokio::test]
async fn who_does_not_go_on_is_sent_away() {
    let (server, watch) = house();
    let address = serve(server.http().head_timeout(SHORT)).await;
    // Meanwhile another client waits for an answer, and keeps waiting.
    let mut waiting = Raw::connect(address).await;
    waiting.write(&raw_call(1, "hold")).await;
    watch.entered.acquire().await.unwrap().forget();

    let no_end_of_headers = frame(HEADERS, 0, 1, &raw_head("hold"));
    let stalled: [Vec<u8>; 5] = [
        b"".to_vec(),
        b"P".to_vec(),
        PREFACE[..23].to_vec(),
        b"POST /mcp HTTP/1.1\r\nhost: ".to_vec(),
        [PREFACE, &frame(SETTINGS, 0, 0, b""), &no_end_of_headers].concat(),
    ];
    let stalled = stalled.map(|start| {
        tokio::spawn(async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(&start).await.unwrap();
            to_end(&mut socket).await;
        })
    });
    for ended in stalled {
        ended.await.unwrap();
    }
    // A client whose requests are all answered gets a GOAWAY first.
    let (requests, connection) =
        h2::client::handshake(TcpStream::connect(address).await.unwrap()).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut client = Client { requests };
    assert_eq!(client.call("add", &json!({"a": 1, "b": 2})).await.0.status(), StatusCode::OK);
    connection.await.unwrap().expect("a polite end");

    watch.gate.add_permits(1);
    waiting.find_end_of(1).await.expect("an answer, however long it took");
}

#[tokio::test]
async fn who_does_not_take_its_answer_is_sent_away() {
    let (server, _) = house();
    let address = serve(server.http().head_timeout(SHORT)).await;
    let mut raw = Raw::connect(address).await;
    // SETTINGS_INITIAL_WINDOW_SIZE is 0: the server may not send any byte of a body.
    raw.write(&frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])).await;
    raw.write(&raw_call(1, "long")).await;
    raw.find(HEADERS).await.unwrap();
    let frames = raw.end().await;
    assert!(frames.iter().all(|frame| frame.kind != DATA), "{frames:?}");
}

#[tokio::test]
async fn a_request_that_is_taken_back_is_cancelled() {
    let (server, watch) = house();
    let address = serve(server.http()).await;
    let mut raw = Raw::connect(address).await;
    for number in 0..500 {
        let stream = 2 * number + 1;
        raw.write(&raw_call(stream, "hold")).await;
        watch.entered.acquire().await.unwrap().forget();
        raw.write(&reset(stream)).await;
        watch.left.acquire().await.unwrap().forget();
    }
    assert_eq!(watch.most.load(Ordering::SeqCst), 1);
    watch.gate.add_permits(1);
    raw.write(&raw_call(1001, "hold")).await;
    raw.find_end_of(1001).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_come_as_others_are_taken_back_do_not_pile_up() {
    const OPEN: u32 = 100;
    const WAVES: u32 = 20;
    let (server, watch) = house();
    let address = serve(server.http().max_h2_streams(OPEN as usize)).await;
    let mut raw = Raw::connect(address).await;
    let streams = |wave: u32| (wave * OPEN..(wave + 1) * OPEN).map(|number| 2 * number + 1);
    for wave in 0..WAVES {
        let mut frames = Vec::new();
        if let Some(before) = wave.checked_sub(1) {
            frames.extend(streams(before).flat_map(reset));
        }
        frames.extend(streams(wave).flat_map(|stream| raw_call(stream, "hold")));
        raw.write(&frames).await;
        watch.entered.acquire_many(OPEN).await.unwrap().forget();
        if wave > 0 {
            watch.left.acquire_many(OPEN).await.unwrap().forget();
        }
    }
    let most = watch.most.load(Ordering::SeqCst);
    assert!(most <= 2 * OPEN as usize, "{most} handlers at the same time");
    // The remaining calls end with their connection.
    drop(raw);
    watch.left.acquire_many(OPEN).await.unwrap().forget();
    assert_eq!(watch.running.load(Ordering::SeqCst), 0);
}

/// CVE-2023-44487.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_that_are_taken_back_at_once_cost_little() {
    const COUNT: u32 = 10_000;
    let _counting = COUNTING.lock().await;
    let (server, watch) = house();
    let address = serve(server.http()).await;
    let mut other = Client::connect(address).await;
    let mut flood = Vec::new();
    for number in 0..COUNT {
        flood.extend(raw_call(2 * number + 1, "hold"));
        flood.extend(reset(2 * number + 1));
    }
    flood.extend(frame(PING, 0, 0, &[7; 8]));
    let cost = Cost::start();
    let raw = Raw::connect(address).await;
    let frames = raw.flood(flood.into()).await;
    cost.check();
    let farewell = frames.iter().find(|frame| frame.kind == GOAWAY).map(Frame::code);
    // The frame may be lost in the reset of the socket; in any case the server did not process all input.
    assert!(matches!(farewell, None | Some(Reason::ENHANCE_YOUR_CALM)), "{farewell:?}");
    assert!(frames.iter().all(|frame| frame.kind != PING), "{frames:?}");
    let most = watch.most.load(Ordering::SeqCst);
    assert!(most <= 200, "{most} handlers at the same time");
    assert_eq!(other.call("add", &json!({"a": 1, "b": 2})).await.0.status(), StatusCode::OK);
    // No handler is left.
    while watch.running.load(Ordering::SeqCst) > 0 {
        watch.left.acquire().await.unwrap().forget();
    }
}

/// CVE-2024-27316 and similar attacks.
#[tokio::test]
async fn headers_without_an_end_are_cut_off() {
    let _counting = COUNTING.lock().await;
    let (server, _) = house();
    let address = serve(server.http()).await;
    let mut other = Client::connect(address).await;
    let field = header("x", &"y".repeat(100));
    let pieces: [(&str, Vec<u8>); 4] = [
        ("empty", Vec::new()),
        ("whole fields", field.repeat(150)),
        ("a field that never ends", [&b"\x00\x01x\x7f\xff\xff\xff\x07"[..], &[b'y'; 16_000]].concat()),
        // After the first, one byte repeats the field.
        ("a field out of the table", [&b"\x40\x01x\x7f\x80\x1e"[..], &[b'y'; 3967], &[0xbe; 8000]].concat()),
    ];
    for (name, piece) in pieces {
        let mut flood = frame(HEADERS, 0, 1, &raw_head("hold"));
        for _ in 0..4000 {
            flood.extend(frame(CONTINUATION, 0, 1, &piece));
        }
        let cost = Cost::start();
        let raw = Raw::connect(address).await;
        let frames = raw.flood(flood.into()).await;
        cost.check();
        let farewell = frames.iter().find(|frame| frame.kind == GOAWAY).map(Frame::code);
        // The frame may be lost in the reset of the socket.
        let is_right = |code| {
            matches!(code, Reason::ENHANCE_YOUR_CALM | Reason::COMPRESSION_ERROR | Reason::PROTOCOL_ERROR)
        };
        assert!(farewell.is_none_or(is_right), "{name}: {farewell:?}");
        assert!(frames.iter().all(|frame| frame.kind != HEADERS), "{name}: no answer");
    }
    assert_eq!(other.call("add", &json!({"a": 1, "b": 2})).await.0.status(), StatusCode::OK);
}

#[tokio::test]
async fn frames_that_want_an_answer_cost_little_whether_it_is_read_or_not() {
    let _counting = COUNTING.lock().await;
    let (server, _) = house();
    let address = serve(server.http().head_timeout(SHORT)).await;
    let floods = [
        (PING, frame(PING, 0, 0, &[7; 8]).repeat(200_000)),
        (SETTINGS, frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 9]).repeat(200_000)),
    ];
    let cost = Cost::start();
    let mut attackers = Vec::new();
    for (kind, flood) in floods {
        let again = Bytes::from(flood);
        let flood = again.clone();
        attackers.push(tokio::spawn(async move {
            let frames = Raw::connect(address).await.flood(flood).await;
            assert!(frames.iter().any(|frame| frame.kind == kind && frame.flags == ACK), "{kind}");
        }));
        // The server stops reading from a client that does not read, and a connection without requests is idle,
        // whatever it sends.
        attackers.push(tokio::spawn(async move {
            let mut raw = Raw::connect(address).await;
            while raw.socket.write_all(&again).await.is_ok() {}
        }));
    }
    let mut other = Client::connect(address).await;
    assert_eq!(other.call("add", &json!({"a": 1, "b": 2})).await.0.status(), StatusCode::OK);
    for attacker in attackers {
        attacker.await.unwrap();
    }
    cost.check();
}

/// The observations of the handlers.
#[derive(Default)]
struct Watch {
    started: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    /// A permit for each call of `hold` that has begun.
    entered: Semaphore0,
    /// A permit for each call of `hold` that has ended or was dropped.
    left: Semaphore0,
    /// A permit for each call that may end.
    gate: Semaphore0,
}

/// A semaphore that begins without permits.
struct Semaphore0(Semaphore);

impl Default for Semaphore0 {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl std::ops::Deref for Semaphore0 {
    type Target = Semaphore;

    fn deref(&self) -> &Semaphore {
        &self.0
    }
}

fn house() -> (Server, State<Watch>) {
    let server = Server::new("h2c", "1.0.0").state(Watch::default()).tools(tools![add, hold, long]);
    let server = server.build().unwrap();
    let watch = server.state::<Watch>().unwrap();
    (server, watch)
}

#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Waits until the gate opens.
#[tool]
async fn hold(watch: State<Watch>) -> &'static str {
    struct Leave(State<Watch>);
    impl Drop for Leave {
        fn drop(&mut self) {
            self.0.running.fetch_sub(1, Ordering::SeqCst);
            self.0.left.add_permits(1);
        }
    }
    watch.started.fetch_add(1, Ordering::SeqCst);
    let running = watch.running.fetch_add(1, Ordering::SeqCst) + 1;
    watch.most.fetch_max(running, Ordering::SeqCst);
    let _leave = Leave(watch.clone());
    watch.entered.add_permits(1);
    watch.gate.acquire().await.unwrap().forget();
    "held to the end"
}

/// More than fits into any buffer.
#[tool]
fn long() -> String {
    "x".repeat(1 << 20)
}

async fn serve(service: HttpService) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(service.serve(listener));
    address
}

/// The memory in use at the start of a measurement.
struct Cost(usize);

impl Cost {
    fn start() -> Self {
        MEMORY.reset_peak_usage();
        Self(MEMORY.current_usage())
    }

    fn check(self) {
        let cost = MEMORY.peak_usage().saturating_sub(self.0);
        assert!(cost < MOST_MEMORY, "{cost} bytes");
    }
}

fn stateless(tool: &str, arguments: &Value) -> String {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn request(method: Method, uri: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(&method).uri(uri).version(Version::HTTP_2);
    if method == Method::POST {
        request = request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
    }
    // The headers of a call of `add`, unless the request belongs to a session.
    if method == Method::POST && headers.is_empty() {
        request = request
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "add");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

async fn read_until(body: &mut RecvStream, text: &str) {
    let mut seen = String::new();
    while !seen.contains(text) {
        let piece =
            body.data().await.unwrap_or_else(|| panic!("{text:?} before the end of {seen:?}")).unwrap();
        seen.push_str(std::str::from_utf8(&piece).unwrap());
    }
}

/// A well-behaved client.
struct Client {
    requests: SendRequest<Bytes>,
}

impl Client {
    async fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        let (requests, connection) = h2::client::handshake(socket).await.unwrap();
        tokio::spawn(connection);
        Self { requests }
    }

    async fn send(&mut self, request: Request<()>, body: Option<String>) -> Response<RecvStream> {
        std::future::poll_fn(|cx| self.requests.poll_ready(cx)).await.unwrap();
        let (response, mut stream) = self.requests.send_request(request, body.is_none()).unwrap();
        if let Some(body) = body {
            stream.send_data(body.into(), true).unwrap();
        }
        response.await.unwrap()
    }

    async fn post(&mut self, body: &Value, headers: &[(&str, &str)]) -> (Response<()>, Value) {
        let mut request = request(Method::POST, "http://localhost/mcp", headers);
        if body["method"] == "initialize" {
            for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
                request.headers_mut().remove(name);
            }
        }
        let (head, mut stream) = self.send(request, Some(body.to_string())).await.into_parts();
        let mut bytes = Vec::new();
        while let Some(piece) = stream.data().await {
            let piece = piece.unwrap();
            stream.flow_control().release_capacity(piece.len()).unwrap();
            bytes.extend_from_slice(&piece);
        }
        let text = String::from_utf8(bytes).unwrap();
        // A call of a session may be answered with a stream.
        let message = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
        let message = if message.is_empty() { Value::Null } else { serde_json::from_str(message).unwrap() };
        (Response::from_parts(head, ()), message)
    }

    async fn call(&mut self, tool: &str, arguments: &Value) -> (Response<()>, Value) {
        let body = serde_json::from_str(&stateless(tool, arguments)).unwrap();
        self.post(&body, &[]).await
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// RFC 9113, section 4.1.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// RFC 7541, section 6.2.2: not indexed, with a new name, both shorter than 127 bytes.
fn header(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        field.push(u8::try_from(text.len()).ok().filter(|length| *length < 127).unwrap());
        field.extend(text.as_bytes());
    }
    field
}

fn raw_head(tool: &str) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", "/mcp"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    fields.iter().flat_map(|(name, value)| header(name, value)).collect()
}

/// A whole call.
fn raw_call(stream: u32, tool: &str) -> Vec<u8> {
    let mut call = frame(HEADERS, END_HEADERS, stream, &raw_head(tool));
    call.extend(frame(DATA, END_STREAM, stream, stateless(tool, &json!({})).as_bytes()));
    call
}

fn reset(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &u32::from(Reason::CANCEL).to_be_bytes())
}

#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    /// Returns the error code of a frame that ends a stream or a connection.
    fn code(&self) -> Reason {
        let start = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[start..start + 4].try_into().unwrap()).into()
    }
}

/// A client that writes arbitrary frames.
struct Raw {
    socket: TcpStream,
}

impl Raw {
    async fn connect(address: SocketAddr) -> Self {
        let mut raw = Self { socket: TcpStream::connect(address).await.unwrap() };
        raw.write(PREFACE).await;
        raw.write(&frame(SETTINGS, 0, 0, b"")).await;
        raw
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    /// Reads the next frame. Answers pings, as every client should.
    async fn read(&mut self) -> Option<Frame> {
        let read = next(&mut self.socket).await?;
        if read.kind == PING && read.flags & ACK == 0 {
            self.write(&frame(PING, ACK, 0, &read.payload)).await;
        }
        Some(read)
    }

    /// Reads up to the next frame of a kind.
    async fn find(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.read().await?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Reads up to the frame that ends an answer.
    async fn find_end_of(&mut self, stream: u32) -> Option<Frame> {
        loop {
            let frame = self.read().await?;
            if frame.stream == stream && frame.kind == DATA && frame.flags & END_STREAM != 0 {
                return Some(frame);
            }
        }
    }

    /// Reads all frames until the end.
    async fn end(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.read().await {
            frames.push(frame);
        }
        frames
    }

    /// Writes as much as the server accepts, while reading; then stops, so that the server closes the connection if it
    /// has not. Returns the first frame of each kind that was received.
    async fn flood(self, bytes: Bytes) -> Vec<Frame> {
        let (mut reader, mut writer) = self.socket.into_split();
        let writing: JoinHandle<()> = tokio::spawn(async move {
            let _ = writer.write_all(&bytes).await;
            let _ = writer.shutdown().await;
        });
        let mut frames = Vec::<Frame>::new();
        while let Some(frame) = next(&mut reader).await {
            if frames.iter().all(|known| (known.kind, known.flags) != (frame.kind, frame.flags)) {
                frames.push(frame);
            }
        }
        drop(reader);
        writing.await.unwrap();
        frames
    }
}

async fn next(reader: &mut (impl AsyncReadExt + Unpin)) -> Option<Frame> {
    let mut head = [0; 9];
    reader.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    reader.read_exact(&mut payload).await.ok()?;
    let stream = u32::from_be_bytes(head[5..].try_into().unwrap());
    Some(Frame { kind: head[3], flags: head[4], stream, payload })
}

/// Reads until the peer has closed the connection, cleanly or not.
async fn to_end(socket: &mut TcpStream) {
    let mut buffer = [0; 1024];
    while socket.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
}
