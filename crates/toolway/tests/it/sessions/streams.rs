//! Is nothing lost on long calls, with slow readers, with stores that fail, and at shutdown?

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use toolway::store::MemoryStore;
use toolway::transport::sse::Event;

use super::stage::{FOR_EVER, Moody, SECOND, builder, server, service, text};
use super::{NEWEST, REVISIONS, Steps as Gate};
use crate::raw_http::{Events, Raw, whole};

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

/// Waits for the next event that has data.
async fn next_with_data(events: &mut Events) -> Option<Event> {
    loop {
        let event = events.next().await?;
        if !event.data.is_empty() {
            return Some(event);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_given_though_it_cannot_be_stored() {
    for version in REVISIONS {
        let (store, gate) = (Arc::new(Moody::default()), Gate::new());
        let raw = Raw::open(&builder(&gate).store(store.clone()).build().unwrap().http(), version).await;
        gate.go(1);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 2})).await);
        let first = next_with_data(&mut events).await.unwrap();
        store.fails_to_append.store(true, Ordering::Release);
        gate.go(2);
        let mut rest = Vec::new();
        while let Some(event) =
            timeout(SECOND * 5, next_with_data(&mut events)).await.expect("the stream ends")
        {
            assert_eq!(event.id, None, "the client cannot resume after it");
            rest.push(serde_json::from_slice::<Value>(&event.data).unwrap());
        }
        assert_eq!(rest.last().map(text), Some("walked 2"), "{version}");
        // The store gets the rest when it works again, for a client that was cut off just then.
        store.fails_to_append.store(false, Ordering::Release);
        sleep(SECOND * 2).await;
        let rest = raw.stream(first.id.as_deref()).await.rest().await;
        assert_eq!(rest.last().map(text), Some("walked 2"), "{version}");
    }
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
async fn an_answer_that_nobody_can_come_back_for_is_not_kept() {
    for version in REVISIONS {
        let (store, gate) = (Arc::new(MemoryStore::new()), Gate::new());
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
