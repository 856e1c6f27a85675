//! How do conversations of the oldest transport go, at one server or at several?

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::yield_now;
use tokio::time::timeout;
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{Admit, ConnectRequest, Principal, Refuse};
use toolway::store::MemoryStore;

use super::faulty_store::FaultyStore;
use super::stage::{FOR_EVER, service, text};
use crate::raw_http::{Events, Raw, initialize};

/// A connection of the oldest transport (HTTP+SSE).
struct Oldest {
    raw: Raw,
    query: String,
    events: Events,
}

impl Oldest {
    async fn open(service: HttpService) -> Self {
        Self::open_with(service, Vec::new()).await
    }

    async fn open_with(service: HttpService, headers: Vec<(&'static str, String)>) -> Self {
        let raw = Raw { service, session: String::new(), version: "2024-11-05", headers };
        let mut events = raw.stream(None).await;
        let query = String::from_utf8(events.next().await.unwrap().data.to_vec()).unwrap();
        let mut oldest = Self { raw, query, events };
        assert_eq!(oldest.post(&initialize("2024-11-05")).await, 202);
        assert!(oldest.events.message().await.is_some());
        oldest
    }

    async fn post(&self, body: &Value) -> u16 {
        let mut request = self.raw.request(http::Method::POST, &body.to_string());
        *request.uri_mut() = format!("/mcp{}", self.query).parse().unwrap();
        self.raw.service.handle(request).await.status().as_u16()
    }
}

#[tokio::test(start_paused = true)]
async fn the_oldest_streams_end_when_the_server_stops_and_what_runs_is_answered() {
    let (service, gate) = service();
    let service = service.legacy_sse();
    let idle = Oldest::open(service.clone()).await;
    let busy = Oldest::open(service.clone()).await;
    let params = json!({"name": "silent", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    assert_eq!(busy.post(&call).await, 202);
    let idle = tokio::spawn(timeout(FOR_EVER, idle.events.rest()));
    let busy = tokio::spawn(timeout(FOR_EVER, busy.events.rest()));
    yield_now().await;
    service.stop().await;
    let rest = idle.await.unwrap().expect("a stream on which nothing happens ends");
    assert_eq!(rest, Vec::<Value>::new());
    gate.go(1);
    let rest = busy.await.unwrap().expect("a stream on which something runs ends with it");
    assert_eq!(rest.last().map(text), Some("done"));
}

#[tokio::test(start_paused = true)]
async fn each_post_of_the_oldest_transport_has_its_own_rights() {
    #[tool]
    fn safe() -> &'static str {
        "safe"
    }
    #[tool]
    fn danger() -> &'static str {
        "danger"
    }
    async fn by_role(connecting: ConnectRequest) -> Result<Admit, Refuse> {
        let is_admin = connecting.headers().get("x-role").is_some_and(|role| role == "admin");
        let admit = Admit::as_principal("ann");
        Ok(if is_admin { admit } else { admit.only_tools(["safe"]) })
    }
    let server =
        Server::new("roles", "1.0.0").tools(tools![safe, danger]).on_connect(by_role).build().unwrap();
    let role = |role: &str| vec![("x-role", role.to_owned())];
    let mut oldest = Oldest::open_with(server.http().legacy_sse(), role("admin")).await;
    for (id, asked_by, tool, is_allowed) in [
        (1, "admin", "danger", true),
        (2, "guest", "danger", false),
        (3, "guest", "safe", true),
        (4, "admin", "danger", true),
    ] {
        oldest.raw.headers = role(asked_by);
        let params = json!({"name": tool, "arguments": {}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        assert_eq!(oldest.post(&call).await, 202);
        let answer = oldest.events.message().await.unwrap();
        assert_eq!((&answer["id"], answer.get("result").is_some()), (&json!(id), is_allowed), "{answer}");
    }
    // An empty body is refused, and does not shift the rights of later ones.
    let mut empty = oldest.raw.request(http::Method::POST, "  ");
    *empty.uri_mut() = format!("/mcp{}", oldest.query).parse().unwrap();
    assert_eq!(oldest.raw.service.handle(empty).await.status(), 400);
}

/// A server with tools for one role each, and the store that it shares.
fn server_of_roles(store: &Arc<FaultyStore>) -> HttpService {
    /// Adds.
    #[tool]
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }
    /// Tells the caller.
    #[tool]
    fn whoami(principal: Principal) -> String {
        principal.to_string()
    }
    async fn by_header(connecting: ConnectRequest) -> Result<Admit, Refuse> {
        let value = |name: &str| connecting.headers().get(name).and_then(|value| value.to_str().ok());
        let admit = Admit::as_principal(value("x-user").ok_or(Refuse::forbidden("no user"))?);
        Ok(if value("x-role") == Some("admin") { admit } else { admit.only_tools(["add"]) })
    }
    let builder = Server::new("roles", "1.0.0").tools(tools![add, whoami]).on_connect(by_header);
    builder.store(store.clone()).http().unwrap().legacy_sse()
}

fn request(id: i64, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn user(name: &str, role: &str) -> Vec<(&'static str, String)> {
    vec![("x-user", name.to_owned()), ("x-role", role.to_owned())]
}

#[tokio::test(start_paused = true)]
async fn posts_of_the_oldest_transport_reach_the_server_that_holds_the_stream() {
    let memory = Arc::new(MemoryStore::new());
    let stores = [FaultyStore::new(&memory), FaultyStore::new(&memory)];
    let [one, two] = stores.each_ref().map(server_of_roles);
    let mut oldest = Oldest::open_with(one.clone(), user("ann", "admin")).await;
    oldest.raw.service = two;
    for id in 1..=50 {
        assert_eq!(oldest.post(&request(id, "add", json!({"a": id, "b": 1}))).await, 202);
    }
    for id in 1..=50 {
        let answer = oldest.events.message().await.unwrap();
        assert_eq!((&answer["id"], text(&answer)), (&json!(id), (id + 1).to_string().as_str()), "in order");
    }
    // Each POST has its own rights, as if it had reached the server of the stream.
    assert_eq!(oldest.post(&request(51, "whoami", json!({}))).await, 202);
    assert_eq!(text(&oldest.events.message().await.unwrap()), "ann");
    oldest.raw.headers = user("ann", "guest");
    assert_eq!(oldest.post(&request(52, "whoami", json!({}))).await, 202);
    let answer = oldest.events.message().await.unwrap();
    assert!(answer.get("error").is_some(), "a guest does not see this tool: {answer}");
    // Another caller does not find the conversation.
    oldest.raw.headers = user("bob", "admin");
    assert_eq!(oldest.post(&request(53, "add", json!({"a": 1, "b": 1}))).await, 404);
    oldest.raw.headers = user("ann", "admin");
    // The stream ends, and with it the conversation.
    drop(oldest.events);
    oldest.events = Oldest::open_with(one, user("ann", "admin")).await.events;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(oldest.post(&request(54, "add", json!({"a": 1, "b": 1}))).await, 404);
}

#[tokio::test(start_paused = true)]
async fn a_post_of_the_oldest_transport_waits_for_the_one_before() {
    let memory = Arc::new(MemoryStore::new());
    let stores = [FaultyStore::new(&memory), FaultyStore::new(&memory)];
    let [one, two] = stores.each_ref().map(server_of_roles);
    let mut oldest = Oldest::open_with(one, user("ann", "admin")).await;
    oldest.raw.service = two;
    // The server that holds the stream cannot look for a while, and no message tells it.
    stores[1].loses_messages.store(true, Ordering::Release);
    let (first, second) =
        (request(1, "add", json!({"a": 1, "b": 1})), request(2, "add", json!({"a": 2, "b": 2})));
    assert_eq!(oldest.post(&first).await, 202);
    // The place is not free in time, so the client is told to try again.
    assert_eq!(oldest.post(&second).await, 503);
    let answer =
        timeout(FOR_EVER, oldest.events.message()).await.expect("a lost message costs only time").unwrap();
    assert_eq!((&answer["id"], text(&answer)), (&json!(1), "2"));
    stores[1].loses_messages.store(false, Ordering::Release);
    assert_eq!(oldest.post(&second).await, 202);
    let answer = oldest.events.message().await.unwrap();
    assert_eq!((&answer["id"], text(&answer)), (&json!(2), "4"));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_of_the_oldest_transport_ends_with_its_server() {
    let memory = Arc::new(MemoryStore::new());
    let stores = [FaultyStore::new(&memory), FaultyStore::new(&memory)];
    let [one, two] = stores.each_ref().map(server_of_roles);
    let mut oldest = Oldest::open_with(one.clone(), user("ann", "admin")).await;
    oldest.raw.service = two;
    // It dies: nothing of it reaches the store any more.
    stores[0].is_away.store(true, Ordering::Release);
    let call = request(1, "add", json!({"a": 1, "b": 1}));
    tokio::time::sleep(Duration::from_secs(14)).await;
    assert_eq!(oldest.post(&call).await, 404);
    // Without the store, a POST can be tried again.
    stores[1].is_away.store(true, Ordering::Release);
    assert_eq!(oldest.post(&call).await, 503);
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_oldest_transport_that_does_not_read_is_disconnected() {
    /// Returns more than the client has room for.
    #[tool]
    fn much() -> String {
        "x".repeat(300_000)
    }
    let server = Server::new("much", "1.0.0").tools(tools![much]).build().unwrap();
    let oldest = Oldest::open(server.http().legacy_sse()).await;
    let call = |id: u32| {
        let params = json!({"name": "much", "_meta": {"example.com/x": "x".repeat(20_000)}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let mut answers = Vec::new();
    for id in 0..1000 {
        answers.push(oldest.post(&call(id)).await);
        if answers.last() != Some(&202) {
            break;
        }
    }
    assert_eq!(answers.last(), Some(&503), "{} were accepted", answers.len());
    assert_eq!(oldest.post(&call(0)).await, 404, "the session has ended");
}

#[tokio::test(start_paused = true)]
async fn half_a_message_ends_a_conversation_of_the_oldest_transport() {
    let (service, _) = service();
    let oldest = Oldest::open(service.legacy_sse()).await;
    let long = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": "x".repeat(200_000)}});
    // The client disconnects while its message is being accepted.
    assert!(timeout(Duration::ZERO, oldest.post(&long)).await.is_err());
    assert_eq!(oldest.post(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})).await, 404);
    let rest = timeout(FOR_EVER, oldest.events.rest()).await.expect("the stream ends");
    assert!(rest.iter().all(|message| message["id"].is_null()), "{rest:?}");
}
