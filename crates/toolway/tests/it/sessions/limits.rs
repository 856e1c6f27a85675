//! When does a session expire, and how much may it hold?

use http::StatusCode;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::stage::{FOR_EVER, SECOND, builder, ping, server, service, text};
use super::{NEWEST, Steps as Gate};
use crate::raw_http::{Events, Raw};

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
