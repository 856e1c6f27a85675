//! How often does a server visit the store that it shares with others?
//!
//! Each visit is a round trip over the network. A claim is released after its reply, so a visit more may follow it.

use std::sync::atomic::Ordering;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolway::server::{Admit, ConnectRequest};
use toolway::store::MemoryStore;

use super::faulty_store::FaultyStore;
use super::nodes::{Pair, next_with_id, tools_changed};
use super::stage::{FOR_EVER, SECOND, builder, text};
use super::{NEWEST, REVISIONS, Steps as Gate};
use crate::raw_http::{Events, Raw, initialize, whole};

/// Checks how many visits of a server there were since the last time.
#[track_caller]
fn check(visits: usize, limit: usize, what: &str) {
    assert!(visits <= limit, "{what}: {visits} visits");
}

/// Returns the number of visits of one of two servers since the last time, when what follows a reply is done.
async fn visits(pair: &Pair, server: usize) -> usize {
    sleep(SECOND / 10).await;
    pair.stores[server].take_visits()
}

#[tokio::test(start_paused = true)]
async fn requests_visit_the_store_rarely() {
    let pair = Pair::new(NEWEST).await;
    visits(&pair, 0).await;
    pair.here.ask("tools/list", json!({})).await;
    check(visits(&pair, 0).await, 1, "a list");
    whole(pair.here.call(5, "peek", json!({})).await).await;
    check(visits(&pair, 0).await, 1, "a read-only tool");
    whole(pair.here.call(6, "add", json!({"a": 1, "b": 2})).await).await;
    check(visits(&pair, 0).await, 2, "a plain call");
    let reply = whole(pair.here.call(7, "tick", json!({"times": 0})).await).await.1;
    assert_eq!(text(&reply), "done");
    check(visits(&pair, 0).await, 2, "a call without output");
    let waiting = Events::of(pair.here.call(8, "pay", json!({})).await);
    sleep(SECOND * 2).await;
    pair.gate.go(1);
    assert_eq!(waiting.rest().await.last().map(text), Some("paid"));
    check(visits(&pair, 0).await, 4, "a silent call of two seconds");
    sleep(SECOND * 31).await;
    check(visits(&pair, 0).await, 1, "the last look at its end");
}

#[tokio::test(start_paused = true)]
async fn opening_a_session_visits_the_store_twice() {
    let store = FaultyStore::new(&MemoryStore::new().into());
    let admit = async |_: ConnectRequest| Admit::as_principal("ann");
    let service = builder(&Gate::new()).on_connect(admit).store(store.clone()).http().unwrap();
    let new = Raw { service, session: String::new(), version: NEWEST, headers: Vec::new() };
    assert_eq!(new.post(&initialize(NEWEST)).await.status(), StatusCode::OK);
    check(store.take_visits(), 2, "its place and its record");
}

#[tokio::test(start_paused = true)]
async fn an_event_of_a_call_is_one_visit() {
    let pair = Pair::new(NEWEST).await;
    visits(&pair, 0).await;
    let told = Events::of(pair.here.call(5, "tick", json!({"times": 8})).await).rest().await;
    assert_eq!(told.len(), 9);
    check(visits(&pair, 0).await, 8 + 3, "the call, eight events, the end and the claim");
    sleep(SECOND * 31).await;
    visits(&pair, 0).await;
    // While an event is being stored, others wait, and go together.
    pair.stores[0].holds_answers.store(true, Ordering::Release);
    let here = pair.here.clone();
    let flood = tokio::spawn(async move {
        Events::of(here.call(6, "flood", json!({"times": 100, "size": 10})).await).rest().await
    });
    sleep(SECOND).await;
    pair.stores[0].holds_answers.store(false, Ordering::Release);
    assert_eq!(flood.await.unwrap().len(), 101);
    check(visits(&pair, 0).await, 6, "a hundred events at once");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_answered_at_another_server_is_few_visits() {
    let pair = Pair::new(NEWEST).await;
    let capabilities = json!({"elicitation": {}});
    let mut greeting = initialize(NEWEST);
    greeting["params"]["capabilities"] = capabilities;
    let new = Raw { session: String::new(), ..pair.here.clone() };
    let opened = new.post(&greeting).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let [here, there] = [&pair.here, &pair.there].map(|raw| Raw { session: session.clone(), ..raw.clone() });
    here.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    there.ask("ping", json!({})).await;
    visits(&pair, 0).await;
    visits(&pair, 1).await;
    let mut events = Events::of(here.call(5, "charge", json!({})).await);
    let question = events.message().await.unwrap();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"sum": 7}}});
    assert_eq!(there.post(&answer).await.status(), StatusCode::ACCEPTED);
    assert_eq!(events.rest().await.last().map(text), Some("7 paid"));
    check(visits(&pair, 0).await, 4, "the call, the question, the end and the claim");
    check(visits(&pair, 1).await, 2, "the session and the answer");
}

