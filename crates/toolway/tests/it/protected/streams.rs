//! Does an open stream end when the token of its caller does?

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::sync::Notify;
use toolway::auth::{Auth, Rejected, Verified};

use super::world::{RESOURCE, bearer, notes, stateless};
use crate::raw_http::{Events, Raw};
use crate::stream_rights::subscribed_over_two_urls;

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_the_token_of_its_caller() {
    let seen = Mutex::new(HashSet::new());
    // A token is valid when it is seen first, for a while. The clock of this test only runs when all wait.
    let verifier = move |token: String| {
        let is_new = seen.lock().unwrap().insert(token);
        async move {
            let end = SystemTime::now() + Duration::from_secs(20);
            if is_new {
                Ok(Verified::new("ann").with_expiry(end))
            } else {
                Err(Rejected::invalid("it has expired"))
            }
        }
    };
    let server = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap();
    let service = server.http().legacy_sse();
    for kind in ["listen", "session", "legacy"] {
        let (headers, opened) = (bearer(kind), tokio::time::Instant::now());
        let mut events = match kind {
            "listen" => {
                let wanted = json!({"notifications": {"toolsListChanged": true}});
                Events::of(service.handle(stateless("subscriptions/listen", wanted, &headers)).await)
            }
            "session" => Raw::open_with(&service, "2025-11-25", headers).await.stream(None).await,
            _ => {
                let raw = Raw { service: service.clone(), session: String::new(), version: "", headers };
                raw.stream(None).await
            }
        };
        while events.next().await.is_some() {}
        // Not only at the next check of all rights, which comes after a minute.
        let open = opened.elapsed();
        assert!((Duration::from_secs(15)..Duration::from_secs(30)).contains(&open), "{kind}: {open:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_if_its_caller_loses_a_scope_that_every_request_needs() {
    let is_revoked = Arc::new(AtomicBool::new(false));
    let revoked = is_revoked.clone();
    let verifier = move |_: String| {
        let scopes = if revoked.load(Ordering::Acquire) { "other" } else { "notes:read" };
        async move { Ok::<_, Rejected>(Verified::new("ann").with_scopes([scopes])) }
    };
    let auth = Auth::resource(RESOURCE).verifier(verifier).scopes(["notes:read"]);
    let service = notes().auth(auth).build().unwrap().http();
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let listen = stateless("subscriptions/listen", wanted, &bearer("x"));
    let mut events = Events::of(service.handle(listen).await);
    assert_eq!(events.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    is_revoked.store(true, Ordering::Release);
    let ended = tokio::time::timeout(Duration::from_secs(300), events.message()).await.unwrap().unwrap();
    assert_eq!(ended["error"]["message"], "the token lacks one of the scopes `notes:read`");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_has_lost_a_scope_hears_no_more_of_resources_that_need_it() {
    for kind in ["listen", "session", "legacy"] {
        let (is_revoked, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let (revoked, notify) = (is_revoked.clone(), asked.clone());
        let verifier = move |_: String| {
            let scopes = if revoked.load(Ordering::Acquire) { "other" } else { "notes:private" };
            notify.notify_one();
            async move { Ok::<_, Rejected>(Verified::new("ann").with_scopes([scopes])) }
        };
        let server = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap();
        let service = server.http().legacy_sse();
        let mut events = match kind {
            "listen" => {
                let wanted = json!({"notifications": {"resourceSubscriptions": URIS}});
                let mut events =
                    Events::of(service.handle(stateless("subscriptions/listen", wanted, &bearer("x"))).await);
                events.message().await.unwrap();
                events
            }
            "session" => {
                let raw = Raw::open_with(&service, "2025-11-25", bearer("x")).await;
                for uri in URIS {
                    raw.ask("resources/subscribe", json!({"uri": uri})).await;
                }
                raw.stream(None).await
            }
            _ => subscribed_over_two_urls(&service, bearer("x"), &URIS).await,
        };
        server.resource_updated(URIS[0]);
        assert_eq!(events.message().await.unwrap()["params"]["uri"], URIS[0], "{kind}");
        is_revoked.store(true, Ordering::Release);
        // What a verifier says is kept for 30 seconds, and rights are checked again after a minute.
        tokio::time::advance(Duration::from_secs(31)).await;
        tokio::select! {
            biased;
            () = asked.notified() => {}
            () = std::future::ready(()) => {}
        }
        tokio::select! {
            biased;
            message = events.message() => panic!("{kind}: {message:?}"),
            () = asked.notified() => {}
        }
        for uri in URIS {
            server.resource_updated(uri);
        }
        assert_eq!(events.message().await.unwrap()["params"]["uri"], URIS[1], "{kind}");
    }
}

/// The first one needs a scope.
const URIS: [&str; 2] = ["notes://diary", "notes://welcome"];
