//! When does a session expire, and how much may it hold?

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;
use tokio::time::{sleep, timeout};
use toolway::server::http::HttpService;
use toolway::server::{Admit, ConnectRequest, Refuse};
use toolway::store::MemoryStore;

use super::faulty_store::FaultyStore;
use super::stage::{FOR_EVER, SECOND, builder, ping, server, service, text};
use super::{NEWEST, Steps as Gate};
use crate::raw_http::{Events, Raw, initialize};

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
async fn what_is_kept_of_a_stream_counts_until_it_expires() {
    let (server, terminated) = (server(&Gate::new()), builder(&Gate::new()).on_terminate(|| async {}));
    // A server with this hook looks for what has expired by itself, another one when it gets a request.
    for (server, looks) in [(server, false), (terminated.build().unwrap(), true)] {
        let service = server.http().kept_events(10, 1 << 20, SECOND * 10);
        let raw = Raw::open(&service, NEWEST).await;
        Events::of(raw.call(7, "tick", json!({"times": 2})).await).rest().await;
        assert!(server.usage().kept.used > 0);
        sleep(SECOND * 60).await;
        if !looks {
            assert_eq!(ping(&raw).await, StatusCode::OK);
        }
        assert_eq!(server.usage().kept.used, 0, "looks by itself: {looks}");
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

#[tokio::test]
async fn a_session_has_only_so_many_streams() {
    let (service, _) = service();
    let (raw, other) = (Raw::open(&service, NEWEST).await, Raw::open(&service, NEWEST).await);
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(raw.get(None).await);
    }
    assert!(open.iter().all(|stream| stream.status() == StatusCode::OK));
    let refused = raw.get(None).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(other.get(None).await.status(), StatusCode::OK, "another session has its own");
    open.pop();
    assert_eq!(raw.get(None).await.status(), StatusCode::OK, "there is room again");
}

#[tokio::test]
async fn a_session_keeps_only_so_many_finished_streams() {
    let (service, _) = service();
    let raw = Raw::open(&service, NEWEST).await;
    let mut ids = Vec::new();
    for id in 0..65 {
        let mut events = Events::of(raw.call(id, "flood", json!({"times": 1, "size": 1})).await);
        assert!(events.message().await.is_some());
        ids.push(events.last.clone().unwrap());
        events.rest().await;
    }
    assert_eq!(raw.get(Some(&ids[0])).await.status(), StatusCode::BAD_REQUEST, "the oldest is forgotten");
    for id in [&ids[1], &ids[64]] {
        assert_eq!(raw.get(Some(id)).await.status(), StatusCode::OK);
    }
}

#[tokio::test(start_paused = true)]
async fn the_sessions_of_a_peer_are_counted_at_all_servers_together() {
    async fn by_name(connecting: ConnectRequest) -> Result<Admit, Refuse> {
        let name = connecting.headers().get("x-user").and_then(|name| name.to_str().ok());
        Ok(Admit::as_principal(name.ok_or(Refuse::forbidden("no user"))?))
    }
    let memory = Arc::new(MemoryStore::new());
    let idle = 90 * SECOND;
    let [one, two] = [0, 1].map(|_| {
        let store = FaultyStore::new(&memory);
        let service = builder(&Gate::new()).on_connect(by_name).store(store).http().unwrap();
        service.max_sessions(100, 3).session_idle(idle)
    });
    let user = |name: &str| vec![("x-user", name.to_owned())];
    let refused = async |service: &HttpService| {
        let raw =
            Raw { service: service.clone(), session: String::new(), version: NEWEST, headers: user("ann") };
        raw.post(&initialize(NEWEST)).await.status()
    };
    let first = Raw::open_with(&one, NEWEST, user("ann")).await;
    let second = Raw::open_with(&one, NEWEST, user("ann")).await;
    let third = Raw::open_with(&two, NEWEST, user("ann")).await;
    for service in [&one, &two] {
        assert_eq!(refused(service).await, StatusCode::SERVICE_UNAVAILABLE);
    }
    Raw::open_with(&two, NEWEST, user("bob")).await;
    // A session that ends makes room, also if another server ends it.
    let second = Raw { service: two.clone(), ..second };
    assert!(second.delete().await.status().is_success());
    sleep(SECOND).await;
    let fourth = Raw::open_with(&two, NEWEST, user("ann")).await;
    assert_eq!(refused(&one).await, StatusCode::SERVICE_UNAVAILABLE);
    // Sessions that are used at any server are counted for as long as they live.
    let elsewhere = [Raw { service: two, ..first }, third, Raw { service: one.clone(), ..fourth }];
    for _ in 0..20 {
        sleep(idle / 4).await;
        for session in &elsewhere {
            session.ask("ping", json!({})).await;
        }
    }
    assert_eq!(refused(&one).await, StatusCode::SERVICE_UNAVAILABLE);
    // Those that expire are not.
    sleep(2 * idle).await;
    Raw::open_with(&one, NEWEST, user("ann")).await;
}
