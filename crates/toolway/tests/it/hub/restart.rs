//! What happens when a server disappears, and when it returns?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Mutex;
use toolway::agent::{FailureKind, ToolCall};
use toolway::client::{Connector, Target, Transport};
use toolway::hub::ServerState;
use toolway::prelude::*;
use toolway::{BoxFuture, Chain, Error, ErrorKind, ProtocolVersion};

use super::stage::{Web, child, echo, named, names, status, until, until_gone, until_ready};

fn quickly() -> toolway::hub::HubBuilder {
    Hub::builder().client(Client::builder().retries(0))
}

#[tokio::test]
async fn a_dead_server_takes_nothing_with_it() {
    let mut web = Web::start(&echo("web")).await;
    let hub = quickly().build().unwrap();
    hub.connect("web", web.url()).await.unwrap();
    hub.connect("here", &echo("here")).await.unwrap().connect("child", child("child")).await.unwrap();
    web.kill().await;
    let call = |id: &str, server: &str| ToolCall::new(id, format!("{server}__echo"), json!({"value": id}));
    let calls = [call("1", "web"), call("2", "here"), call("3", "child"), call("4", "web"), call("5", "no")];
    let answers = hub.call_all(calls).await;
    let ids: Vec<_> = answers.iter().map(|answer| &*answer.id).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    for index in [0, 3] {
        let failure = answers[index].result.as_ref().unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Unavailable, "{failure:?}");
        assert_eq!(
            failure.for_model(),
            "the tool `web__echo` is unavailable right now; go on without it or try again later"
        );
    }
    assert_eq!(answers[1].result.as_ref().unwrap().text(), "here:2");
    assert_eq!(answers[2].result.as_ref().unwrap().text(), "child:3");
    assert_eq!(answers[4].result.as_ref().unwrap_err().kind(), FailureKind::Unknown);
    until_gone(&hub, "web").await;
    assert_eq!(hub.tools().len(), 5, "its tools stay in the list");
    let error = hub.call("web__echo", json!({"value": "1"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error:?}");
}

#[tokio::test]
async fn a_server_over_http_comes_back_by_itself() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let mut web = Web::start(&echo("web")).await;
        let builder = Client::builder().retries(0).protocol(version);
        let hub = Hub::builder().client(builder).build().unwrap();
        hub.connect("web", web.url()).await.unwrap();
        let mut changes = hub.watch();
        web.kill().await;
        // In the older era, this is noticed only by the next request.
        let _ = hub.call("web__echo", json!({"value": "1"})).await.unwrap_err();
        until_gone(&hub, "web").await;
        let ServerState::Unavailable { error, next_try, .. } = status(&hub, "web").state else {
            unreachable!()
        };
        assert!(error.contains("connect"), "{error}");
        assert!(next_try.is_some());
        let other = Server::new("web", "2.0.0").tool(named("new")).build().unwrap();
        web.start_again(&other).await;
        until_ready(&hub, "web").await;
        assert_eq!(names(&hub), ["web__new"], "its list was read again");
        assert_eq!(hub.call("web__new", json!({})).await.unwrap().text().unwrap(), "new");
        assert!(changes.next().await.is_some());
        // Its notifications are received again.
        other.add_tool(named("later")).unwrap();
        until(&hub, |hub| hub.tools().get("web__later").is_some()).await;
    }
}

