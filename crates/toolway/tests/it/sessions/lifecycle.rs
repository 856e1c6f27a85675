//! How does a session begin and end, what belongs to it, and who may use it?

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{Admit, ConnectRequest, Refuse};
use toolway::store::MemoryStore;

use super::{NEWEST, REVISIONS, Steps, walk};
use crate::raw_http::{Events, Raw, initialize, whole};

/// Lets its connection go, and then waits.
#[tool]
async fn leave(gate: State<Steps>, ctx: Ctx) -> &'static str {
    ctx.release_stream(Duration::from_millis(70)).await;
    gate.wait().await;
    "back again"
}

/// Says nothing until it is done.
#[tool]
async fn silent(gate: State<Steps>) -> &'static str {
    gate.wait().await;
    "done"
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Says something at every level.
#[tool]
async fn chatter(ctx: Ctx) {
    ctx.log().debug("psst", json!({})).await;
    ctx.log().error("help", json!({})).await;
}

#[resource("news://today")]
fn today() -> &'static str {
    "nothing new"
}

fn server(gate: &Steps) -> Server {
    Server::new("sessions", "1.0.0")
        .state(gate.clone())
        .tools(tools![walk, leave, silent, add, chatter])
        .resources(resources![today])
        .build()
        .unwrap()
}

fn service() -> (HttpService, Steps) {
    let gate = Steps::new();
    (server(&gate).http(), gate)
}

fn progress(n: u32) -> impl Fn(&Value) -> bool {
    move |message| message["method"] == "notifications/progress" && message["params"]["progress"] == n
}

#[tokio::test]
async fn a_session_begins_with_initialize_and_ends_with_delete() {
    let (service, _) = service();
    for version in REVISIONS {
        let raw = Raw::open(&service, version).await;
        assert!(raw.session.len() >= 32 && raw.session.bytes().all(|byte| byte.is_ascii_graphic()));
        let result = whole(raw.call(1, "add", json!({"a": 2, "b": 3})).await).await.1;
        assert_eq!(result["result"]["content"][0]["text"], "5");
        assert!(raw.delete().await.status().is_success());
        let (status, error) = whole(raw.call(2, "add", json!({"a": 2, "b": 3})).await).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::NOT_FOUND, &json!(-32600)));
        assert_eq!(raw.get(None).await.status(), StatusCode::NOT_FOUND);
        assert_eq!(raw.delete().await.status(), StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn a_session_is_named_by_its_header_and_nothing_else() {
    let (service, _) = service();
    let raw = Raw::open(&service, NEWEST).await;
    let nobody = Raw { session: String::new(), ..raw.clone() };
    let (status, error) = whole(nobody.call(1, "add", json!({"a": 1, "b": 1})).await).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(error["error"]["message"].as_str().unwrap().contains("Mcp-Session-Id"), "{error}");
    let forged = ["0".repeat(32), "x".to_owned(), raw.session.to_uppercase(), format!("{}/", raw.session)];
    // Ids are random; an id without letters is the same in upper case.
    for forged in forged.into_iter().filter(|forged| *forged != raw.session) {
        let forged = Raw { session: forged, ..raw.clone() };
        assert_eq!(forged.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await.status(), 404);
        assert_eq!(forged.get(None).await.status(), 404);
        assert_eq!(forged.delete().await.status(), 404);
    }
    let again = whole(raw.call(1, "add", json!({"a": 1, "b": 1})).await).await;
    assert_eq!(again.1["result"]["content"][0]["text"], "2");
}

#[tokio::test]
async fn a_post_opens_a_stream_that_ends_with_the_answer() {
    for version in REVISIONS {
        let (service, gate) = service();
        let raw = Raw::open(&service, version).await;
        gate.go(3);
        let events = Events::of(raw.call(7, "walk", json!({"steps": 2})).await).rest().await;
        assert_eq!(events.len(), 3, "{events:?}");
        assert!(progress(1)(&events[0]) && progress(2)(&events[1]));
        assert_eq!(events[2]["id"], 7);
        assert_eq!(events[2]["result"]["content"][0]["text"], "walked 2");
    }
}

#[tokio::test]
async fn a_client_that_comes_back_misses_nothing_and_hears_nothing_twice() {
    for version in REVISIONS {
        let (service, gate) = service();
        let raw = Raw::open(&service, version).await;
        gate.go(1);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 5})).await);
        assert!(progress(1)(&events.message().await.unwrap()));
        let last = events.last.clone().unwrap();
        // The connection breaks; a disconnect does not cancel the call.
        drop(events);
        gate.go(2);
        let mut events = raw.stream(Some(&last)).await;
        for n in 2..=3 {
            assert!(progress(n)(&events.message().await.unwrap()), "{version}: {n}");
        }
        let last = events.last.clone().unwrap();
        drop(events);
        // The answer is written while no client is connected.
        gate.go(3);
        let rest = raw.stream(Some(&last)).await.rest().await;
        assert_eq!(rest.len(), 3, "{rest:?}");
        assert!(progress(4)(&rest[0]) && progress(5)(&rest[1]));
        assert_eq!(rest[2]["result"]["content"][0]["text"], "walked 5");
        // It can be requested again, until it is dropped.
        assert_eq!(raw.stream(Some(&last)).await.rest().await, rest);
    }
}

