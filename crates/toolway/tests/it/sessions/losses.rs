//! Does a call go on although the store has lost what it had confirmed?

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolway::store::{Answer, Operation, Outcome, Step, Store, StoredValue, Version};

use super::nodes::{Pair, next_with_id, tools_changed};
use super::stage::{FOR_EVER, SECOND, builder, text};
use super::{NEWEST, REVISIONS};
use crate::raw_http::{Events, Raw, initialize};

#[tokio::test(start_paused = true)]
async fn events_that_the_store_has_lost_are_written_again() {
    for version in REVISIONS {
        let pair = Pair::new(version).await;
        pair.gate.go(1);
        let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 4})).await);
        let last = next_with_id(&mut events).await;
        pair.stores[0].lost_appends.store(1, Ordering::Release);
        pair.gate.go(1);
        assert_eq!(events.message().await.unwrap()["params"]["progress"], 2, "it was confirmed, and is lost");
        pair.gate.go(1);
        assert_eq!(events.message().await.unwrap()["params"]["progress"], 3);
        pair.gate.go(2);
        let rest = pair.there.stream(Some(&last)).await.rest().await;
        let steps: Vec<_> =
            rest.iter().filter_map(|message| message["params"]["progress"].as_u64()).collect();
        assert_eq!(steps, [2, 3, 4], "{version}");
        assert_eq!(rest.last().map(text), Some("walked 4"), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_that_the_store_has_lost_is_written_again() {
    let pair = Pair::new(NEWEST).await;
    pair.gate.go(1);
    let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 1})).await);
    let last = next_with_id(&mut events).await;
    pair.stores[0].lost_appends.store(1, Ordering::Release);
    pair.gate.go(1);
    assert_eq!(events.rest().await.last().map(text), Some("walked 1"));
    sleep(SECOND * 31).await;
    let rest = timeout(SECOND, pair.there.stream(Some(&last)).await.rest()).await;
    assert_eq!(rest.expect("the end is there").last().map(text), Some("walked 1"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_store_has_lost_is_written_again_after_the_outage() {
    let pair = Pair::new(NEWEST).await;
    pair.stores[0].lost_appends.store(1, Ordering::Release);
    pair.gate.go(1);
    let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 2})).await);
    let last = next_with_id(&mut events).await;
    sleep(SECOND * 10).await;
    let unknown = pair.there.get(Some(&last)).await;
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST, "the server does not know of an outage");
    pair.stores[1].gaps.send_modify(|count| *count += 1);
    sleep(SECOND).await;
    let behind = pair.there.get(Some(&last)).await;
    assert_eq!(behind.status(), StatusCode::SERVICE_UNAVAILABLE, "the writer may write it again");
    pair.stores[0].gaps.send_modify(|count| *count += 1);
    sleep(SECOND).await;
    // The handler has said nothing since.
    let mut resumed = pair.there.stream(Some(&last)).await;
    pair.gate.go(2);
    let mut rest = Vec::new();
    while let Some(message) = timeout(FOR_EVER, resumed.message()).await.expect("it has an end") {
        rest.push(message);
    }
    assert_eq!(rest.last().map(text), Some("walked 2"));
}

