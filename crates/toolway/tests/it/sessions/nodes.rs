//! Are servers that share a store one server to a client, whatever fails?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use toolway::Form;
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::store::MemoryStore;

use super::faulty_store::FaultyStore;
use super::stage::{FOR_EVER, SECOND, builder, text};
use super::{NEWEST, REVISIONS, Steps as Gate};
use crate::raw_http::{Events, Raw, whole};

/// Two servers with a store, and a session that both serve.
pub(super) struct Pair {
    pub(super) gate: Gate,
    runs: Arc<AtomicUsize>,
    pub(super) stores: [Arc<FaultyStore>; 2],
    pub(super) servers: [Server; 2],
    /// The same session at the first server and at the second.
    pub(super) here: Raw,
    pub(super) there: Raw,
}

/// Counts how often it runs, and waits for the test.
#[tool]
async fn pay(runs: State<Arc<AtomicUsize>>, gate: State<Gate>) -> &'static str {
    runs.fetch_add(1, Ordering::AcqRel);
    gate.wait().await;
    "paid"
}

/// Has no effect.
#[tool(read_only)]
async fn peek() -> &'static str {
    tokio::task::yield_now().await;
    "seen"
}

#[derive(Form)]
struct Sum {
    /// The sum to pay.
    sum: u32,
}

/// Asks the client for a sum.
#[tool]
async fn charge(ctx: Ctx) -> Result<String, ToolError> {
    let Sum { sum } = ctx.ask("how much?").await?;
    Ok(format!("{sum} paid"))
}

impl Pair {
    pub(super) async fn new(version: &'static str) -> Self {
        let (memory, gate) = (Arc::new(MemoryStore::new()), Gate::new());
        let runs = Arc::new(AtomicUsize::new(0));
        let stores = [FaultyStore::new(&memory), FaultyStore::new(&memory)];
        let servers = stores.each_ref().map(|store| {
            let server = builder(&gate).state(runs.clone()).tools(tools![pay, peek, charge]);
            server.store(store.clone()).build().unwrap()
        });
        let [one, two]: [HttpService; 2] = servers.each_ref().map(Server::http);
        let here = Raw::open(&one, version).await;
        let there = Raw { service: two, ..here.clone() };
        // The second server has served the session before.
        there.ask("ping", json!({})).await;
        Self { gate, runs, stores, servers, here, there }
    }
}

/// Waits until the stream is told that the tools have changed. A server that did not open the session does not know what has
/// changed before, and tells everything.
pub(super) async fn tools_changed(events: &mut Events) {
    let told = async {
        while events.message().await.expect("the stream goes on")["method"]
            != "notifications/tools/list_changed"
        {}
    };
    timeout(FOR_EVER, told).await.expect("it is told");
}

pub(super) async fn next_with_id(events: &mut Events) -> String {
    while events.message().await.is_some() {
        if let Some(id) = &events.last {
            return id.clone();
        }
    }
    panic!("the stream has ended")
}

#[tokio::test(start_paused = true)]
async fn a_request_that_reaches_two_servers_runs_once() {
    let pair = Pair::new(NEWEST).await;
    let first = tokio::spawn({
        let here = pair.here.clone();
        async move { whole(here.call(7, "pay", json!({})).await).await.1 }
    });
    sleep(SECOND / 10).await;
    let copy = whole(pair.there.call(7, "pay", json!({})).await).await.1;
    assert_eq!(copy["error"]["code"], -32600, "{copy}");
    pair.gate.go(2);
    assert_eq!(text(&first.await.unwrap()), "paid");
    assert_eq!(pair.runs.load(Ordering::Acquire), 1);
    // A client may use an id again when it has the reply.
    assert_eq!(text(&whole(pair.there.call(7, "pay", json!({})).await).await.1), "paid");
}

