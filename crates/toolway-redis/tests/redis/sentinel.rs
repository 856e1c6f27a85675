//! Does the store follow the primary that Sentinel names?

use toolway_store::Store;

use crate::beds::Watched;
use crate::fake_sentinel::{FakeSentinel, View};
use crate::server::{PATIENCE, Server, eventually, is_missing};
use crate::steps::{connect, done, get, patient, put};

#[tokio::test]
async fn the_store_follows_a_fail_over() {
    if is_missing() {
        return;
    }
    let mut watched = Watched::start().await;
    let store = connect(watched.url("main")).await;
    let mut subscription = store.subscribe("channel").await.unwrap();
    done(&store, &put("key", "value")).await;
    eventually("the replica has the value", async || {
        watched.replica.query::<bool>(&["EXISTS", "tw1:{group}v/key"]).await
    })
    .await;
    let losses = store.losses();
    watched.fail_over().await;
    eventually("the store has followed", async || store.run("group", &put("new", "value")).await.is_ok())
        .await;
    assert!(store.losses() > losses, "the new primary may not have everything");
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "value");
    let gap = tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap();
    assert_eq!(gap, None);
    // The connection for messages may be opened once more, which is one more gap. What is published meanwhile is missed.
    let mut message = None;
    while message.is_none() {
        store.publish("channel", "after".into()).await.unwrap();
        message = tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap();
    }
    assert_eq!(message.unwrap(), "after");
    watched.wait_until_in_step().await;
    assert!(watched.replica.query::<bool>(&["EXISTS", "tw1:{group}v/new"]).await, "it has joined again");
}

/// A former primary that lives on takes itself for the primary, and so do the Sentinels that have not heard of the fail-over.
#[tokio::test]
async fn the_store_does_not_go_back_to_a_former_primary() {
    if is_missing() {
        return;
    }
    let (former, primary) = (Server::start(&[]), Server::start(&[]));
    let before = View { port: former.port, epoch: 1 };
    let (informed, other) = (FakeSentinel::start(before).await, FakeSentinel::start(before).await);
    let url = format!("redis+sentinel://127.0.0.1:{},127.0.0.1:{}/main", informed.port, other.port);
    let store = connect(url).await;
    done(&store, &put("key", "value")).await;
    let losses = store.losses();
    informed.switch(View { port: primary.port, epoch: 2 });
    eventually("the store has followed", async || {
        done(&store, &put("key", "value")).await;
        primary.query::<bool>(&["EXISTS", "tw1:{group}v/key"]).await
    })
    .await;
    assert!(store.losses() > losses, "the new primary may not have everything");
    for number in 0..10 {
        let (): () = primary.query(&["CLIENT", "KILL", "TYPE", "normal"]).await;
        let key = format!("key {number}");
        done(&store, &put(&key, "value")).await;
        let name = format!("tw1:{{group}}v/{key}");
        assert!(primary.query::<bool>(&["EXISTS", &name]).await, "the store has gone back");
    }
}

/// Sentinels that an operator has set up anew count their epochs from the beginning.
#[tokio::test]
async fn sentinels_that_were_set_up_anew_are_believed() {
    if is_missing() {
        return;
    }
    let (mut former, primary) = (Server::start(&[]), Server::start(&[]));
    let sentinel = FakeSentinel::start(View { port: former.port, epoch: 7 }).await;
    let store = connect(format!("redis+sentinel://127.0.0.1:{}/main", sentinel.port)).await;
    done(&store, &put("key", "value")).await;
    sentinel.switch(View { port: primary.port, epoch: 0 });
    former.kill();
    eventually("the store has followed", async || store.run("group", &put("new", "value")).await.is_ok())
        .await;
    assert!(primary.query::<bool>(&["EXISTS", "tw1:{group}v/new"]).await);
}

#[tokio::test]
async fn a_name_that_no_sentinel_knows_is_refused() {
    if is_missing() {
        return;
    }
    let watched = Watched::start().await;
    let error = patient(watched.url("other")).connect().await.unwrap_err();
    assert_eq!(error.setting(), "url");
    assert!(error.to_string().contains("watches no primary of this name"), "{error}");
    let error = connect_to_sentinel(&watched).await;
    assert!(error.to_string().contains("redis+sentinel://"), "{error}");
}

async fn connect_to_sentinel(watched: &Watched) -> toolway_redis::SetupError {
    patient(watched.sentinels[0].url()).connect().await.unwrap_err()
}
