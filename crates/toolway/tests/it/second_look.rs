//! Sessions and streams over HTTP in detail: long calls, slow readers, stores that fail, shutdown.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use toolway::BoxFuture;
use toolway::prelude::*;
use toolway::server::ServerBuilder;
use toolway::server::http::HttpService;
use toolway::store::{Entry, Keep, Memory, Room, Store, Subscription};
use toolway::{Error, ErrorKind};

use crate::raw_http::{Events, Raw, initialize, whole};
use crate::sessions::{NEWEST, REVISIONS, Steps as Gate, walk};

const SECOND: Duration = Duration::from_secs(1);
/// The clock of these tests is paused while any task is busy: this is how long nothing may happen.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Says something four times a second.
#[tool]
async fn tick(times: u32, ctx: Ctx) -> &'static str {
    for n in 1..=times {
        sleep(SECOND / 4).await;
        ctx.progress(n, times, "").await;
    }
    "done"
}

/// Says a lot at once.
#[tool]
async fn flood(times: u32, size: usize, ctx: Ctx) -> &'static str {
    for n in 1..=times {
        ctx.progress(n, times, "x".repeat(size)).await;
    }
    "done"
}

/// Says nothing until it is done.
#[tool]
async fn silent(gate: State<Gate>) -> &'static str {
    gate.wait().await;
    "done"
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[resource("news://today")]
fn today() -> &'static str {
    "nothing new"
}

fn builder(gate: &Gate) -> ServerBuilder {
    Server::new("second-look", "1.0.0")
        .state(gate.clone())
        .tools(tools![walk, tick, flood, silent, add])
        .resources(resources![today])
        // The clock of these tests advances by more than the default deadline.
        .deadline(None)
}

fn server(gate: &Gate) -> Server {
    builder(gate).build().unwrap()
}

fn service() -> (HttpService, Gate) {
    let gate = Gate::new();
    (server(&gate).http(), gate)
}

