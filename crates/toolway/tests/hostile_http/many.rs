//! What happens to clients that want too much? Each limit is reported as such, holds, and allows requests again when
//! there is room.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use toolway::prelude::*;
use toolway::server::ServerBuilder;
use toolway::server::http::{HttpService, RemoteAddr, ResponseBody};

use crate::wire::{Answer, HANDSHAKE, Served, call, discover, get, initialize, mirrored, post, stateless};
use crate::{MEMORY, peak_since, turn};

/// The memory that a session with a short `initialize` may take.
const SESSION: usize = 8 << 10;
/// The memory that a session with the largest `initialize` may take.
const GREEDY_SESSION: usize = 384 << 10;
/// The memory that a silent stream may take.
const STREAM: usize = 10 << 10;

/// Returns whether the answer reports that the server is full, and when to retry.
fn is_full(answer: &Answer) -> bool {
    let error = &answer.json()["error"];
    answer.status == 503
        && answer.header("retry-after").is_some()
        && error["code"] == -32603
        && error["data"]["retryAfterMs"].is_u64()
}

#[tokio::test]
async fn three_thousand_openings_of_one_peer_are_a_thousand_sessions() {
    let _turn = turn().await;
    let door = Served::start(server().http()).await;
    assert!(door.is_well().await);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let (mut opened, mut full) = (0, 0);
    let mut wire = door.connect().await;
    for _ in 0..3_000 {
        wire.send(&post("", &initialize())).await;
        let answer = wire.answer().await.unwrap();
        opened += usize::from(answer.is_result());
        full += usize::from(answer.status != 200 && is_full(&answer));
    }
    assert_eq!((opened, full), (1_000, 2_000));
    let peak = peak_since(before);
    assert!(peak < 1_000 * SESSION, "{peak} bytes at the peak");
    // Clients without a session are still served.
    assert!(door.is_well().await);
}

#[tokio::test]
async fn what_a_client_says_about_itself_is_kept_only_if_it_is_little() {
    const OPENED: usize = 100;
    let _turn = turn().await;
    let service = server().http();
    // Small objects take the most memory for their length.
    let greedy = |objects: usize, text: usize| {
        let mut body: Value = serde_json::from_str(&initialize()).unwrap();
        body["params"]["capabilities"] =
            json!({"experimental": {"x": {"y": vec![json!({"a": 0}); objects]}}});
        body["params"]["clientInfo"]["title"] = "x".repeat(text).into();
        body
    };
    for (objects, text) in [(8_000, 0), (200, 0), (0, 70_000)] {
        let mut response = service.handle(request("POST", "", &greedy(objects, text))).await;
        let answer: Value = serde_json::from_str(&self::text(response.body_mut()).await.unwrap()).unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{objects} objects, {text} bytes of text");
    }
    let before = MEMORY.current_usage();
    for _ in 0..OPENED {
        assert_eq!(service.handle(request("POST", "", &greedy(120, 60_000))).await.status(), 200);
    }
    let session = (MEMORY.current_usage() - before) / OPENED;
    assert!(session < GREEDY_SESSION, "{session} bytes for a session");
}

#[tokio::test(start_paused = true)]
async fn a_peer_has_room_again_when_its_sessions_were_silent_for_long_enough() {
    let _turn = turn().await;
    let idle = Duration::from_secs(60);
    let service = server().http().max_sessions(1_000, 50).session_idle(idle);
    let (one, two) = ("192.0.2.1:1".parse().unwrap(), "192.0.2.2:1".parse().unwrap());
    for round in 0..3 {
        for n in 0..60 {
            let response = open(&service, Some(one)).await;
            assert_eq!(response.status(), if n < 50 { 200 } else { 503 }, "{round}: {n}");
        }
        assert_eq!(open(&service, Some(two)).await.status(), 200, "another peer has its own share");
        tokio::time::sleep(idle * 2).await;
    }
}

#[tokio::test]
async fn two_thousand_idle_streams_cost_little_hear_the_news_and_end() {
    const MANY: usize = 2_000;
    let _turn = turn().await;
    let server = server();
    let service = server.http();
    let empty = MEMORY.current_usage();
    let mut sessions = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        let response = open(&service, None).await;
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(service.handle(request("POST", &session, &ready)).await.status(), 202);
        sessions.push(session);
    }
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut bodies = Vec::with_capacity(MANY);
    for session in &sessions {
        let response = service.handle(request("GET", session, &Value::Null)).await;
        assert_eq!(response.status(), 200);
        bodies.push(response.into_body());
    }
    let unread = peak_since(before) / MANY;
    assert!(unread < STREAM, "{unread} bytes for a stream that nobody has read");
    for body in &mut bodies {
        // The id to resume from, and then nothing for a long time.
        assert!(text(body).await.unwrap().contains("id: "));
        let mut next = std::pin::pin!(body.frame());
        assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(next.as_mut().poll(cx))).await.is_pending());
    }
    let (read, session) = (peak_since(before) / MANY, (before - empty) / MANY);
    assert!(read < STREAM, "{read} bytes for a stream that waits");
    assert!(session < SESSION, "{session} bytes for a session");

    server.tools_changed();
    for body in &mut bodies {
        let news = text(body).await.unwrap();
        assert_eq!(news.matches("notifications/tools/list_changed").count(), 1, "{news}");
    }
    service.stop().await;
    for body in &mut bodies {
        let end = text(body).await.expect("it says when to reconnect");
        assert!(end.starts_with("retry: ") && end.lines().count() == 2, "nothing is said twice: {end}");
        assert_eq!(text(body).await, None, "it ends with the server");
    }
}