#[tokio::test(start_paused = true)]
async fn resuming_a_stream_at_another_server_is_two_visits() {
    for version in REVISIONS {
        let pair = Pair::new(version).await;
        pair.gate.go(3);
        let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 4})).await);
        let last = next_with_id(&mut events).await;
        sleep(SECOND).await;
        visits(&pair, 1).await;
        let mut resumed = pair.there.stream(Some(&last)).await;
        for _ in 2..=3 {
            timeout(FOR_EVER, resumed.message()).await.unwrap().unwrap();
        }
        check(visits(&pair, 1).await, 2, version);
        // It waits for the next event, and reads each once.
        pair.gate.go(1);
        let next = timeout(FOR_EVER, resumed.message()).await.unwrap().unwrap();
        assert_eq!(next["params"]["progress"], 4, "{version}");
        check(visits(&pair, 1).await, 2, version);
        pair.gate.go(1);
        assert_eq!(resumed.rest().await.last().map(text), Some("walked 4"), "{version}");
        visits(&pair, 1).await;
        // The client may lose the connection before it has read the end.
        let again = pair.there.stream(Some(&last)).await.rest().await;
        assert_eq!(again.last().map(text), Some("walked 4"), "{version}");
        check(visits(&pair, 1).await, 3, "all of it, and the claim that is released");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_notification_stream_visits_the_store_every_ten_minutes() {
    let pair = Pair::new(NEWEST).await;
    visits(&pair, 0).await;
    let news = pair.here.stream(None).await;
    check(visits(&pair, 0).await, 2, "a notification stream");
    sleep(SECOND * 60 * 59).await;
    check(visits(&pair, 0).await, 6, "an hour");
    drop(news);
}

/// A message to all servers is lost, and no connection is.
#[tokio::test(start_paused = true)]
async fn an_idle_notification_stream_notices_that_a_message_was_lost() {
    let pair = Pair::new(NEWEST).await;
    let mut news = pair.here.stream(None).await;
    tools_changed_and_quiet(&mut news, &pair).await;
    visits(&pair, 0).await;
    pair.stores[1].loses_messages.store(true, Ordering::Release);
    pair.there.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    pair.stores[1].loses_messages.store(false, Ordering::Release);
    sleep(SECOND * 14).await;
    check(visits(&pair, 0).await, 1, "the look at the session");
    pair.servers[1].resource_updated("news://today");
    let updated = timeout(FOR_EVER, news.message()).await.unwrap().unwrap();
    assert_eq!(updated["params"]["uri"], "news://today");
}

/// A change that is refused has a number that no message has, so it is not looked for.
#[tokio::test(start_paused = true)]
async fn changes_at_two_servers_at_once_cause_no_looks() {
    let pair = Pair::new(NEWEST).await;
    let mut news = pair.here.stream(None).await;
    tools_changed_and_quiet(&mut news, &pair).await;
    for round in 0..5 {
        let subscribe = |raw: &Raw, name: &str| {
            let (raw, uri) = (raw.clone(), format!("news://{name}{round}"));
            async move { raw.ask("resources/subscribe", json!({"uri": uri})).await }
        };
        let both = tokio::join!(subscribe(&pair.here, "here"), subscribe(&pair.there, "there"));
        for reply in [both.0, both.1] {
            assert_eq!(reply["result"], json!({}));
        }
    }
    sleep(SECOND * 2).await;
    visits(&pair, 0).await;
    sleep(SECOND * 60).await;
    check(visits(&pair, 0).await, 0, "a minute");
}

/// Waits until the stream has told everything that may have changed before.
async fn tools_changed_and_quiet(news: &mut Events, pair: &Pair) {
    pair.servers[0].tools_changed();
    tools_changed(news).await;
    while let Ok(message) = timeout(SECOND, news.message()).await {
        let _: Value = message.expect("the stream goes on");
    }
}