#[tokio::test]
async fn whoever_comes_back_takes_the_stream_over() {
    let (service, gate) = service();
    let raw = Raw::open(&service, NEWEST).await;
    gate.go(1);
    let mut first = Events::of(raw.call(7, "walk", json!({"steps": 2})).await);
    assert!(first.message().await.is_some());
    let mut second = raw.stream(first.last.as_deref()).await;
    assert_eq!(first.message().await, None, "the first reader is sent away");
    gate.go(2);
    assert!(progress(2)(&second.message().await.unwrap()));
    assert_eq!(second.message().await.unwrap()["result"]["content"][0]["text"], "walked 2");
    assert_eq!(second.message().await, None);
}

#[tokio::test]
async fn an_id_that_cannot_be_come_back_to_is_a_bad_request() {
    let (service, gate) = service();
    let (one, two) = (Raw::open(&service, NEWEST).await, Raw::open(&service, NEWEST).await);
    gate.go(2);
    let mut events = Events::of(one.call(7, "walk", json!({"steps": 1})).await);
    assert!(events.message().await.is_some());
    let last = events.last.clone().unwrap();
    let (stream, number) = last.split_once('.').unwrap();
    let beyond = format!("{stream}.{}", number.parse::<u64>().unwrap() + 1000);
    let mut answers = Vec::new();
    for forged in ["x", "x.1", &beyond, &format!("{stream}.0"), &format!("{stream}.+1"), stream] {
        let (status, error) = whole(one.get(Some(forged)).await).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32600)), "{forged}");
        answers.push(error);
    }
    // A stream of another session looks like one that never existed.
    answers.push(whole(two.get(Some(&last)).await).await.1);
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn streams_of_the_newest_revision_begin_with_where_to_come_back_to() {
    for version in REVISIONS {
        let (service, gate) = service();
        let raw = Raw::open(&service, version).await;
        gate.go(2);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 1})).await);
        let first = events.next().await.unwrap();
        let is_primer = first.data.is_empty() && first.id.is_some() && first.retry.is_some();
        assert_eq!(is_primer, version == NEWEST, "{version}: {first:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_request_becomes_a_stream_that_can_be_come_back_to() {
    let (service, gate) = service();
    let raw = Raw::open(&service, NEWEST).await;
    // Time passes only while all tasks are idle.
    let mut events = Events::of(raw.call(7, "silent", json!({})).await);
    let primer = events.next().await.unwrap();
    assert!(primer.data.is_empty());
    drop(events);
    gate.go(1);
    let rest = raw.stream(primer.id.as_deref()).await.rest().await;
    assert_eq!(rest[0]["result"]["content"][0]["text"], "done");
    // Revisions without a primer get a single message.
    let old = Raw::open(&service, "2025-06-18").await;
    gate.go(1);
    let (_, answer) = whole(old.call(7, "silent", json!({})).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn an_author_may_let_the_connection_go() {
    let (service, gate) = service();
    let raw = Raw::open(&service, NEWEST).await;
    let mut events = Events::of(raw.call(7, "leave", json!({})).await);
    let primer = events.next().await.unwrap();
    let released = events.next().await.unwrap();
    assert_eq!((released.retry, released.data.len()), (Some(70), 0));
    assert_eq!(events.next().await, None, "the server closes the stream");
    gate.go(1);
    let rest = raw.stream(primer.id.as_deref()).await.rest().await;
    assert_eq!(rest.len(), 1);
    assert_eq!((&rest[0]["id"], &rest[0]["result"]["content"][0]["text"]), (&json!(7), &json!("back again")));
}

#[tokio::test]
async fn letting_the_connection_go_means_nothing_to_older_revisions() {
    for version in ["2025-03-26", "2025-06-18"] {
        let (service, gate) = service();
        let raw = Raw::open(&service, version).await;
        gate.go(1);
        let response = raw.call(7, "leave", json!({})).await;
        let text = match response.headers()["content-type"].to_str().unwrap() {
            "application/json" => whole(response).await.1,
            _ => Events::of(response).rest().await.pop().unwrap(),
        };
        assert_eq!(text["result"]["content"][0]["text"], "back again", "{version}");
    }
}

#[tokio::test]
async fn a_cancelled_request_ends_without_an_answer() {
    let (service, gate) = service();
    let raw = Raw::open(&service, NEWEST).await;
    gate.go(1);
    let mut events = Events::of(raw.call(7, "walk", json!({"steps": 3})).await);
    assert!(events.message().await.is_some());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(raw.post(&cancel).await.status(), StatusCode::ACCEPTED);
    assert_eq!(events.message().await, None);
    // The id is free again.
    gate.go(2);
    let rest = Events::of(raw.call(7, "walk", json!({"steps": 1})).await).rest().await;
    assert_eq!(rest.last().unwrap()["result"]["content"][0]["text"], "walked 1");
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_the_first_request_goes_on() {
    let (service, gate) = service();
    let raw = Raw::open(&service, NEWEST).await;
    gate.go(1);
    let mut events = Events::of(raw.call(7, "walk", json!({"steps": 2})).await);
    assert!(events.message().await.is_some());
    let (_, refusal) = whole(raw.call(7, "add", json!({"a": 1, "b": 1})).await).await;
    assert_eq!(refusal["error"]["code"], -32600);
    gate.go(2);
    assert_eq!(events.rest().await.pop().unwrap()["result"]["content"][0]["text"], "walked 2");
}

#[tokio::test]
async fn a_get_opens_a_stream_for_news_and_the_newest_hears_them() {
    let gate = Steps::new();
    let server = server(&gate);
    let service = server.http();
    for version in REVISIONS {
        let raw = Raw::open(&service, version).await;
        let mut older = raw.stream(None).await;
        let mut newer = raw.stream(None).await;
        server.tools_changed();
        assert_eq!(newer.message().await.unwrap()["method"], "notifications/tools/list_changed");
        // When the newest stream ends, the one before it is the newest.
        drop(newer);
        server.tools_changed();
        assert_eq!(older.message().await.unwrap()["method"], "notifications/tools/list_changed");
        // Without any stream, notifications are kept for the next one.
        drop(older);
        server.tools_changed();
        let mut next = raw.stream(None).await;
        assert_eq!(next.message().await.unwrap()["method"], "notifications/tools/list_changed");
        raw.delete().await;
        assert_eq!(next.message().await, None, "a stream ends with its session");
    }
}

#[tokio::test]
async fn a_stream_of_news_can_be_come_back_to_as_well() {
    let gate = Steps::new();
    let server = server(&gate);
    let raw = Raw::open(&server.http(), NEWEST).await;
    let mut events = raw.stream(None).await;
    let primer = events.next().await.unwrap();
    server.tools_changed();
    assert!(events.message().await.is_some());
    // The client has not received that event.
    drop(events);
    let mut events = raw.stream(primer.id.as_deref()).await;
    assert_eq!(events.message().await.unwrap()["method"], "notifications/tools/list_changed");
    server.prompts_changed();
    server.resources_changed();
    assert_eq!(events.message().await.unwrap()["method"], "notifications/resources/list_changed");
}

#[tokio::test]
async fn the_log_level_and_subscriptions_belong_to_the_session() {
    let gate = Steps::new();
    let server = server(&gate);
    let service = server.http();
    let (loud, quiet) = (Raw::open(&service, NEWEST).await, Raw::open(&service, NEWEST).await);
    assert_eq!(loud.ask("logging/setLevel", json!({"level": "debug"})).await["result"], json!({}));
    assert_eq!(loud.ask("resources/subscribe", json!({"uri": "news://today"})).await["result"], json!({}));
    let logged = async |raw: &Raw| {
        let rest = Events::of(raw.call(9, "chatter", json!({})).await).rest().await;
        rest.iter().filter(|message| message["method"] == "notifications/message").count()
    };
    assert_eq!((logged(&loud).await, logged(&quiet).await), (2, 1));
    let (mut of_loud, mut of_quiet) = (loud.stream(None).await, quiet.stream(None).await);
    server.resource_updated("news://today");
    server.tools_changed();
    // The notification that both receive shows that the quiet one did not receive the other.
    assert_eq!(of_quiet.message().await.unwrap()["method"], "notifications/tools/list_changed");
    assert_eq!(of_loud.message().await.unwrap()["method"], "notifications/tools/list_changed");
    assert_eq!(of_loud.message().await.unwrap()["params"]["uri"], "news://today");
    assert_eq!(loud.ask("resources/unsubscribe", json!({"uri": "news://today"})).await["result"], json!({}));
    server.resource_updated("news://today");
    server.resources_changed();
    assert_eq!(of_loud.message().await.unwrap()["method"], "notifications/resources/list_changed");
}

#[tokio::test(start_paused = true)]
async fn a_silent_session_is_forgotten_and_one_that_is_in_use_is_not() {
    let gate = Steps::new();
    let server = server(&gate);
    let service = server.http().session_idle(Duration::from_secs(60));
    let [silent, reading, running] = [
        Raw::open(&service, NEWEST).await,
        Raw::open(&service, NEWEST).await,
        Raw::open(&service, NEWEST).await,
    ];
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let mut stream = reading.stream(None).await;
    let reader = tokio::spawn(async move { while stream.next().await.is_some() {} });
    gate.go(1);
    let mut events = Events::of(running.call(7, "walk", json!({"steps": 2})).await);
    assert!(events.message().await.is_some());
    drop(events);
    // The clock is paused unless all tasks are idle; neither a session with an open stream nor one with a running call
    // is idle.
    tokio::time::sleep(Duration::from_secs(5 * 60)).await;
    assert_eq!(silent.post(&ping).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(reading.post(&ping).await.status(), StatusCode::OK);
    assert_eq!(running.post(&ping).await.status(), StatusCode::OK);
    reader.abort();
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let (service, _) = service();
    let service = service.max_sessions(3, 100);
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(Raw::open(&service, NEWEST).await);
    }
    let nobody = Raw { session: String::new(), ..open[0].clone() };
    let response = nobody.post(&initialize(NEWEST)).await;
    assert!(response.headers().contains_key("retry-after"));
    let (status, error) = whole(response).await;
    assert_eq!((status, &error["error"]["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(-32603)));
    assert_eq!(error["id"], 0);
    assert!(error["error"]["data"]["retryAfterMs"].is_u64());
    // The slot is freed.
    open.pop().unwrap().delete().await;
    Raw::open(&service, NEWEST).await;
}

#[tokio::test]
async fn one_address_has_only_its_share_of_the_sessions() {
    let (service, _) = service();
    let service = service.max_sessions(100, 2);
    let nobody = Raw { service, session: String::new(), version: NEWEST, headers: Vec::new() };
    let from = async |address: [u8; 4]| {
        let mut request = nobody.request(http::Method::POST, &initialize(NEWEST).to_string());
        request.extensions_mut().insert(toolway::server::http::RemoteAddr((address, 1234).into()));
        nobody.service.handle(request).await.status().as_u16()
    };
    let (one, two) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    assert_eq!([from(one).await, from(one).await, from(one).await, from(two).await], [200, 200, 503, 200]);
}

#[tokio::test]
async fn servers_that_share_a_store_are_one_server() {
    let store = Arc::new(MemoryStore::new());
    let gate = Steps::new();
    let make = || {
        Server::new("cluster", "1.0.0")
            .state(gate.clone())
            .tools(tools![walk, add, chatter])
            .resources(resources![today])
            .store(store.clone())
            .build()
            .unwrap()
    };
    let (here, there) = (make(), make());
    let raw = Raw::open(&here.http(), NEWEST).await;
    let other = Raw { service: there.http(), ..raw.clone() };
    // A session that one server opened is served by the other.
    let (_, sum) = whole(other.call(1, "add", json!({"a": 2, "b": 3})).await).await;
    assert_eq!(sum["result"]["content"][0]["text"], "5");
    // A setting made at one server applies to the other.
    assert_eq!(other.ask("logging/setLevel", json!({"level": "debug"})).await["result"], json!({}));
    let rest = Events::of(raw.call(2, "chatter", json!({})).await).rest().await;
    assert_eq!(rest.iter().filter(|message| message["method"] == "notifications/message").count(), 2);
    // Notifications of one server reach a stream of the other.
    let mut stream = raw.stream(None).await;
    assert_eq!(other.ask("resources/subscribe", json!({"uri": "news://today"})).await["result"], json!({}));
    let heard = tokio::spawn(async move {
        let message = stream.message().await.unwrap();
        (message, stream)
    });
    there.resource_updated("news://today");
    let (message, stream) = heard.await.unwrap();
    assert_eq!(
        (&message["method"], &message["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("news://today"))
    );
    // A stream that broke at one server is resumed at the other.
    gate.go(1);
    let mut events = Events::of(raw.call(7, "walk", json!({"steps": 2})).await);
    assert!(progress(1)(&events.message().await.unwrap()));
    let last = events.last.clone();
    drop(events);
    gate.go(2);
    let rest = other.stream(last.as_deref()).await.rest().await;
    assert!(progress(2)(&rest[0]));
    assert_eq!(rest[1]["result"]["content"][0]["text"], "walked 2");
    // A session that ends at one server has ended at the other.
    other.delete().await;
    assert_eq!(stream.rest().await, Vec::<Value>::new());
    assert_eq!(raw.call(3, "add", json!({"a": 2, "b": 3})).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_client_that_takes_no_events_gets_one_message() {
    let (service, gate) = service();
    let mut raw = Raw::open(&service, NEWEST).await;
    raw.headers = vec![("accept", "application/json".to_owned())];
    gate.go(3);
    let (status, answer) = whole(raw.call(7, "walk", json!({"steps": 2})).await).await;
    assert_eq!((status, &answer["result"]["content"][0]["text"]), (StatusCode::OK, &json!("walked 2")));
    assert_eq!(raw.get(None).await.status(), StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn without_sessions_each_request_stands_alone() {
    let (service, gate) = service();
    let service = service.sessionless();
    let raw = Raw {
        service,
        session: String::new(),
        version: NEWEST,
        headers: vec![("mcp-protocol-version", NEWEST.to_owned())],
    };
    let response = raw.post(&initialize(NEWEST)).await;
    assert!(!response.headers().contains_key("mcp-session-id"));
    let (_, answer) = whole(response).await;
    assert!(!answer.to_string().contains("listChanged"), "what cannot be told is not promised: {answer}");
    gate.go(3);
    let events = Events::of(raw.call(7, "walk", json!({"steps": 2})).await).rest().await;
    assert_eq!(events.len(), 3);
    for refused in [raw.get(None).await, raw.delete().await] {
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(refused.headers()["allow"], "POST");
    }
}

#[tokio::test]
async fn a_reader_that_never_reads_holds_nobody_up() {
    let (service, gate) = service();
    let raw = Raw::open(&service, NEWEST).await;
    gate.go(1);
    let stuck = raw.call(7, "walk", json!({"steps": 3000})).await;
    let mut news = raw.stream(None).await;
    gate.go(3000);
    let (_, sum) = whole(raw.call(8, "add", json!({"a": 2, "b": 3})).await).await;
    assert_eq!(sum["result"]["content"][0]["text"], "5");
    assert!(news.next().await.is_some());
    // Nothing important is lost: the newest messages and the answer are there.
    let rest = Events::of(stuck).rest().await;
    assert_eq!(rest.last().unwrap()["result"]["content"][0]["text"], "walked 3000");
}

#[tokio::test]
async fn a_batch_is_answered_together_where_the_revision_has_batches() {
    let (service, gate) = service();
    let raw = Raw::open(&service, "2025-03-26").await;
    let add = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "add", "arguments": {"a": id, "b": 1}}});
    let batch = json!([
        add(1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, add(2),
        {"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": {"level": "debug"}},
        initialize("2025-03-26"), {"jsonrpc": "2.0", "id": 1, "method": "ping"}, 7,
    ]);
    let (status, answers) = whole(raw.post(&batch).await).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answers[0]["result"]["content"][0]["text"], "2");
    assert_eq!(answers[1]["result"]["content"][0]["text"], "3");
    assert_eq!((&answers[2]["id"], &answers[2]["result"]), (&json!(3), &json!({})));
    assert_eq!((&answers[3]["id"], &answers[3]["error"]["code"]), (&json!(0), &json!(-32600)));
    assert_eq!((&answers[4]["id"], &answers[4]["error"]["code"]), (&json!(1), &json!(-32600)));
    assert_eq!(answers.as_array().unwrap().len(), 6, "{answers}");
    // A change of the session applies to the next request.
    let rest = Events::of(raw.call(9, "chatter", json!({})).await).rest().await;
    assert_eq!(rest.len(), 3, "{rest:?}");
    // Only notifications: no answer.
    let quiet = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(raw.post(&quiet).await.status(), StatusCode::ACCEPTED);
    // A call that sends messages makes the reply a stream, whose last message is the array.
    let walk = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "walk", "arguments": {"steps": 1}, "_meta": {"progressToken": 5}}});
    gate.go(2);
    let events = Events::of(raw.post(&json!([walk, add(6)])).await).rest().await;
    assert!(progress(1)(&events[0]));
    assert_eq!((&events[1][0]["id"], &events[1][1]["id"]), (&json!(5), &json!(6)));
    // Each can be cancelled by its id.
    let silent = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "silent", "arguments": {}}});
    let batch = json!([silent, add(8)]);
    let (answers, _) = tokio::join!(raw.post(&batch), async {
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        raw.post(&cancel).await
    });
    let (_, answers) = whole(answers).await;
    assert_eq!((answers.as_array().unwrap().len(), &answers[0]["id"]), (1, &json!(8)));
}

#[tokio::test]
async fn a_batch_is_refused_where_the_revision_has_none() {
    let (service, _) = service();
    let ping = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let raw = Raw::open(&service, version).await;
        let (status, error) = whole(raw.post(&ping).await).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32600)), "{version}");
        assert!(error["error"]["message"].as_str().unwrap().contains("2025-03-26"), "{error}");
    }
    let alone = |version: Option<&str>| Raw {
        service: service.clone().sessionless(),
        session: String::new(),
        version: NEWEST,
        headers: version.into_iter().map(|version| ("mcp-protocol-version", version.to_owned())).collect(),
    };
    // Without the header the revision is the one that did not have it.
    for (version, status) in
        [(None, 200), (Some("2025-03-26"), 200), (Some("2025-06-18"), 400), (Some("2026-07-28"), 400)]
    {
        assert_eq!(alone(version).post(&ping).await.status(), status, "{version:?}");
    }
}

