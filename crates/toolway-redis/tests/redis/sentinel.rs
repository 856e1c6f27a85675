//! Does the store follow the primary that Sentinel names?

use toolway_store::Store;

use crate::beds::Watched;
use crate::server::{PATIENCE, eventually, is_missing};
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
    store.publish("channel", "after".into()).await.unwrap();
    let message = tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap();
    assert_eq!(message.unwrap(), "after");
    watched.wait_until_in_step().await;
    assert!(watched.replica.query::<bool>(&["EXISTS", "tw1:{group}v/new"]).await, "it has joined again");
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
