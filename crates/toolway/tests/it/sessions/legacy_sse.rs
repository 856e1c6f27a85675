//! How do streams of the oldest transport end?

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::yield_now;
use tokio::time::timeout;
use toolway::server::http::HttpService;

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