#[tokio::test(start_paused = true)]
async fn notifications_that_the_store_has_lost_are_written_again_although_the_client_has_gone() {
    let pair = Pair::new(NEWEST).await;
    let mut news = pair.here.stream(None).await;
    news.next().await.unwrap();
    pair.servers[0].tools_changed();
    tools_changed(&mut news).await;
    while timeout(SECOND, news.message()).await.is_ok() {}
    pair.stores[0].lost_appends.store(1, Ordering::Release);
    pair.servers[0].tools_changed();
    tools_changed(&mut news).await;
    let last = news.last.clone().unwrap();
    drop(news);
    sleep(SECOND * 10).await;
    // One server notices the fail-over before the other.
    pair.stores[1].losses.fetch_add(1, Ordering::AcqRel);
    let behind = pair.there.get(Some(&last)).await;
    assert_eq!(behind.status(), StatusCode::SERVICE_UNAVAILABLE, "the writer may write it again");
    pair.stores[0].gaps.send_modify(|count| *count += 1);
    sleep(SECOND).await;
    assert_eq!(pair.there.get(Some(&last)).await.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_comes_before_a_new_server_has_looked_at_the_store_is_told() {
    let pair = Pair::new(NEWEST).await;
    let store = pair.stores[0].sibling();
    store.holds_changes.store(true, Ordering::Release);
    let server = builder(&pair.gate).store(store.clone()).build().unwrap();
    let elsewhere = Raw { service: server.http(), ..pair.here.clone() };
    let mut news = elsewhere.stream(None).await;
    while timeout(SECOND, news.message()).await.is_ok() {}
    pair.servers[0].tools_changed();
    sleep(SECOND).await;
    store.holds_changes.store(false, Ordering::Release);
    tools_changed(&mut news).await;
}

/// A fail-over may lose what is not confirmed, although other servers have seen it.
#[tokio::test(start_paused = true)]
async fn a_change_of_a_session_that_is_not_confirmed_is_not_answered_elsewhere() {
    let pair = Pair::new(NEWEST).await;
    let subscribe = json!({
        "jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": {"uri": "news://today"},
    });
    for store in &pair.stores {
        store.confirms_no_records.store(true, Ordering::Release);
    }
    for raw in [&pair.here, &pair.there, &pair.here] {
        assert_eq!(raw.post(&subscribe).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
    pair.stores[1].confirms_no_records.store(false, Ordering::Release);
    assert_eq!(pair.there.post(&subscribe).await.status(), StatusCode::OK);
}

/// Otherwise the session might be back after a fail-over.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_that_is_not_confirmed_is_not_answered_elsewhere() {
    let pair = Pair::new(NEWEST).await;
    for store in &pair.stores {
        store.confirms_no_records.store(true, Ordering::Release);
    }
    for raw in [&pair.here, &pair.there, &pair.here] {
        assert_eq!(raw.delete().await.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
    pair.stores[1].confirms_no_records.store(false, Ordering::Release);
    assert_eq!(pair.there.delete().await.status(), StatusCode::NOT_FOUND);
}

/// Returns the record of the session, as the store has it.
async fn stored_record(pair: &Pair) -> StoredValue {
    let get = Step::new().then(Operation::Get { key: "record".into(), known: None });
    let group = format!("s/{}", pair.here.session);
    let Outcome::Done(answers) = pair.stores[0].memory.run(&group, &get).await.unwrap() else { panic!() };
    let [Answer::Value(Some(record))] = &answers[..] else { panic!("{answers:?}") };
    record.clone()
}

/// Replaces the record of the session by an older one, as a fail-over does, and tells the servers of it.
async fn lose_record(pair: &Pair, value: Bytes, version: Version) {
    let put = Operation::Put { key: "record".into(), value, version, ttl: SECOND * 1000 };
    let group = format!("s/{}", pair.here.session);
    pair.stores[0].memory.run(&group, &Step::new().then(put)).await.unwrap();
    for store in &pair.stores {
        store.losses.fetch_add(1, Ordering::AcqRel);
    }
}

/// Waits until a stream is told of an update.
async fn updated(news: &mut Events, uri: &str) {
    let told = async { while news.message().await.expect("the stream goes on")["params"]["uri"] != uri {} };
    timeout(SECOND, told).await.expect("it is told");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_session_that_the_store_has_lost_does_not_hide_the_next_one() {
    let pair = Pair::new(NEWEST).await;
    let before = stored_record(&pair).await;
    pair.here.ask("resources/subscribe", json!({"uri": "news://lost"})).await;
    lose_record(&pair, before.bytes.unwrap(), before.version).await;
    pair.there.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    let mut news = pair.here.stream(None).await;
    pair.servers[0].resource_updated("news://today");
    updated(&mut news, "news://today").await;
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_session_that_the_store_has_lost_are_written_again() {
    let pair = Pair::new(NEWEST).await;
    let before = stored_record(&pair).await;
    let mut news = pair.here.stream(None).await;
    pair.here.ask("resources/subscribe", json!({"uri": "news://today"})).await;
    // The confirmation of the handshake is lost as well.
    let mut record: Value = serde_json::from_slice(&before.bytes.unwrap()).unwrap();
    (record["ready"], record["changes"]) = (json!(false), json!(0));
    lose_record(&pair, record.to_string().into(), before.version).await;
    pair.stores[0].gaps.send_modify(|count| *count += 1);
    sleep(SECOND).await;
    pair.servers[0].resource_updated("news://today");
    updated(&mut news, "news://today").await;
    let record: Value = serde_json::from_slice(&stored_record(&pair).await.bytes.unwrap()).unwrap();
    assert_eq!((&record["ready"], &record["uris"]), (&json!(true), &json!(["news://today"])));
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_kept_as_long_as_it_is_read_although_another_one_gets_the_notifications() {
    let pair = Pair::new(NEWEST).await;
    let mut older = pair.there.stream(None).await;
    pair.servers[1].tools_changed();
    let last = next_with_id(&mut older).await;
    let mut newer = pair.here.stream(None).await;
    sleep(SECOND).await;
    pair.servers[1].tools_changed();
    tools_changed(&mut newer).await;
    // Longer than a session without requests lives.
    sleep(SECOND * 60 * 60).await;
    drop(older);
    assert_eq!(pair.here.get(Some(&last)).await.status(), StatusCode::OK);
}

/// Two servers, and a notification stream at the first of them that its client has left. Returns the ids of its last two
/// events.
async fn pair_with_news() -> (Pair, [String; 2]) {
    let pair = Pair::new(NEWEST).await;
    let mut news = pair.here.stream(None).await;
    news.next().await.unwrap();
    let mut ids = [String::new(), String::new()];
    for id in &mut ids {
        while timeout(SECOND, news.message()).await.is_ok() {}
        pair.servers[0].tools_changed();
        tools_changed(&mut news).await;
        *id = news.last.clone().unwrap();
    }
    (pair, ids)
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_store_loses_while_it_is_resumed_is_written_again() {
    let (pair, [last_but_one, last]) = pair_with_news().await;
    pair.stores[1].streams_lost_before_end.store(1, Ordering::Release);
    let behind = pair.there.get(Some(&last_but_one)).await;
    assert_eq!(behind.status(), StatusCode::SERVICE_UNAVAILABLE, "the writer may write it again");
    pair.stores[0].gaps.send_modify(|count| *count += 1);
    sleep(SECOND).await;
    let mut resumed = pair.there.stream(Some(&last_but_one)).await;
    tools_changed(&mut resumed).await;
    assert_eq!(resumed.last, Some(last), "nothing is skipped");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_store_loses_with_its_end_is_written_again() {
    let (pair, [last_but_one, last]) = pair_with_news().await;
    pair.stores[1].streams_lost_with_end.store(1, Ordering::Release);
    let unknown = pair.there.get(Some(&last_but_one)).await;
    assert_eq!(unknown.status(), StatusCode::SERVICE_UNAVAILABLE);
    // The writer hears that the stream is continued, and then of the fail-over.
    sleep(SECOND).await;
    pair.stores[0].gaps.send_modify(|count| *count += 1);
    sleep(SECOND * 10).await;
    let mut resumed = pair.there.stream(Some(&last_but_one)).await;
    tools_changed(&mut resumed).await;
    assert_eq!(resumed.last, Some(last), "nothing is skipped");
}

#[tokio::test(start_paused = true)]
async fn the_first_visit_after_a_loss_knows_of_it() {
    let pair = Pair::new(NEWEST).await;
    pair.stores[0].lost_appends.store(1, Ordering::Release);
    pair.gate.go(1);
    let mut events = Events::of(pair.here.call(7, "walk", json!({"steps": 2})).await);
    let last = next_with_id(&mut events).await;
    sleep(SECOND * 10).await;
    pair.stores[1].losses.fetch_add(1, Ordering::AcqRel);
    let behind = pair.there.get(Some(&last)).await;
    assert_eq!(behind.status(), StatusCode::SERVICE_UNAVAILABLE, "the writer may write it again");
    pair.stores[0].losses.fetch_add(1, Ordering::AcqRel);
    // The writer marks itself in the store.
    sleep(SECOND * 4).await;
    pair.gate.go(2);
    let rest = timeout(SECOND, pair.there.stream(Some(&last)).await.rest()).await;
    assert_eq!(rest.expect("it has an end").last().map(text), Some("walked 2"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_the_store_has_lost_is_delivered_again() {
    let (pair, [here, there]) = pair_that_asks().await;
    let mut events = Events::of(here.call(7, "charge", json!({})).await);
    let answer = answer_to(&question(&mut events).await);
    pair.stores[1].loses_deliveries.store(true, Ordering::Release);
    assert_eq!(there.post(&answer).await.status(), StatusCode::ACCEPTED);
    pair.stores[1].loses_deliveries.store(false, Ordering::Release);
    sleep(SECOND * 5).await;
    pair.stores[1].gaps.send_modify(|count| *count += 1);
    let rest = timeout(SECOND, events.rest()).await.expect("the answer has arrived");
    assert_eq!(rest.last().map(text), Some("5 paid"));
}

/// Two servers, and one session of a client that answers questions at both.
async fn pair_that_asks() -> (Pair, [Raw; 2]) {
    let pair = Pair::new(NEWEST).await;
    let mut opening = initialize(NEWEST);
    opening["params"]["capabilities"] = json!({"elicitation": {}});
    let opened = Raw { session: String::new(), ..pair.here.clone() }.post(&opening).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let raws = [&pair.here, &pair.there].map(|raw| Raw { session: session.clone(), ..raw.clone() });
    raws[0].post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    (pair, raws)
}

/// Waits for a question, and returns its id.
async fn question(events: &mut Events) -> Value {
    loop {
        let message = events.message().await.expect("it asks");
        if message["method"] == "elicitation/create" {
            return message["id"].clone();
        }
    }
}

fn answer_to(question: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {"sum": 5}}})
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_store_has_lost_can_be_answered_anywhere() {
    let (pair, [here, there]) = pair_that_asks().await;
    pair.stores[0].lost_appends.store(1, Ordering::Release);
    let mut events = Events::of(here.call(7, "charge", json!({})).await);
    let answer = answer_to(&question(&mut events).await);
    // One server notices the fail-over before the other.
    pair.stores[1].gaps.send_modify(|count| *count += 1);
    sleep(SECOND / 10).await;
    let healing = async {
        sleep(SECOND).await;
        pair.stores[0].gaps.send_modify(|count| *count += 1);
    };
    let (accepted, ()) = tokio::join!(there.post(&answer), healing);
    assert_eq!(accepted.status(), StatusCode::ACCEPTED);
    let rest = timeout(SECOND * 5, events.rest()).await.expect("the answer has arrived");
    assert_eq!(rest.last().map(text), Some("5 paid"));
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_that_the_store_has_lost_is_delivered_again() {
    let pair = Pair::new(NEWEST).await;
    pair.stores[1].loses_deliveries.store(true, Ordering::Release);
    let events = Events::of(pair.here.call(7, "pay", json!({})).await);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(pair.there.post(&cancel).await.status(), StatusCode::ACCEPTED);
    pair.stores[1].loses_deliveries.store(false, Ordering::Release);
    sleep(SECOND * 5).await;
    pair.stores[1].gaps.send_modify(|count| *count += 1);
    let rest = timeout(SECOND, events.rest()).await.expect("the request was cancelled");
    assert_eq!(rest, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_of_a_request_whose_claim_the_store_has_lost_is_delivered_when_it_is_known_again() {
    let pair = Pair::new(NEWEST).await;
    let events = Events::of(pair.here.call(7, "pay", json!({})).await);
    pair.stores[0].lose_claims(&pair.here.session).await;
    // The server at which the client cancels notices the fail-over before the one that runs the request, which does not
    // hear its messages yet.
    pair.stores[1].losses.fetch_add(1, Ordering::AcqRel);
    pair.stores[1].loses_messages.store(true, Ordering::Release);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(pair.there.post(&cancel).await.status(), StatusCode::ACCEPTED);
    pair.stores[0].losses.fetch_add(1, Ordering::AcqRel);
    let rest = timeout(SECOND * 16, events.rest()).await.expect("the request was cancelled");
    assert_eq!(rest, Vec::<Value>::new());
}