#[tokio::test]
async fn the_oldest_transport_is_there_when_asked_for() {
    let gate = Steps::new();
    let server = server(&gate);
    let off =
        Raw { service: server.http(), session: String::new(), version: "2024-11-05", headers: Vec::new() };
    assert_eq!(off.get(None).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    let raw = Raw { service: server.http().legacy_sse(), ..off };
    // A client that names a revision knows a newer transport.
    let newer = Raw { headers: vec![("mcp-protocol-version", "2025-06-18".to_owned())], ..raw.clone() };
    assert_eq!(newer.get(None).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    let mut events = raw.stream(None).await;
    let endpoint = events.next().await.unwrap();
    assert_eq!(endpoint.event.as_deref(), Some("endpoint"));
    let query = String::from_utf8(endpoint.data.to_vec()).unwrap();
    let post = async |query: &str, body: &str| {
        let mut request = raw.request(http::Method::POST, body);
        *request.uri_mut() = format!("/mcp{query}").parse().unwrap();
        raw.service.handle(request).await.status().as_u16()
    };
    assert_eq!(post(&query, &initialize("2024-11-05").to_string()).await, 202);
    assert_eq!(events.message().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    // A message may contain line breaks.
    let pretty = "{\n\"jsonrpc\": \"2.0\",\n\"method\": \"notifications/initialized\"}";
    assert_eq!(post(&query, pretty).await, 202);
    gate.go(2);
    let walk = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "walk", "arguments": {"steps": 1}, "_meta": {"progressToken": 5}}});
    assert_eq!(post(&query, &walk.to_string()).await, 202);
    assert!(progress(1)(&events.message().await.unwrap()));
    assert_eq!(events.message().await.unwrap()["result"]["content"][0]["text"], "walked 1");
    server.tools_changed();
    assert_eq!(events.message().await.unwrap()["method"], "notifications/tools/list_changed");
    assert_eq!(post("?sessionId=0123456789abcdef", pretty).await, 404);
    // Both newer transports are on the same address at the same time.
    let newer = Raw::open(&raw.service, NEWEST).await;
    let (_, sum) = whole(newer.call(1, "add", json!({"a": 2, "b": 3})).await).await;
    assert_eq!(sum["result"]["content"][0]["text"], "5");
    // The session ends with its stream.
    drop(events);
    assert_eq!(post(&query, pretty).await, 404);
}

