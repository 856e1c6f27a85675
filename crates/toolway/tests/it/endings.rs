//! What is a server told when a request, a pipe or a session ends?

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use toolway::prelude::*;
use toolway::server::{
    Admit, ConnectRequest, DisconnectEvent, Extension, Headers, Principal, Refuse, ServerBuilder,
    TerminationEvent, TerminationReason,
};
use toolway::store::MemoryStore;

use crate::pipe::Talk;
use crate::raw_http::{Events, Raw, initialize, whole};
use crate::sessions::{NEWEST, REVISIONS, Steps};

/// Sends what the hooks report.
#[derive(Clone)]
struct Told(mpsc::UnboundedSender<String>);

struct Heard(mpsc::UnboundedReceiver<String>);

impl Heard {
    async fn next(&mut self) -> String {
        let next = tokio::time::timeout(Duration::from_secs(60), self.0.recv()).await;
        next.expect("a hook runs").unwrap()
    }

    /// Checks that nothing was reported, and that nothing is pending.
    async fn nothing(&mut self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.0.try_recv().ok(), None);
    }
}

fn telling() -> (Told, Heard) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Told(sender), Heard(receiver))
}

struct Plan(&'static str);

async fn admit(connecting: ConnectRequest) -> Result<Admit, Refuse> {
    match connecting.bearer() {
        Some("mallory") => Err(Refuse::forbidden("no")),
        name => Ok(Admit::as_principal(name.unwrap_or("a pipe")).with(Plan("small"))),
    }
}

async fn gone(
    over: DisconnectEvent,
    who: Principal,
    plan: Extension<Plan>,
    headers: Headers,
    told: State<Told>,
) {
    let end = if over.is_complete() { "whole" } else { "cut" };
    let method = over.http_method().unwrap_or("pipe");
    assert_eq!(over.is_pipe(), method == "pipe");
    assert!(over.duration() < Duration::from_secs(3600));
    let agent = headers.text("user-agent").unwrap_or("nobody");
    told.0.send(format!("{method} {end} {who} {} {agent}", plan.0)).unwrap();
}

async fn ended(over: TerminationEvent, told: State<Told>) {
    assert!(over.session_id().len() >= 32);
    let who = over.principal().map_or("nobody", Principal::as_str);
    told.0.send(format!("{:?} {who}", over.reason())).unwrap();
}

/// Waits for the test.
#[tool]
async fn wait(gate: State<Steps>, ctx: Ctx) -> &'static str {
    ctx.progress(1, 2, "").await;
    gate.wait().await;
    "done"
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn server(told: &Told, gate: &Steps) -> ServerBuilder {
    Server::new("endings", "1.0.0")
        .state(told.clone())
        .state(gate.clone())
        .tools(tools![add, wait])
        .on_connect(admit)
}

fn headers(name: &str) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {name}")), ("user-agent", "tester".to_owned())]
}