async fn ping(raw: &Raw) -> StatusCode {
    raw.post(&json!({"jsonrpc": "2.0", "id": 99, "method": "ping"})).await.status()
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// A store in memory that fails and waits when a test wants it to.
#[derive(Default)]
struct Moody {
    memory: Memory,
    fails_to_append: AtomicBool,
    fails_to_publish: AtomicBool,
    /// Entries that contain this text wait.
    holds: Mutex<Option<&'static str>>,
    /// The next renewal of a value returns only when the test allows it.
    holds_value: AtomicBool,
    is_held: Notify,
    free: Notify,
}

fn moody() -> Error {
    Error::new(ErrorKind::Transport, "the store is moody")
}

impl Store for Moody {
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, toolway::Result<Option<Bytes>>> {
        self.memory.get(key)
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, toolway::Result<Option<Bytes>>> {
        Box::pin(async move {
            let value = self.memory.renew(key, ttl).await?;
            if self.holds_value.swap(false, Ordering::AcqRel) {
                self.is_held.notify_one();
                self.free.notified().await;
            }
            Ok(value)
        })
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, toolway::Result<()>> {
        self.memory.put(key, value, ttl)
    }

    fn swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.swap(key, expected, value, ttl)
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.delete(key)
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: Entry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, toolway::Result<u64>> {
        Box::pin(async move {
            if self.fails_to_append.load(Ordering::Acquire) {
                return Err(moody());
            }
            let holds = *self.holds.lock().unwrap();
            if holds.is_some_and(|text| String::from_utf8_lossy(&entry.bytes).contains(text)) {
                self.is_held.notify_one();
                self.free.notified().await;
            }
            self.memory.append(log, entry, room, ttl).await
        })
    }

    fn read<'s>(
        &'s self,
        log: &'s str,
        after: u64,
        max: usize,
    ) -> BoxFuture<'s, toolway::Result<Vec<(u64, Bytes)>>> {
        self.memory.read(log, after, max)
    }

    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, toolway::Result<Option<u64>>> {
        self.memory.last(log)
    }

    fn prolong<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.prolong(log, ttl)
    }

    fn forget<'s>(&'s self, log: &'s str) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.forget(log)
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, toolway::Result<()>> {
        Box::pin(async move {
            if self.fails_to_publish.load(Ordering::Acquire) {
                self.is_held.notify_one();
                return Err(moody());
            }
            self.memory.publish(channel, message).await
        })
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, toolway::Result<Box<dyn Subscription>>> {
        self.memory.subscribe(channel)
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_expire_while_a_request_talks() {
    let (service, _) = service();
    let raw = Raw::open(&service.session_idle(SECOND * 3), NEWEST).await;
    // It sends messages more often than the session is renewed.
    let rest = Events::of(raw.call(7, "tick", json!({"times": 40})).await).rest().await;
    assert_eq!((rest.len(), text(&rest[40])), (41, "done"));
    assert_eq!(ping(&raw).await, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_expire_while_there_is_news_all_the_time() {
    let server = server(&Gate::new());
    let raw = Raw::open(&server.http().session_idle(SECOND * 3), NEWEST).await;
    let mut news = raw.stream(None).await;
    for _ in 0..40 {
        sleep(SECOND / 4).await;
        server.tools_changed();
        assert!(timeout(FOR_EVER, news.message()).await.unwrap().is_some());
    }
    assert_eq!(ping(&raw).await, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn an_open_stream_is_not_forgotten_for_those_that_are_over() {
    for version in REVISIONS {
        let server = server(&Gate::new());
        let raw = Raw::open(&server.http(), version).await;
        let mut news = raw.stream(None).await;
        server.tools_changed();
        assert!(news.message().await.is_some());
        for id in 0..100 {
            let rest = Events::of(raw.call(id, "flood", json!({"times": 1, "size": 1})).await).rest().await;
            assert_eq!(rest.len(), 2);
        }
        server.tools_changed();
        let told = timeout(FOR_EVER, news.message()).await.expect("news reach an open stream");
        assert_eq!(told.unwrap()["method"], "notifications/tools/list_changed");
        // The stream can still be resumed.
        let last = news.last.clone();
        drop(news);
        server.tools_changed();
        assert!(raw.stream(last.as_deref()).await.message().await.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_over_is_not_forgotten_while_it_is_read() {
    let (service, _) = service();
    let raw = Raw::open(&service, NEWEST).await;
    let mut slow = Events::of(raw.call(1000, "flood", json!({"times": 100, "size": 1})).await);
    assert!(slow.message().await.is_some());
    for id in 0..100 {
        let rest = Events::of(raw.call(id, "flood", json!({"times": 1, "size": 1})).await).rest().await;
        assert_eq!(rest.len(), 2);
    }
    let rest = timeout(FOR_EVER, slow.rest()).await.unwrap();
    assert_eq!((rest.len(), text(&rest[99])), (100, "done"));
}

#[tokio::test(start_paused = true)]
async fn who_reads_loses_nothing_however_little_is_kept() {
    for version in REVISIONS {
        for (events, bytes, times, size) in
            [(8, 1 << 20, 300, 1), (1024, 256 << 10, 40, 40 << 10), (1, 1, 10, 10)]
        {
            let (service, _) = service();
            let raw = Raw::open(&service.kept_events(events, bytes, FOR_EVER), version).await;
            let response = raw.call(7, "flood", json!({"times": times, "size": size})).await;
            let rest = Events::of(response).rest().await;
            let all: Vec<_> =
                rest.iter().filter_map(|message| message["params"]["progress"].as_u64()).collect();
            assert_eq!(all, (1..=times).collect::<Vec<u64>>(), "{version}");
            assert_eq!(text(rest.last().unwrap()), "done");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_what_is_said_on_it_cannot_be_kept() {
    for version in REVISIONS {
        let (store, gate) = (Arc::new(Moody::default()), Gate::new());
        let raw = Raw::open(&builder(&gate).store(store.clone()).build().unwrap().http(), version).await;
        gate.go(1);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 2})).await);
        assert!(events.message().await.is_some());
        store.fails_to_append.store(true, Ordering::Release);
        gate.go(2);
        let rest =
            timeout(FOR_EVER, events.rest()).await.expect("nobody waits for an answer that will not come");
        assert_eq!(rest, Vec::<Value>::new());
        // A call whose stream cannot begin fails immediately.
        let response = timeout(SECOND * 5, raw.call(8, "walk", json!({"steps": 2}))).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        store.fails_to_append.store(false, Ordering::Release);
        gate.go(2);
        let rest = Events::of(raw.call(8, "walk", json!({"steps": 1})).await).rest().await;
        assert_eq!(text(rest.last().unwrap()), "walked 1");
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_reaches_other_servers() {
    let (store, gate) = (Arc::new(Memory::new()), Gate::new());
    let (here, there) =
        (builder(&gate).store(store.clone()).build().unwrap(), builder(&gate).store(store).build().unwrap());
    let raw = Raw::open(&here.http(), NEWEST).await;
    raw.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    let mut news = raw.stream(None).await;
    let updated = async |news: &mut Events| loop {
        let message = timeout(FOR_EVER, news.message()).await.expect("it is told").unwrap();
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].clone();
        }
    };
    there.resource_updated("news://today");
    assert_eq!(updated(&mut news).await, "news://today");
    there.resource_updated("news://today");
    for n in 0..100 {
        there.resource_updated(&format!("news://{n}"));
    }
    assert_eq!(updated(&mut news).await, "news://today");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_could_not_be_told_to_other_servers_is_told_later() {
    let (store, gate) = (Arc::new(Moody::default()), Gate::new());
    let (here, there) = (
        builder(&gate).store(store.clone()).build().unwrap(),
        builder(&gate).store(store.clone()).build().unwrap(),
    );
    let raw = Raw::open(&here.http(), NEWEST).await;
    let mut news = raw.stream(None).await;
    there.tools_changed();
    assert!(timeout(FOR_EVER, news.message()).await.unwrap().is_some());
    store.fails_to_publish.store(true, Ordering::Release);
    there.prompts_changed();
    there.tools_changed();
    store.is_held.notified().await;
    store.fails_to_publish.store(false, Ordering::Release);
    let told = timeout(FOR_EVER, news.message()).await.expect("it is told later").unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_others_served_meanwhile_is_served_again() {
    let (store, gate) = (Arc::new(Memory::new()), Gate::new());
    let door = || builder(&gate).store(store.clone()).build().unwrap().http().session_idle(SECOND * 4);
    let raw = Raw::open(&door(), NEWEST).await;
    let other = Raw { service: door(), ..raw.clone() };
    for _ in 0..10 {
        sleep(SECOND).await;
        assert_eq!(ping(&other).await, StatusCode::OK);
    }
    let response = raw.call(1, "add", json!({"a": 2, "b": 3})).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(text(&whole(response).await.1), "5");
}

#[tokio::test(start_paused = true)]
async fn what_was_known_before_a_change_does_not_undo_it() {
    let (store, gate) = (Arc::new(Moody::default()), Gate::new());
    let server = builder(&gate).store(store.clone()).build().unwrap();
    let raw = Raw::open(&server.http(), NEWEST).await;
    // A request reads the record, and is slow to use it.
    store.holds_value.store(true, Ordering::Release);
    let slow = tokio::spawn({
        let raw = raw.clone();
        async move { ping(&raw).await }
    });
    store.is_held.notified().await;
    raw.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    store.free.notify_one();
    assert_eq!(slow.await.unwrap(), StatusCode::OK);
    server.resource_updated("news://today");
    let told = timeout(FOR_EVER, async { raw.stream(None).await.message().await }).await;
    assert_eq!(told.expect("the client subscribed").unwrap()["params"]["uri"], "news://today");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_finished_in_time_is_answered_though_the_server_stops() {
    for version in REVISIONS {
        let (store, gate) = (Arc::new(Moody::default()), Gate::new());
        let service = builder(&gate).store(store.clone()).build().unwrap().http();
        let raw = Raw::open(&service, version).await;
        gate.go(1);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 1})).await);
        assert!(events.message().await.is_some());
        let reading = tokio::spawn(events.rest());
        let stopping = tokio::spawn(async move { service.stop().await });
        yield_now().await;
        *store.holds.lock().unwrap() = Some("walked");
        gate.go(1);
        store.is_held.notified().await;
        for _ in 0..10 {
            yield_now().await;
        }
        store.free.notify_one();
        let rest = reading.await.unwrap();
        assert_eq!(rest.last().map(text), Some("walked 1"), "{version}");
        stopping.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_of_a_client_that_takes_no_events_gets_none() {
    let (service, _) = service();
    let mut raw = Raw::open(&service, NEWEST).await;
    raw.headers = vec![("accept", "application/json".to_owned())];
    let mut call = pin!(raw.call(7, "silent", json!({})));
    assert!(timeout(SECOND, &mut call).await.is_err());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(raw.post(&cancel).await.status(), StatusCode::ACCEPTED);
    let (status, nothing) = whole(call.await).await;
    assert_eq!((status, nothing), (StatusCode::ACCEPTED, Value::Null));
}

#[tokio::test(start_paused = true)]
async fn a_long_silent_request_can_be_come_back_to() {
    let gate = Gate::new();
    // Also longer than the default deadline of a handler.
    let service = builder(&gate).deadline(None).http().unwrap();
    let raw = Raw::open(&service, NEWEST).await;
    let primer = Events::of(raw.call(7, "silent", json!({})).await).next().await.unwrap();
    // Far longer than unused data is kept.
    sleep(FOR_EVER * 2).await;
    gate.go(1);
    let rest = raw.stream(primer.id.as_deref()).await.rest().await;
    assert_eq!(rest.iter().map(text).collect::<Vec<_>>(), ["done"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever_for_a_server_that_has_died() {
    let (store, gate) = (Arc::new(Memory::new()), Gate::new());
    let raw = Raw::open(&builder(&gate).store(store.clone()).build().unwrap().http(), NEWEST).await;
    // The log that another server leaves behind when it is killed during a request.
    let beginning = Entry { bytes: "p".into(), keep: Keep::Always };
    let log = format!("events/{}/0123456789abcdef", raw.session);
    let room = Room { entries: 10, bytes: 1000 };
    store.append(&log, beginning, room, Duration::from_secs(5 * 60)).await.unwrap();
    let stream = raw.stream(Some("0123456789abcdef.1")).await;
    assert_eq!(timeout(FOR_EVER, stream.rest()).await.expect("the stream ends"), Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_can_come_back_for_is_not_kept() {
    for version in REVISIONS {
        let (store, gate) = (Arc::new(Memory::new()), Gate::new());
        let raw = Raw::open(&builder(&gate).store(store.clone()).build().unwrap().http(), version).await;
        // The client disconnects before it got an id to resume with.
        assert!(timeout(SECOND / 10, raw.call(7, "silent", json!({}))).await.is_err());
        gate.go(1);
        // The id is free once the answer is there.
        while raw.ask("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 1}})).await.is_null() {}
        sleep(SECOND).await;
        assert!(format!("{store:?}").contains("logs: 0"), "{version}: {store:?}");
    }
}

#[tokio::test]
async fn subscriptions_have_a_size_together() {
    let (service, _) = service();
    let raw = Raw::open(&service, NEWEST).await;
    let subscribe = async |uri: String| raw.ask("resources/subscribe", json!({"uri": uri})).await;
    for n in 0..32 {
        assert_eq!(subscribe(format!("{n:08000}")).await["result"], json!({}), "{n}");
    }
    assert_eq!(subscribe(format!("{:08000}", 32)).await["error"]["code"], -32600);
    assert_eq!(subscribe(format!("{:08000}", 31)).await["result"], json!({}), "one that is there already");
    assert_eq!(subscribe("news://today".to_owned()).await["result"], json!({}));
}

/// A connection of the oldest transport (HTTP+SSE).
struct Oldest {
    raw: Raw,
    query: String,
    events: Events,
}

impl Oldest {
    async fn open(service: HttpService) -> Self {
        let raw = Raw { service, session: String::new(), version: "2024-11-05", headers: Vec::new() };
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