#[tokio::test]
async fn streams_of_changes_have_so_many_places() {
    let _turn = turn().await;
    let server = server();
    let door = Served::start(server.http().max_streams(3, 3)).await;
    let listen = post(
        &mirrored("subscriptions/listen", ""),
        &stateless("7", "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#),
    );
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut wire = door.connect().await;
        wire.send(&listen).await;
        assert_eq!(wire.head().await.unwrap().status, 200);
        wire.until("notifications/subscriptions/acknowledged").await;
        open.push(wire);
    }
    let session = door.open("").await;
    let answer = door.ask(&get(&session)).await;
    assert!(is_full(&answer), "{answer:?}");
    // A request to listen gets an error as its answer.
    let answer = door.ask(&listen).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"], &answer.json()["id"]), (503, &json!(-32603), &json!(7)));
    assert!(error["data"]["retryAfterMs"].is_u64(), "{answer:?}");
    server.tools_changed();
    for wire in &mut open {
        wire.until("notifications/tools/list_changed").await;
    }
    assert!(door.is_well().await);
}

#[tokio::test]
async fn running_requests_have_so_many_places_and_what_is_quick_needs_none() {
    let _turn = turn().await;
    let server = builder().max_in_flight(2, 2).build().unwrap();
    let gate = server.state::<Gate>().unwrap();
    let door = Served::start(server.http()).await;
    let session = door.open("").await;
    let (mut one, mut two) = (door.connect().await, door.connect().await);
    one.send(&call("hold")).await;
    two.send(&call("hold")).await;
    gate.entered(2).await;
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}).to_string();
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"}).to_string();
    for refused in [call("hold"), post(&session, &list), post(&session, &tool(9, "hold").to_string())] {
        let answer = door.ask(&refused).await;
        assert!(is_full(&answer), "{answer:?}");
    }
    for quick in [discover(""), post(&session, &ping), post("", &initialize())] {
        assert!(door.ask(&quick).await.is_result());
    }
    gate.open.add_permits(2);
    assert!(one.answer().await.unwrap().is_result() && two.answer().await.unwrap().is_result());
    gate.open.add_permits(1);
    assert!(door.ask(&call("hold")).await.is_result(), "there is room again");
}

#[tokio::test]
async fn a_session_has_so_many_running_requests_and_another_its_own() {
    const MOST: usize = 256;
    let _turn = turn().await;
    let server = server();
    let gate = server.state::<Gate>().unwrap();
    let service = server.http();
    let (full, other) = (session(&service).await, session(&service).await);
    let mut running = JoinSet::new();
    for id in 0..MOST {
        let (service, request) = (service.clone(), request("POST", &full, &tool(id, "hold")));
        running.spawn(async move {
            service.handle(request).await.into_body().collect().await.unwrap().to_bytes()
        });
    }
    gate.entered(MOST).await;
    let mut response = service.handle(request("POST", &full, &tool(MOST, "hold"))).await;
    let refusal: Value = serde_json::from_str(&text(response.body_mut()).await.unwrap()).unwrap();
    assert_eq!(refusal["error"]["code"], -32603);
    assert!(refusal["error"]["data"]["retryAfterMs"].is_u64(), "{refusal}");
    gate.open.add_permits(MOST + 1);
    assert_eq!(service.handle(request("POST", &other, &tool(0, "hold"))).await.status(), 200);
    while let Some(body) = running.join_next().await {
        assert!(String::from_utf8_lossy(&body.unwrap()).contains("held"));
    }
}

/// Shows the test which calls have begun, and lets the test release them.
struct Gate {
    entered: Semaphore,
    open: Semaphore,
}

impl Gate {
    async fn entered(&self, number: usize) {
        self.entered.acquire_many(u32::try_from(number).unwrap()).await.unwrap().forget();
    }
}

/// Waits until the gate opens.
#[tool]
async fn hold(gate: State<Gate>) -> &'static str {
    gate.entered.add_permits(1);
    gate.open.acquire().await.unwrap().forget();
    "held"
}

fn server() -> Server {
    builder().build().unwrap()
}

fn builder() -> ServerBuilder {
    let gate = Gate { entered: Semaphore::new(0), open: Semaphore::new(0) };
    Server::new("many", "1.0.0").state(gate).tools(tools![hold])
}

fn tool(id: usize, name: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}})
}

fn request(method: &str, session: &str, body: &Value) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if !session.is_empty() {
        request = request.header("mcp-session-id", session).header("mcp-protocol-version", HANDSHAKE);
    }
    request.body(Full::from(body.to_string())).unwrap()
}

async fn open(service: &HttpService, peer: Option<SocketAddr>) -> Response<ResponseBody> {
    let mut request = request("POST", "", &serde_json::from_str(&initialize()).unwrap());
    if let Some(peer) = peer {
        request.extensions_mut().insert(RemoteAddr(peer));
    }
    service.handle(request).await
}

async fn session(service: &HttpService) -> String {
    open(service, None).await.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

/// Reads the next piece of a body; `None` at its end.
async fn text(body: &mut ResponseBody) -> Option<String> {
    let frame = body.frame().await?.unwrap();
    Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
}