/// A request of the stateless era, which asks for progress.
fn stateless(tool: &str) -> (Value, Vec<(&'static str, String)>) {
    let meta = json!({
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = if tool == "add" { json!({"a": 1, "b": 2}) } else { json!({}) };
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut headers = headers("ann");
    for (name, value) in
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)]
    {
        headers.push((name, value.to_owned()));
    }
    (body, headers)
}

#[tokio::test]
async fn a_hook_hears_when_a_request_has_closed() {
    let ((told, mut heard), gate) = (telling(), Steps::new());
    let server = server(&told, &gate).on_disconnect(gone).on_terminate(ended).build().unwrap();
    let service = server.http();

    // A stateless request: answered, answered with a stream, abandoned. It has no session that could end.
    for (tool, is_cut, expected) in [
        ("add", false, "POST whole ann small tester"),
        ("wait", false, "POST whole ann small tester"),
        ("wait", true, "POST cut ann small tester"),
    ] {
        let (body, headers) = stateless(tool);
        let raw = Raw { service: service.clone(), session: String::new(), version: "", headers };
        let response = raw.post(&body).await;
        heard.nothing().await;
        match (tool, is_cut) {
            ("add", _) => assert_eq!(whole(response).await.1["result"]["content"][0]["text"], "3"),
            (_, true) => {
                let mut events = Events::of(response);
                events.message().await.unwrap();
                drop(events);
            }
            (_, false) => {
                gate.go(1);
                assert_eq!(Events::of(response).rest().await.len(), 2);
            }
        }
        assert_eq!(heard.next().await, expected, "{tool}");
    }

    // The requests of a session, and its stream.
    for version in REVISIONS {
        let raw = Raw::open_with(&service, version, headers("bob")).await;
        let mut opening = [heard.next().await, heard.next().await];
        opening.sort();
        // The first reply was not read, and the second is empty.
        assert_eq!(opening, ["POST cut bob small tester", "POST whole bob small tester"]);
        let stream = raw.get(None).await;
        heard.nothing().await;
        drop(stream);
        assert_eq!(heard.next().await, "GET cut bob small tester");
        assert!(raw.delete().await.status().is_success());
        let mut both = [heard.next().await, heard.next().await];
        both.sort();
        assert_eq!(both, ["DELETE whole bob small tester", "Deleted bob"]);
    }

    // A refused caller is not reported; an admitted one with an invalid request is.
    let refused =
        Raw { headers: headers("mallory"), session: String::new(), service: service.clone(), version: "" };
    assert_eq!(refused.post(&json!({})).await.status(), StatusCode::FORBIDDEN);
    heard.nothing().await;
    let odd = Raw { headers: headers("ann"), ..refused };
    assert_eq!(service.handle(odd.request(Method::PUT, "")).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(heard.next().await, "PUT cut ann small tester", "nobody has read the reply");

    // A pipe, once.
    let mut talk = Talk::start(&server);
    talk.send_json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    talk.receive().await;
    heard.nothing().await;
    talk.end().await;
    assert_eq!(heard.next().await, "pipe whole a pipe small nobody");
    let mut talk = Talk::start(&server);
    talk.send_json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    talk.receive().await;
    talk.abort();
    assert_eq!(heard.next().await, "pipe cut a pipe small nobody");
    heard.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_hears_when_a_session_has_ended_for_good() {
    let ((told, mut heard), gate) = (telling(), Steps::new());
    let server = server(&told, &gate).on_terminate(ended).build().unwrap();
    let service = server.http().session_idle(Duration::from_secs(60));

    for version in REVISIONS {
        let raw = Raw::open_with(&service, version, headers("ann")).await;
        assert!(raw.delete().await.status().is_success());
        assert_eq!(heard.next().await, "Deleted ann");
        assert_eq!(raw.delete().await.status(), StatusCode::NOT_FOUND);

        // The session expires without any request.
        let raw = Raw::open_with(&service, version, headers("bob")).await;
        tokio::time::sleep(Duration::from_secs(50)).await;
        raw.ask("ping", json!({})).await;
        tokio::time::sleep(Duration::from_secs(50)).await;
        heard.nothing().await;
        assert_eq!(heard.next().await, "Expired bob");
        assert_eq!(whole(raw.call(1, "add", json!({})).await).await.0, StatusCode::NOT_FOUND);
    }

    // A pipe: only one that was opened has a session.
    for is_opened in [false, true] {
        let mut talk = Talk::start(&server);
        let first =
            if is_opened { initialize(NEWEST) } else { json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}) };
        talk.send_json(first).await;
        talk.receive().await;
        heard.nothing().await;
        talk.end().await;
        if is_opened {
            assert_eq!(heard.next().await, "Disconnected a pipe");
        }
    }

    // A stateless request never had a session.
    let (body, headers_) = stateless("add");
    let alone = Raw { service: service.clone(), session: String::new(), version: "", headers: headers_ };
    whole(alone.post(&body).await).await;

    // The server shuts down, and waits for the hooks.
    Raw::open_with(&service, NEWEST, headers("cat")).await;
    heard.nothing().await;
    service.stop().await;
    assert_eq!(heard.0.try_recv().ok().as_deref(), Some("Stopped cat"));
    heard.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_another_server_goes_on_with_has_not_ended() {
    let ((told, mut heard), gate) = (telling(), Steps::new());
    let store = Arc::new(MemoryStore::new());
    let [one, two] = [(); 2].map(|()| {
        let server = server(&told, &gate).store(store.clone()).on_terminate(ended).build().unwrap();
        server.http().session_idle(Duration::from_secs(60))
    });
    let here = Raw::open_with(&one, NEWEST, headers("ann")).await;
    let there = Raw { service: two.clone(), ..here.clone() };
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(30)).await;
        there.ask("ping", json!({})).await;
    }
    heard.nothing().await;
    here.ask("ping", json!({})).await;
    // Each of the servers that have served it reports it once.
    tokio::time::sleep(Duration::from_secs(5 * 60)).await;
    assert_eq!([heard.next().await, heard.next().await], ["Expired ann", "Expired ann"]);
    heard.nothing().await;
}

