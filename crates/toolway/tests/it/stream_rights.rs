//! Does a notification stream end when its caller loses the right to it?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{Admit, Refuse, ResourceEntry};
use toolway::types::Resource;

use crate::raw_http::{Events, Raw, initialize};

/// What `on_connect` decides now.
#[derive(Clone, Default)]
struct Policy {
    verdict: Arc<Mutex<Verdict>>,
    asked: Arc<Notify>,
}

#[derive(Clone, Copy, Default)]
enum Verdict {
    #[default]
    Admit,
    OnlyToday,
    OtherPrincipal,
    Refuse,
    /// Never decides.
    Hang,
}

impl Policy {
    fn set(&self, verdict: Verdict) {
        *self.verdict.lock().unwrap() = verdict;
    }
}

async fn decide(policy: State<Policy>) -> Result<Admit, Refuse> {
    let verdict = *policy.verdict.lock().unwrap();
    policy.asked.notify_one();
    match verdict {
        Verdict::Admit => Ok(Admit::as_principal("ann")),
        Verdict::OnlyToday => Ok(Admit::as_principal("ann").only_resources(["news://today"])),
        Verdict::OtherPrincipal => Ok(Admit::as_principal("bob")),
        Verdict::Refuse => Err(Refuse::forbidden("the account is disabled")),
        Verdict::Hang => std::future::pending().await,
    }
}

fn server(policy: &Policy) -> Server {
    let news = |uri: &'static str| ResourceEntry::define(Resource::new(uri, uri), move || async move { uri });
    Server::new("news", "1.0.0")
        .resource(news("news://today"))
        .resource(news("news://secret"))
        .state(policy.clone())
        .on_connect(decide)
        .build()
        .unwrap()
}

const STREAMS: [&str; 3] = ["listen", "session", "legacy"];
const URIS: [&str; 2] = ["news://today", "news://secret"];

/// Opens a notification stream of a kind, subscribed to all resources.
async fn open(kind: &str, service: HttpService) -> Events {
    match kind {
        "listen" => {
            let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")]
                .map(|(name, value)| (name, value.to_owned()))
                .to_vec();
            let raw = Raw { service, session: String::new(), version: "", headers };
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let params = json!({"notifications": {"resourceSubscriptions": URIS}, "_meta": meta});
            let listen =
                json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
            let mut events = Events::of(raw.post(&listen).await);
            assert_eq!(events.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
            events
        }
        "session" => {
            let raw = Raw::open(&service, "2025-11-25").await;
            for uri in URIS {
                raw.ask("resources/subscribe", json!({"uri": uri})).await;
            }
            raw.stream(None).await
        }
        "legacy" => subscribed_over_two_urls(&service.legacy_sse(), Vec::new(), &URIS).await,
        other => panic!("{other}"),
    }
}

/// Opens a session over the two URLs of 2024-11-05, and subscribes to resources. Returns the stream of the session.
pub(crate) async fn subscribed_over_two_urls(
    service: &HttpService,
    headers: Vec<(&'static str, String)>,
    uris: &[&str],
) -> Events {
    let raw = Raw { service: service.clone(), session: String::new(), version: "2024-11-05", headers };
    let mut events = raw.stream(None).await;
    let query = String::from_utf8(events.next().await.unwrap().data.to_vec()).unwrap();
    let subscribe = |uri: &&str| json!({"jsonrpc": "2.0", "id": uri, "method": "resources/subscribe", "params": {"uri": uri}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for body in [initialize("2024-11-05"), ready].into_iter().chain(uris.iter().map(subscribe)) {
        let mut request = raw.request(http::Method::POST, &body.to_string());
        *request.uri_mut() = format!("/mcp{query}").parse().unwrap();
        assert_eq!(raw.service.handle(request).await.status(), http::StatusCode::ACCEPTED);
        if body.get("id").is_some() {
            assert_eq!(events.message().await.unwrap()["id"], body["id"]);
        }
    }
    events
}

/// Returns the next message; `None` at the end of the stream. Waiting in vain fails the test.
async fn next(events: &mut Events) -> Option<Value> {
    tokio::time::timeout(Duration::from_secs(300), events.message()).await.expect("a message or the end")
}

async fn expect_update(kind: &str, events: &mut Events, uri: &str) {
    let message = next(events).await.unwrap_or_else(|| panic!("{kind}: the stream has ended"));
    assert_eq!(message["params"]["uri"], uri, "{kind}: {message}");
}

/// Reads the end of a stream. Only `subscriptions/listen` has an answer, which gives the reason.
async fn expect_end(kind: &str, events: &mut Events, reason: &str) {
    let last = next(events).await;
    if kind == "listen" {
        assert!(last.unwrap()["error"]["message"].as_str().unwrap().contains(reason), "{kind}");
        assert_eq!(next(events).await, None);
    } else {
        assert_eq!(last, None, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_its_caller_is_refused_after_an_announcement() {
    for kind in STREAMS {
        for (verdict, reason) in
            [(Verdict::Refuse, "disabled"), (Verdict::OtherPrincipal, "another principal")]
        {
            let policy = Policy::default();
            let server = server(&policy);
            let mut events = open(kind, server.http()).await;
            server.rights_changed();
            server.resource_updated(URIS[1]);
            expect_update(kind, &mut events, URIS[1]).await;
            policy.set(verdict);
            server.rights_changed();
            expect_end(kind, &mut events, reason).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_within_a_minute_without_an_announcement() {
    for kind in STREAMS {
        for (verdict, reason) in [(Verdict::Refuse, "disabled"), (Verdict::Hang, "took too long")] {
            let policy = Policy::default();
            let server = server(&policy);
            let mut events = open(kind, server.http()).await;
            policy.set(verdict);
            let opened = tokio::time::Instant::now();
            expect_end(kind, &mut events, reason).await;
            // A check may take as long as the time between two checks.
            assert!(opened.elapsed() <= Duration::from_secs(121), "{kind}: {:?}", opened.elapsed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stays_open_has_the_new_rights() {
    for kind in STREAMS {
        let policy = Policy::default();
        let server = server(&policy);
        let mut events = open(kind, server.http()).await;
        server.resource_updated(URIS[1]);
        expect_update(kind, &mut events, URIS[1]).await;
        policy.set(Verdict::OnlyToday);
        policy.asked.notified().await;
        server.rights_changed();
        // The stream asks while it is read.
        tokio::select! {
            biased;
            message = events.message() => panic!("{kind}: {message:?}"),
            () = policy.asked.notified() => {}
        }
        for uri in [URIS[1], URIS[0]] {
            server.resource_updated(uri);
        }
        expect_update(kind, &mut events, URIS[0]).await;
    }
}