/// The client is asked to try again, so the claim of the request that did not run must not be in its way.
#[tokio::test(start_paused = true)]
async fn a_request_whose_claim_is_unknown_can_be_sent_again() {
    let pair = Pair::new(NEWEST).await;
    pair.gate.go(1);
    pair.stores[0].lost_claim_answers.store(1, Ordering::Release);
    let refused = pair.here.call(7, "pay", json!({})).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    sleep(SECOND).await;
    assert_eq!(text(&whole(pair.there.call(7, "pay", json!({})).await).await.1), "paid");
    assert_eq!(pair.runs.load(Ordering::Acquire), 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_request_is_refused_until_the_reply_is_read() {
    let pair = Pair::new(NEWEST).await;
    let mut events = Events::of(pair.here.call(7, "pay", json!({})).await);
    let primer = events.next().await.unwrap().id.unwrap();
    drop(events);
    pair.gate.go(1);
    sleep(SECOND).await;
    let copy = whole(pair.there.call(7, "pay", json!({})).await).await.1;
    assert_eq!(copy["error"]["code"], -32600, "{copy}");
    let rest = pair.there.stream(Some(&primer)).await.rest().await;
    assert_eq!(rest.last().map(text), Some("paid"));
    assert_eq!(pair.runs.load(Ordering::Acquire), 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_cancelled_request_is_refused() {
    let pair = Pair::new(NEWEST).await;
    let events = Events::of(pair.here.call(7, "pay", json!({})).await);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(pair.here.post(&cancel).await.status(), StatusCode::ACCEPTED);
    assert_eq!(events.rest().await, Vec::<Value>::new());
    sleep(SECOND).await;
    let copy = whole(pair.there.call(7, "pay", json!({})).await).await.1;
    assert_eq!(copy["error"]["code"], -32600, "{copy}");
    assert_eq!(pair.runs.load(Ordering::Acquire), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_at_another_server_without_loss() {
    for version in REVISIONS {
        let pair = Pair::new(version).await;
        pair.gate.go(1);
        let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 5})).await);
        let last = next_with_id(&mut events).await;
        let mut resumed = pair.there.stream(Some(&last)).await;
        let mut steps = Vec::new();
        for _ in 2..=4 {
            pair.gate.go(1);
            let message = timeout(FOR_EVER, resumed.message()).await.unwrap().unwrap();
            steps.push(message["params"]["progress"].as_u64().unwrap());
        }
        assert_eq!(steps, [2, 3, 4], "{version}");
        // The first reader was replaced.
        assert_eq!(timeout(FOR_EVER, events.rest()).await.unwrap(), Vec::<Value>::new());
        // And back again.
        let last = resumed.last.clone();
        let back = pair.here.stream(last.as_deref()).await;
        pair.gate.go(2);
        let rest = timeout(FOR_EVER, back.rest()).await.unwrap();
        assert_eq!(rest.last().map(text), Some("walked 5"), "{version}");
        assert_eq!(timeout(FOR_EVER, resumed.rest()).await.unwrap(), Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_the_server_that_runs_the_request() {
    for is_lost in [false, true] {
        for tool in ["pay", "silent"] {
            let pair = Pair::new(NEWEST).await;
            pair.stores[1].loses_messages.store(is_lost, Ordering::Release);
            let events = Events::of(pair.here.call(7, tool, json!({})).await);
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
            assert_eq!(pair.there.post(&cancel).await.status(), StatusCode::ACCEPTED);
            let limit = if is_lost { SECOND * 16 } else { SECOND };
            let rest = timeout(limit, events.rest()).await.expect("the request was cancelled");
            assert_eq!(rest, Vec::<Value>::new());
        }
    }
}

/// The store is away just when the server looks for what it was not told.
#[tokio::test(start_paused = true)]
async fn a_cancellation_is_found_soon_after_the_store_is_back() {
    let pair = Pair::new(NEWEST).await;
    pair.stores[1].loses_messages.store(true, Ordering::Release);
    let events = Events::of(pair.here.call(7, "pay", json!({})).await);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(pair.there.post(&cancel).await.status(), StatusCode::ACCEPTED);
    pair.stores[0].is_away.store(true, Ordering::Release);
    sleep(SECOND * 20).await;
    pair.stores[0].is_away.store(false, Ordering::Release);
    let rest = timeout(SECOND * 3, events.rest()).await.expect("the request was cancelled");
    assert_eq!(rest, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_at_one_server_ends_at_all() {
    for is_lost in [false, true] {
        let pair = Pair::new(NEWEST).await;
        let call = Events::of(pair.here.call(7, "pay", json!({})).await);
        let news = pair.here.stream(None).await;
        pair.stores[1].loses_messages.store(is_lost, Ordering::Release);
        assert_eq!(pair.there.delete().await.status(), StatusCode::ACCEPTED);
        let ping = json!({"jsonrpc": "2.0", "id": 99, "method": "ping"});
        assert_eq!(pair.here.post(&ping).await.status(), StatusCode::NOT_FOUND);
        let limit = if is_lost { SECOND * 16 } else { SECOND };
        assert_eq!(timeout(limit, call.rest()).await.expect("the call has ended"), Vec::<Value>::new());
        timeout(limit, news.rest()).await.expect("the stream has ended");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_server_that_died_is_lost_soon() {
    let pair = Pair::new(NEWEST).await;
    let mut events = Events::of(pair.here.call(7, "pay", json!({})).await);
    let primer = events.next().await.unwrap().id.unwrap();
    // To the other servers, a server that cannot reach the store is dead.
    pair.stores[0].is_away.store(true, Ordering::Release);
    let died = Instant::now();
    let rest = timeout(SECOND * 16, pair.there.stream(Some(&primer)).await.rest()).await;
    let rest = rest.expect("the request is lost");
    assert!(died.elapsed() <= SECOND * 14, "{:?}", died.elapsed());
    assert_eq!(rest.len(), 1);
    assert_eq!((&rest[0]["id"], &rest[0]["error"]["data"]["reason"]), (&json!(7), &json!("lost")));
    // A copy of the request is not run either.
    let copy = whole(pair.there.call(7, "pay", json!({})).await).await.1;
    assert_eq!(copy["error"]["data"]["reason"], "lost", "{copy}");
    // It was only frozen. Its late answer does not replace the end.
    pair.stores[0].is_away.store(false, Ordering::Release);
    pair.gate.go(1);
    sleep(SECOND * 5).await;
    let again = pair.there.stream(Some(&primer)).await.rest().await;
    assert_eq!(again, rest);
    assert_eq!(pair.runs.load(Ordering::Acquire), 1);
}

/// Requests of an earlier dead server make this one look who is alive, and it must not forget what it learned.
#[tokio::test(start_paused = true)]
async fn a_request_is_lost_soon_although_others_notice_the_death_first() {
    let pair = Pair::new(NEWEST).await;
    let store = pair.stores[0].sibling();
    let third = builder(&pair.gate).state(pair.runs.clone()).tools(tools![pay]).store(store.clone());
    let third = Raw { service: third.http().unwrap(), ..pair.here.clone() };
    let call = Events::of(third.call(1, "pay", json!({})).await);
    store.is_away.store(true, Ordering::Release);
    sleep(SECOND * 20).await;
    let mut events = Events::of(pair.here.call(7, "pay", json!({})).await);
    let primer = events.next().await.unwrap().id.unwrap();
    pair.stores[0].is_away.store(true, Ordering::Release);
    let died = Instant::now();
    sleep(SECOND * 5).await;
    let stream = pair.there.stream(Some(&primer)).await;
    let there = pair.there.clone();
    let copies = tokio::spawn(async move {
        loop {
            let copy = whole(there.call(1, "pay", json!({})).await).await.1;
            assert_eq!(copy["error"]["data"]["reason"], "lost", "{copy}");
        }
    });
    let rest = timeout(SECOND * 20, stream.rest()).await.expect("the request is lost");
    assert!(died.elapsed() <= SECOND * 14, "{:?}", died.elapsed());
    assert_eq!(rest[0]["error"]["data"]["reason"], "lost");
    copies.abort();
    drop(call);
}

#[tokio::test(start_paused = true)]
async fn without_the_store_calls_run_on_and_streams_stay_open() {
    let pair = Pair::new(NEWEST).await;
    pair.gate.go(1);
    let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 3})).await);
    let last = next_with_id(&mut events).await;
    let mut resumed = pair.there.stream(Some(&last)).await;
    let mut news = pair.here.stream(None).await;
    for store in &pair.stores {
        store.is_away.store(true, Ordering::Release);
    }
    pair.gate.go(2);
    sleep(SECOND * 5).await;
    let response = pair.here.call(8, "add", json!({"a": 1, "b": 1})).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "1");
    for store in &pair.stores {
        store.is_away.store(false, Ordering::Release);
    }
    pair.gate.go(1);
    let mut steps = Vec::new();
    while let Some(message) = timeout(SECOND * 20, resumed.message()).await.expect("the stream goes on") {
        steps.push(message["params"]["progress"].as_u64());
    }
    assert_eq!(steps, [Some(2), Some(3), None]);
    assert_eq!(pair.here.ask("ping", json!({})).await["result"], json!({}));
    pair.servers[1].tools_changed();
    tools_changed(&mut news).await;
}

#[tokio::test(start_paused = true)]
async fn one_of_the_streams_at_two_servers_gets_the_notifications() {
    let pair = Pair::new(NEWEST).await;
    let mut first = pair.here.stream(None).await;
    first.next().await.unwrap();
    let mut second = pair.there.stream(None).await;
    second.next().await.unwrap();
    tools_changed(&mut second).await;
    while timeout(SECOND, second.message()).await.is_ok() {}
    for number in 1..=3 {
        pair.servers[number % 2].tools_changed();
        tools_changed(&mut second).await;
        assert!(timeout(SECOND * 20, first.message()).await.is_err(), "the newer stream gets it");
    }
    // When it ends, the other one gets them.
    drop(second);
    sleep(SECOND).await;
    pair.servers[0].tools_changed();
    assert!(timeout(FOR_EVER, first.message()).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_notification_stream_goes_on_at_another_server() {
    let pair = Pair::new(NEWEST).await;
    let mut news = pair.here.stream(None).await;
    let primer = news.next().await.unwrap().id.unwrap();
    pair.servers[0].tools_changed();
    assert!(timeout(FOR_EVER, news.message()).await.unwrap().is_some());
    let mut resumed = pair.there.stream(Some(&primer)).await;
    let told = timeout(FOR_EVER, resumed.message()).await.unwrap().unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed", "it is sent again");
    let last = resumed.last.clone().unwrap();
    assert!(last.starts_with(primer.split('.').next().unwrap()), "with its own id");
    timeout(FOR_EVER, news.rest()).await.expect("the first stream was replaced");
    while timeout(SECOND, resumed.message()).await.is_ok() {}
    pair.servers[0].tools_changed();
    tools_changed(&mut resumed).await;
}

/// The other server has heard of the update, too, and does not know that the stream has told it.
#[tokio::test(start_paused = true)]
async fn an_update_that_a_resumed_stream_repeats_is_told_once() {
    for version in REVISIONS {
        let pair = Pair::new(version).await;
        // The servers listen to each other.
        sleep(SECOND).await;
        pair.here.ask("resources/subscribe", json!({"uri": "news://today"})).await;
        let mut news = pair.here.stream(None).await;
        pair.servers[0].tools_changed();
        tools_changed(&mut news).await;
        while timeout(SECOND, news.message()).await.is_ok() {}
        let last = news.last.take();
        // The client has lost the connection.
        let unread = tokio::spawn(news.rest());
        pair.servers[0].resource_updated("news://today");
        sleep(SECOND).await;
        let mut resumed = pair.there.stream(last.as_deref()).await;
        let mut count = 0;
        while let Ok(message) = timeout(SECOND, resumed.message()).await {
            count += usize::from(message.expect("it goes on")["params"]["uri"] == "news://today");
        }
        assert_eq!(count, 1, "{version}");
        pair.servers[0].resource_updated("news://today");
        let updated = timeout(FOR_EVER, resumed.message()).await.unwrap().unwrap();
        assert_eq!(updated["params"]["uri"], "news://today", "{version}");
        unread.abort();
    }
}

/// The store has an event, and a client that read it at another server is faster than the answer of the store.
#[tokio::test(start_paused = true)]
async fn a_client_may_go_back_before_the_writer_knows_that_an_event_is_stored() {
    for version in REVISIONS {
        let pair = Pair::new(version).await;
        pair.gate.go(1);
        let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 3})).await);
        let last = next_with_id(&mut events).await;
        let mut resumed = pair.there.stream(Some(&last)).await;
        pair.stores[0].holds_answers.store(true, Ordering::Release);
        pair.gate.go(1);
        let message = timeout(FOR_EVER, resumed.message()).await.unwrap().unwrap();
        assert_eq!(message["params"]["progress"], 2, "{version}");
        let back = pair.here.get(resumed.last.as_deref()).await;
        assert_eq!(back.status(), StatusCode::OK, "{version}");
        pair.stores[0].holds_answers.store(false, Ordering::Release);
        pair.gate.go(2);
        let rest = timeout(FOR_EVER, Events::of(back).rest()).await.unwrap();
        assert_eq!((&rest[0]["params"]["progress"], text(&rest[1])), (&json!(3), "walked 3"), "{version}");
    }
}

/// A stream that replaces another one may get notifications before the client knows its id.
#[tokio::test(start_paused = true)]
async fn a_client_that_resumes_the_same_stream_twice_misses_nothing() {
    for version in REVISIONS {
        let pair = Pair::new(version).await;
        let mut news = pair.here.stream(None).await;
        pair.servers[0].tools_changed();
        tools_changed(&mut news).await;
        let last = news.last.take();
        let unheard = pair.here.stream(last.as_deref()).await;
        let reading = tokio::spawn(unheard.rest());
        sleep(SECOND).await;
        pair.servers[1].tools_changed();
        sleep(SECOND).await;
        let mut again = pair.here.stream(last.as_deref()).await;
        timeout(SECOND, tools_changed(&mut again)).await.expect(version);
        reading.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn notifications_that_were_not_stored_are_sent_by_the_next_stream() {
    let pair = Pair::new(NEWEST).await;
    pair.here.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    let mut news = pair.here.stream(None).await;
    let primer = news.next().await.unwrap().id;
    let reading = tokio::spawn(news.rest());
    pair.stores[0].holds_answers.store(true, Ordering::Release);
    pair.servers[0].tools_changed();
    sleep(SECOND).await;
    // Waits in memory until the first notification is confirmed.
    pair.servers[0].resource_updated("news://today");
    sleep(SECOND).await;
    let mut resumed = pair.here.stream(primer.as_deref()).await;
    pair.stores[0].holds_answers.store(false, Ordering::Release);
    let updated = async {
        while resumed.message().await.expect("the stream goes on")["params"]["uri"] != "news://today" {}
    };
    timeout(SECOND, updated).await.expect("it is told");
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn cursors_and_owners_are_the_same_at_all_servers() {
    let (memory, gate) = (Arc::new(MemoryStore::new()), Gate::new());
    let servers = [(); 2].map(|()| builder(&gate).page_size(1).store(memory.clone()).build().unwrap());
    let [one, two] = servers.each_ref().map(Server::http);
    let here = Raw::open(&one, NEWEST).await;
    let there = Raw { service: two, ..here.clone() };
    let page = here.ask("tools/list", json!({})).await;
    let next = there.ask("tools/list", json!({"cursor": page["result"]["nextCursor"]})).await;
    assert_eq!(next["result"]["tools"].as_array().map(Vec::len), Some(1), "{next}");
}
