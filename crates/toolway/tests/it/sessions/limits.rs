//! When does a session expire, and how much may it hold?

use http::StatusCode;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::stage::{FOR_EVER, SECOND, ping, server, service, text};
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
