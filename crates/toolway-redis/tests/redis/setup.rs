//! Does opening a store say which setting is wrong?

use std::fmt::Write;
use std::time::Duration;

use toolway_redis::{Durability, Redis, SetupError};
use toolway_store::{Operation, Step, Store, StoreFailure};

use crate::cluster::Nodes;
use crate::server::{Server, is_missing};
use crate::steps::{append, claim, connect, done, failure, get, patient, put};

async fn refused(url: &str) -> SetupError {
    let error = patient(url).connect().await.unwrap_err();
    let mut texts = format!("{error} {error:?}");
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        write!(texts, "{cause} {cause:?}").unwrap();
        source = cause.source();
    }
    assert!(!texts.contains("hunter2") && !texts.contains("alice"), "credentials must not be shown: {texts}");
    error
}

#[tokio::test]
async fn wrong_settings_of_the_program_are_named() {
    for (setting, builder) in [
        ("prefix", Redis::builder("redis://h").prefix("a{b}")),
        ("prefix", Redis::builder("redis://h").prefix("")),
        ("timeout", Redis::builder("redis://h").timeout(Duration::ZERO)),
        ("durability", Redis::builder("redis://h").durability(Durability::Replicated(0))),
        ("url", Redis::builder("memcached://h")),
    ] {
        assert_eq!(builder.connect().await.unwrap_err().setting(), setting);
    }
    let builder = Redis::builder("redis://alice:hunter2@h");
    let shown = format!("{builder:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("alice"), "{shown}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let error = refused("redis://alice:hunter2@127.0.0.1:1").await;
    assert_eq!(error.setting(), "url");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn wrong_settings_of_the_server_are_named() {
    if is_missing() {
        return;
    }
    let server = Server::start(&["--maxmemory-policy", "allkeys-lru"]);
    let error = refused(&server.url()).await;
    assert_eq!(error.setting(), "maxmemory-policy");
    assert!(error.to_string().contains("maxmemory-policy noeviction"), "{error}");
    let (): () = server.query(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    connect(server.url()).await;
    let error = refused(&server.url().replace("redis://", "redis+cluster://")).await;
    assert!(error.to_string().contains("write redis://"), "{error}");
    let (): () = server.query(&["SET", "tw1:{c}format", "2"]).await;
    let error = refused(&server.url()).await;
    assert_eq!(error.setting(), "prefix");
    assert!(error.to_string().contains("format \"2\""), "{error}");
}

#[tokio::test]
async fn a_node_of_a_cluster_is_not_a_single_server() {
    if is_missing() {
        return;
    }
    let nodes = Nodes::start(1).await;
    let error = refused(&nodes.servers[0].url()).await;
    assert!(error.to_string().contains("redis+cluster://"), "{error}");
}

#[tokio::test]
async fn a_user_with_the_documented_rights_can_do_everything_and_others_are_refused() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let users: [&[&str]; 3] = [
        &[
            "alice",
            "on",
            ">hunter2",
            "~tw1:*",
            "resetchannels",
            "&tw1:*",
            "+@all",
            "-@admin",
            "-@dangerous",
            "+info",
        ],
        &["mute", "on", ">hunter2", "~tw1:*", "resetchannels", "+@all"],
        &["blind", "on", ">hunter2", "~tw1:*", "resetchannels", "&tw1:*", "+@all", "-@scripting"],
    ];
    for user in users {
        let (): () = server.query(&[&["ACL", "SETUSER"], user].concat()).await;
    }
    let (): () = server.query(&["ACL", "SETUSER", "default", "nopass", "+@all"]).await;
    let url = |login: &str| server.url().replace("redis://", &format!("redis://{login}@"));
    for login in ["alice:wrong", "nobody:hunter2"] {
        let error = refused(&url(login)).await;
        assert_eq!(error.setting(), "user", "{error}");
    }
    let error = refused(&url("mute:hunter2")).await;
    assert_eq!(error.setting(), "user");
    assert!(error.to_string().contains("&tw1:*"), "{error}");
    let error = refused(&url("blind:hunter2")).await;
    assert_eq!(error.setting(), "user");

    let store = connect(url("alice:hunter2")).await;
    let shown = format!("{store:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("alice"), "{shown}");
    let mut subscription = store.subscribe("channel").await.unwrap();
    let mut step = claim("id", "node");
    step.operations.push(append(1..=2).into());
    step.operations.push(Operation::Publish { channel: "channel".into(), message: "hello".into() });
    done(&store, &step).await;
    done(&store, &put("key", "value")).await;
    done(&store, &Step::new().then(Operation::Clear("claims".into()))).await;
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "value");
    assert_eq!(subscription.next().await.unwrap(), "hello");
    store.publish("channel", "again".into()).await.unwrap();
    assert_eq!(subscription.next().await.unwrap(), "again");
    // A right that is taken away while the store is open.
    let (): () = server.query(&["ACL", "SETUSER", "alice", "-@scripting"]).await;
    assert_eq!(failure(&store, &put("key", "new")).await, StoreFailure::Broken);
}

#[tokio::test]
async fn a_password_is_needed_where_one_is_set() {
    if is_missing() {
        return;
    }
    let server = Server::start(&["--requirepass", "hunter2"]);
    assert_eq!(refused(&server.url()).await.setting(), "user");
    let store = connect(server.url().replace("redis://", "redis://:hunter2@")).await;
    done(&store, &put("key", "value")).await;
}

#[tokio::test]
async fn databases_are_separate() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let (zero, one) = (connect(server.url()).await, connect(server.url() + "/1").await);
    done(&one, &put("key", "value")).await;
    assert_eq!(get(&zero, "key").await.unwrap(), None);
}
