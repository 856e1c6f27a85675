//! What do servers that share a store learn from each other, also if the store fails?

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use tokio::time::{sleep, timeout};
use toolway::store::{Append, Keep, LogEntry, MemoryStore, Room, Step, Store};

use super::faulty_store::FaultyStore;
use super::stage::{FOR_EVER, Moody, SECOND, builder, ping, text};
use super::{NEWEST, Steps as Gate};
use crate::raw_http::{Events, Raw, whole};

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_reaches_other_servers() {
    let (store, gate) = (Arc::new(MemoryStore::new()), Gate::new());
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
        there.resource_updated(format!("news://{n}"));
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
async fn a_change_whose_answer_is_lost_is_told_once() {
    let (one, gate) = (FaultyStore::new(&Arc::new(MemoryStore::new())), Gate::new());
    let two = one.sibling();
    let (here, there) =
        (builder(&gate).store(one).build().unwrap(), builder(&gate).store(two.clone()).build().unwrap());
    let raw = Raw::open(&here.http(), NEWEST).await;
    raw.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    let mut news = raw.stream(None).await;
    let mut told = async || timeout(FOR_EVER, news.message()).await.expect("it is told").unwrap();
    there.resource_updated("news://today");
    assert_eq!(told().await["params"]["uri"], "news://today");
    two.lost_change_answers.store(1, Ordering::Release);
    there.tools_changed();
    assert_eq!(told().await["method"], "notifications/tools/list_changed");
    // By now the change was announced again.
    sleep(SECOND * 20).await;
    assert_eq!(two.lost_change_answers.load(Ordering::Acquire), 0);
    there.resource_updated("news://today");
    assert_eq!(told().await["params"]["uri"], "news://today");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_others_served_meanwhile_is_served_again() {
    let (store, gate) = (Arc::new(MemoryStore::new()), Gate::new());
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

/// The client resumes its stream, so it does not expect to have missed anything.
#[tokio::test(start_paused = true)]
async fn a_change_while_no_server_has_the_session_is_told_by_the_next() {
    let (store, gate) = (Arc::new(MemoryStore::new()), Gate::new());
    let make = || builder(&gate).store(store.clone()).build().unwrap();
    let (old, new) = (make(), make());
    let raw = Raw::open(&old.http(), NEWEST).await;
    raw.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    let mut news = raw.stream(None).await;
    let primer = news.next().await.unwrap();
    raw.service.stop().await;
    new.resource_updated("news://today");
    let other = Raw { service: new.http(), ..raw };
    let mut news = other.stream(primer.id.as_deref()).await;
    let told = async { while news.message().await.unwrap()["params"]["uri"] != "news://today" {} };
    timeout(FOR_EVER, told).await.expect("the change is told");
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
async fn a_request_whose_server_has_died_is_reported_as_lost() {
    let (store, gate) = (Arc::new(MemoryStore::new()), Gate::new());
    let raw = Raw::open(&builder(&gate).store(store.clone()).build().unwrap().http(), NEWEST).await;
    // The log that another server leaves behind when it is killed during a request.
    let lost = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "lost"}});
    let beginning = format!("p{}", json!({"node": "0123456789abcdef", "lost": lost}));
    let append = Append {
        log: "0123456789abcdef".into(),
        writer: "0123456789abcdef".into(),
        first: Some(1),
        entries: vec![LogEntry { bytes: beginning.into(), keep: Keep::Always }],
        ends: false,
        room: Room { entries: 10, bytes: 1000 },
        ttl: Duration::from_secs(5 * 60),
    };
    store.run(&format!("s/{}", raw.session), &Step::new().then(append)).await.unwrap();
    let stream = raw.stream(Some("0123456789abcdef.1")).await;
    assert_eq!(timeout(FOR_EVER, stream.rest()).await.expect("the stream ends"), [lost]);
}

#[tokio::test(start_paused = true)]
async fn a_server_tells_what_it_does_with_its_store() {
    let (store, gate) = (Arc::new(MemoryStore::new()), Gate::new());
    let [here, there] = [0, 1].map(|_| builder(&gate).store(store.clone()).build().unwrap());
    let used = |server: &toolway::Server| server.usage().store.expect("the server shares a store");
    assert_eq!((used(&here).visits, used(&here).nodes), (0, 0));
    let raw = Raw::open(&here.http(), NEWEST).await;
    let elsewhere = Raw { service: there.http(), ..raw.clone() };
    elsewhere.ask("ping", json!({})).await;
    assert_eq!((used(&there).nodes, used(&there).failed_visits), (2, 0));
    assert!(used(&here).visits > 0);
    // A copy of a request is refused.
    let running = tokio::spawn(async move { whole(raw.call(7, "silent", json!({})).await).await });
    tokio::task::yield_now().await;
    let (_, copy) = whole(elsewhere.call(7, "silent", json!({})).await).await;
    assert!(copy.get("error").is_some(), "{copy}");
    assert_eq!(used(&there).refused_requests, 1);
    gate.go(1);
    running.await.unwrap();
    assert_eq!(builder(&gate).build().unwrap().usage().store, None);
}