/// The restart is noticed without a call.
#[tokio::test]
async fn a_server_that_was_started_again_unnoticed_is_read_again() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let mut web = Web::start(&echo("web")).await;
        let hub = Hub::builder().client(Client::builder().protocol(version)).build().unwrap();
        hub.connect("web", web.url()).await.unwrap();
        // The server's stream for notifications must exist so that it can break.
        web.start_again(&Server::new("web", "2.0.0").tool(named("new")).build().unwrap()).await;
        until(&hub, |hub| names(hub) == ["web__new"]).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_child_that_is_killed_is_started_again() {
    let hub = Hub::new();
    hub.connect("child", child("child")).await.unwrap();
    let pid = async || hub.call("child__pid", json!({})).await.unwrap().decode::<i32>().unwrap();
    let first = pid().await;
    let mut changes = hub.watch();
    super::stage::kill(first);
    // It is noticed without a call.
    changes.next().await.unwrap();
    until_ready(&hub, "child").await;
    let second = pid().await;
    assert_ne!(first, second);
    assert_eq!(hub.call("child__echo", json!({"value": "1"})).await.unwrap().text().unwrap(), "child:1");
    // A call that comes before the end was noticed starts it, too.
    super::stage::kill(second);
    assert_eq!(
        hub.call("child__echo", json!({"value": "2"})).await.map_or_else(
            |error| {
                assert_eq!(error.kind(), ErrorKind::Transport, "it had got the call: {error:?}");
                "child:2".to_owned()
            },
            |said| said.text().unwrap()
        ),
        "child:2"
    );
    until_ready(&hub, "child").await;
    hub.close_all().await;
}

/// A connection to a server that is closed for now, and how often it was tried.
struct Door {
    open: Arc<Mutex<Option<Server>>>,
    tried: Arc<AtomicUsize>,
}

impl Connector for Door {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        Box::pin(async {
            self.tried.fetch_add(1, Ordering::SeqCst);
            match &*self.open.lock().await {
                Some(server) => server.connect().await,
                None => Err(Error::new(ErrorKind::Transport, "the door is closed").unsent()),
            }
        })
    }

    fn name(&self) -> String {
        "a door".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_comes_is_tried_for_ever_and_seldom() {
    let (open, tried) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
    let hub = Hub::new();
    hub.add("door", Target::new(Door { open: open.clone(), tried: tried.clone() })).unwrap();
    tokio::time::sleep(Duration::from_secs(25)).await;
    let first = tried.load(Ordering::SeqCst);
    assert!((5..=8).contains(&first), "{first} attempts in the first seconds");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let then = tried.load(Ordering::SeqCst) - first;
    assert!((60..=600).contains(&then), "{then} attempts in an hour");
    assert!(
        status(&hub, "door").to_string().ends_with(": failed to connect to a door: the door is closed"),
        "{hub:?}"
    );
    *open.lock().await = Some(echo("door"));
    tokio::time::sleep(Duration::from_secs(21)).await;
    assert!(status(&hub, "door").is_ready(), "{hub:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_want_to_wait_refreshes() {
    let (open, tried) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
    let hub = Hub::builder().attempts(1, Duration::from_secs(3600)).build().unwrap();
    hub.connect("other", &echo("other")).await.unwrap();
    hub.add("door", Target::new(Door { open: open.clone(), tried: tried.clone() })).unwrap();
    until_gone(&hub, "door").await;
    hub.refresh().await;
    assert_eq!(tried.load(Ordering::SeqCst), 2);
    assert!(status(&hub, "door").is_unavailable());
    *open.lock().await = Some(echo("door"));
    hub.refresh().await;
    assert!(status(&hub, "door").is_ready());
    assert_eq!(hub.call("door__echo", json!({"value": "1"})).await.unwrap().text().unwrap(), "door:1");
}

#[tokio::test]
async fn calls_of_a_server_that_is_left_alone_fail_at_once() {
    let mut web = Web::start(&echo("web")).await;
    // Each call would retry for long. The first attempt is the one that succeeded, the others find that it is gone.
    let hub = Hub::builder().attempts(3, Duration::from_secs(3600)).build().unwrap();
    hub.connect("web", web.url()).await.unwrap();
    web.kill().await;
    until_gone(&hub, "web").await;
    let error = hub.call("web__echo", json!({"value": "1"})).await.unwrap_err();
    let text = Chain(&error).to_string();
    assert!(
        text.starts_with(
            "the server `web` is unavailable: it was tried 3 times within 3600s and is not tried again for "
        ),
        "{text}"
    );
    web.start_again(&echo("web")).await;
    hub.refresh().await;
    assert_eq!(hub.call("web__echo", json!({"value": "1"})).await.unwrap().text().unwrap(), "web:1");
}