#[tokio::test]
async fn the_pipe_of_the_oldest_transport_ends_its_session_with_its_stream() {
    let ((told, mut heard), gate) = (telling(), Steps::new());
    let server = server(&told, &gate).on_disconnect(gone).on_terminate(ended).build().unwrap();
    let service = server.http().legacy_sse();
    let raw = Raw { service, session: String::new(), version: "", headers: headers("ann") };
    let mut events = raw.stream(None).await;
    let endpoint = String::from_utf8(events.next().await.unwrap().data.to_vec()).unwrap();
    let mut request = raw.request(Method::POST, &initialize("2024-11-05").to_string());
    *request.uri_mut() = format!("/mcp{endpoint}").parse().unwrap();
    assert_eq!(raw.service.handle(request).await.status(), StatusCode::ACCEPTED);
    assert_eq!(heard.next().await, "POST whole ann small tester");
    assert_eq!(events.message().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    drop(events);
    let mut both = [heard.next().await, heard.next().await];
    both.sort();
    assert_eq!(both, ["Disconnected ann", "GET cut ann small tester"]);
    heard.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_or_never_ends_harms_nobody() {
    async fn panics(_: DisconnectEvent) {
        panic!("not again");
    }
    async fn never_ends(_: DisconnectEvent) {
        pending::<()>().await;
    }
    async fn lacks(_: DisconnectEvent, _: Extension<String>) {}
    let ((told, mut heard), gate) = (telling(), Steps::new());
    let hooks = server(&told, &gate).on_disconnect(panics).on_disconnect(never_ends).on_disconnect(lacks);
    let server = hooks.on_disconnect(gone).build().unwrap();
    let service = server.http();
    let raw = Raw::open_with(&service, NEWEST, headers("ann")).await;
    for _ in 0..3 {
        let (_, reply) = whole(raw.call(1, "add", json!({"a": 1, "b": 2})).await).await;
        assert_eq!(reply["result"]["content"][0]["text"], "3");
    }
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(heard.next().await);
    }
    all.sort();
    assert_eq!(all[0], "POST cut ann small tester", "nobody reads how a session is opened");
    assert_eq!(all[1..], ["POST whole ann small tester"; 4], "the last hook runs after all");
    // The end of a pipe waits for its hooks, but not forever.
    let mut talk = Talk::start(&server);
    talk.send_json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    talk.receive().await;
    talk.end().await;
    assert_eq!(heard.0.try_recv().ok().as_deref(), Some("pipe whole a pipe small nobody"));
}

#[tokio::test]
async fn what_a_hook_lacks_is_told_when_the_server_is_built() {
    async fn lacks(_: DisconnectEvent, _: State<Mutex<u8>>) {}
    async fn takes(_: TerminationEvent, _: String) {}
    let error = Server::new("app", "1.0.0").on_disconnect(lacks).on_terminate(takes).build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the handler of `on_disconnect`: ") && text.contains("call `.state(…)`"), "{text}");
    assert!(text.contains("the handler of `on_terminate` takes an argument"), "{text}");
    // The hooks of a merged server are kept, with its values.
    let merged = Server::new("inner", "1.0.0").state(Mutex::new(1_u8)).on_disconnect(lacks);
    assert!(Server::new("outer", "1.0.0").merge(merged).build().is_ok());
    assert_eq!(format!("{:?}", TerminationReason::Expired), "Expired");
}