#[tokio::test]
async fn nobody_is_not_somebody_without_a_name() {
    let server = Server::new("users", "1.0.0")
        .tools(tools![add])
        .on_connect(async |connecting: ConnectRequest| match connecting.bearer() {
            Some(_) => Admit::as_principal(""),
            None => Admit::anyone(),
        })
        .build()
        .unwrap();
    let raw = Raw::open(&server.http(), NEWEST).await;
    let nameless = Raw { headers: vec![("authorization", "Bearer x".to_owned())], ..raw.clone() };
    assert_eq!(nameless.get(None).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(raw.get(None).await.status(), StatusCode::OK);
}

/// Admits the principal that the bearer token names.
async fn by_name(connecting: ConnectRequest) -> Result<Admit, Refuse> {
    match connecting.bearer() {
        Some(name) => Ok(Admit::as_principal(name)),
        None => Err(Refuse::unauthorized("https://app.example/.well-known/oauth-protected-resource")),
    }
}

#[tokio::test]
async fn a_session_belongs_to_who_opened_it() {
    let gate = Steps::new();
    let server = Server::new("users", "1.0.0")
        .state(gate.clone())
        .tools(tools![walk, add])
        .on_connect(by_name)
        .build()
        .unwrap();
    let service = server.http().legacy_sse();
    let of = |name: &str| vec![("authorization", format!("Bearer {name}"))];
    let alice = Raw::open_with(&service, NEWEST, of("alice")).await;
    gate.go(1);
    let mut events = Events::of(alice.call(7, "walk", json!({"steps": 2})).await);
    assert!(events.message().await.is_some());
    let last = events.last.clone().unwrap();
    // Another principal cannot use it, end it, listen to it, resume its streams, or find out that it exists.
    let mallory = Raw { headers: of("mallory"), ..alice.clone() };
    let guess = Raw { session: "0".repeat(32), ..mallory.clone() };
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    for (theirs, nobodys) in [
        (
            mallory.call(1, "add", json!({"a": 1, "b": 1})).await,
            guess.call(1, "add", json!({"a": 1, "b": 1})).await,
        ),
        (mallory.post(&cancel).await, guess.post(&cancel).await),
        (mallory.get(None).await, guess.get(None).await),
        (mallory.get(Some(&last)).await, guess.get(Some(&last)).await),
        (mallory.delete().await, guess.delete().await),
    ] {
        assert_eq!(format!("{:?}", theirs.headers()), format!("{:?}", nobodys.headers()));
        let (theirs, nobodys) = (whole(theirs).await, whole(nobodys).await);
        assert_eq!(theirs.0, StatusCode::NOT_FOUND);
        assert_eq!(theirs, nobodys);
    }
    let own = Raw::open_with(&service, NEWEST, of("mallory")).await;
    assert_eq!(own.get(Some(&last)).await.status(), StatusCode::BAD_REQUEST);
    gate.go(2);
    assert_eq!(events.rest().await.pop().unwrap()["result"]["content"][0]["text"], "walked 2");
    // Every request is authenticated: a session is not a credential.
    let nobody = Raw { headers: Vec::new(), ..alice.clone() };
    for refused in [nobody.get(None).await, nobody.delete().await, nobody.post(&cancel).await] {
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        assert!(refused.headers()["www-authenticate"].to_str().unwrap().contains("resource_metadata="));
    }
    // The oldest transport does not bypass that.
    let mut pipe = Raw { session: String::new(), headers: of("alice"), ..alice.clone() }.stream(None).await;
    let query = String::from_utf8(pipe.next().await.unwrap().data.to_vec()).unwrap();
    for (name, status) in [("mallory", 404), ("alice", 202)] {
        let raw = Raw { session: String::new(), headers: of(name), ..alice.clone() };
        let mut request = raw.request(http::Method::POST, &initialize(NEWEST).to_string());
        *request.uri_mut() = format!("/mcp{query}").parse().unwrap();
        assert_eq!(service.handle(request).await.status(), status, "{name}");
    }
}
