//! How is a server replaced by another one, without a client that notices?

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use serde_json::json;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};
use toolway::server::http::HttpService;
use toolway::store::MemoryStore;
use tower_service::Service as _;

use super::NEWEST;
use super::Steps as Gate;
use super::faulty_store::FaultyStore;
use super::stage::{FOR_EVER, SECOND, builder, server, text};
use crate::raw_http::{Events, Raw};

/// Asks a health check, and returns the status and the text.
async fn check(service: &HttpService, method: Method, path: &str) -> (StatusCode, String) {
    let request = Request::builder().method(method).uri(path).header("host", "10.0.0.7");
    let reply = service.health().call(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
    let status = reply.status();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn is_ready(service: &HttpService) -> bool {
    check(service, Method::GET, "/ready").await.0 == StatusCode::OK
}

#[tokio::test(start_paused = true)]
async fn a_server_alone_is_ready_until_it_stops() {
    let service = server(&Gate::new()).http();
    assert_eq!(check(&service, Method::GET, "/health").await, (StatusCode::OK, "ok\n".to_owned()));
    assert_eq!(check(&service, Method::GET, "/app/ready").await, (StatusCode::OK, "ready\n".to_owned()));
    assert_eq!(check(&service, Method::POST, "/ready").await.0, StatusCode::METHOD_NOT_ALLOWED);
    service.stop().await;
    let stopping = (StatusCode::SERVICE_UNAVAILABLE, "stopping\n".to_owned());
    assert_eq!(check(&service, Method::HEAD, "/ready").await, stopping);
    assert_eq!(check(&service, Method::GET, "/health").await.0, StatusCode::OK, "the process is alive");
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_store_is_away_is_not_ready_and_few_probes_reach_the_store() {
    let store = FaultyStore::new(&Arc::new(MemoryStore::new()));
    let service = builder(&Gate::new()).store(store.clone()).http().unwrap();
    assert!(is_ready(&service).await);
    store.is_away.store(true, Ordering::Release);
    let before = store.marks.load(Ordering::Acquire);
    sleep(SECOND).await;
    for _ in 0..100 {
        assert!(!is_ready(&service).await);
    }
    let visits = store.marks.load(Ordering::Acquire) - before;
    assert!(visits <= 2, "{visits} visits");
    assert_eq!(
        check(&service, Method::GET, "/health").await.0,
        StatusCode::OK,
        "other servers have no store either"
    );
    store.is_away.store(false, Ordering::Release);
    sleep(SECOND).await;
    assert!(is_ready(&service).await);
}

#[tokio::test(start_paused = true)]
async fn a_server_serves_on_while_it_says_that_it_stops() {
    let store = FaultyStore::new(&Arc::new(MemoryStore::new()));
    let service = builder(&Gate::new()).store(store).http().unwrap();
    let session = Raw::open(&service, NEWEST).await;
    let (began, announced) = (Instant::now(), service.clone());
    let announcing = tokio::spawn(async move { announced.announce_stop().await });
    yield_now().await;
    assert!(!is_ready(&service).await);
    let answer = session.ask("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})).await;
    assert_eq!(text(&answer), "3");
    announcing.await.unwrap();
    assert_eq!(began.elapsed(), 5 * SECOND, "load balancers have time to notice");
    // A server without a store cannot be replaced by another one.
    let alone = server(&Gate::new()).http();
    let began = Instant::now();
    alone.announce_stop().await;
    assert_eq!(began.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_server_that_stops_end_with_a_time_that_is_drawn() {
    let mut times = Vec::new();
    for _ in 0..8 {
        let service = server(&Gate::new()).http();
        let session = Raw::open(&service, NEWEST).await;
        let mut stream = session.stream(None).await;
        stream.next().await.expect("the stream begins");
        let ending = tokio::spawn(async move {
            let mut last = None;
            while let Some(event) = stream.next().await {
                last = event.retry.or(last);
            }
            last
        });
        yield_now().await;
        service.stop().await;
        let time = timeout(FOR_EVER, ending).await.unwrap().unwrap().expect("it says when to reconnect");
        assert!((1000..=3000).contains(&time), "{time}");
        times.push(time);
    }
    times.dedup();
    assert!(times.len() > 1, "clients do not come back at the same moment: {times:?}");
}

/// A client reads at the second server what the first one writes. The second server stops.
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_read_elsewhere_moves_on_when_its_reader_stops() {
    let memory = Arc::new(MemoryStore::new());
    let gate = Gate::new();
    let services = [0, 1, 2].map(|_| {
        let store = FaultyStore::new(&memory);
        builder(&gate).store(store).http().unwrap()
    });
    let [one, two, three] = services;
    let session = Raw::open(&one, NEWEST).await;
    let mut events = Events::of(session.call(7, "tick", json!({"times": 60})).await);
    events.message().await.expect("it says something");
    let last = events.last.clone().unwrap();
    drop(events);
    let there = Raw { service: two.clone(), ..session.clone() };
    let mut events = there.stream(Some(&last)).await;
    events.message().await.expect("it goes on");
    // The end does not wait for the call, which runs at the first server.
    let began = Instant::now();
    two.stop().await;
    while events.message().await.is_some() {}
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    let third = Raw { service: three, ..session };
    let last = events.last.unwrap();
    let rest = third.stream(Some(&last)).await.rest().await;
    assert_eq!(rest.last().map(text), Some("done"));
}
