//! What does a caller hear when the network fails, and what is sent again?

use std::time::Duration;

use toolway_redis::Redis;
use toolway_store::{Append, Outcome, Step, Store, StoreFailure};

use crate::proxy::{Mode, Proxy};
use crate::server::{PATIENCE, Server, eventually, is_missing};
use crate::steps::{append, claim, connect, done, failure, get, log, patient, put, unnumbered};

/// A store behind a proxy, and one that is not.
async fn behind_proxy() -> (Server, Proxy, Redis, Redis) {
    let server = Server::start(&[]);
    let proxy = Proxy::start(server.port).await;
    let (store, direct) = (connect(proxy.url()).await, connect(server.url()).await);
    (server, proxy, store, direct)
}

/// Loses the reply to one step, and lets everything pass as soon as the server has done it.
async fn lose_reply(proxy: &Proxy, direct: &Redis, is_done: impl AsyncFn(&Redis) -> bool) {
    eventually("the step is done", async || is_done(direct).await).await;
    proxy.set(Mode::Pass);
}

#[tokio::test]
async fn a_step_that_must_not_be_repeated_is_unknown_when_its_reply_is_lost() {
    if is_missing() {
        return;
    }
    let (_server, proxy, store, direct) = behind_proxy().await;
    proxy.set(Mode::LoseReply);
    let step = unnumbered();
    let (failure, ()) = tokio::join!(
        failure(&store, &step),
        lose_reply(&proxy, &direct, async |direct| log(direct).await.is_some())
    );
    assert_eq!(failure, StoreFailure::Unknown);
    assert_eq!(log(&store).await.unwrap().last, 1, "it was done once");
}

#[tokio::test]
async fn a_step_that_may_be_repeated_is_done_though_its_reply_is_lost() {
    if is_missing() {
        return;
    }
    let (_server, proxy, store, direct) = behind_proxy().await;
    proxy.set(Mode::LoseReply);
    let mut step = claim("id", "node");
    step.operations.push(append(1..=2).into());
    let (outcome, ()) = tokio::join!(
        store.run("group", &step),
        lose_reply(&proxy, &direct, async |direct| log(direct).await.is_some())
    );
    assert!(matches!(outcome, Ok(Outcome::Done(_))), "{outcome:?}");
    assert_eq!(log(&store).await.unwrap().last, 2);
}

#[tokio::test]
async fn a_repeat_that_meets_its_own_change_is_unknown_and_not_refused() {
    if is_missing() {
        return;
    }
    let (_server, proxy, store, direct) = behind_proxy().await;
    proxy.set(Mode::LoseReply);
    let step = put("key", "mine").when(toolway_store::Condition::Absent("key".into()));
    let (failure, ()) = tokio::join!(
        failure(&store, &step),
        lose_reply(&proxy, &direct, async |direct| get(direct, "key").await.unwrap().is_some())
    );
    assert_eq!(failure, StoreFailure::Unknown);
}

#[tokio::test]
async fn a_blackhole_ends_at_the_time_limit_and_later_at_once() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let proxy = Proxy::start(server.port).await;
    let store = patient(proxy.url()).timeout(Duration::from_millis(200)).connect().await.unwrap();
    proxy.set(Mode::Blackhole);
    let all = async {
        assert_eq!(failure(&store, &put("key", "value")).await, StoreFailure::Unknown);
        eventually("steps fail without being sent", async || {
            let error = store.run("group", &unnumbered()).await.unwrap_err();
            error.failure() == StoreFailure::NotDone && error.to_string().contains("several times in a row")
        })
        .await;
    };
    tokio::time::timeout(PATIENCE, all).await.expect("no step may wait for ever");
    proxy.set(Mode::Pass);
    eventually("a probe has connected", async || get(&store, "key").await.is_ok()).await;
    done(&store, &put("key", "value")).await;
}

#[tokio::test]
async fn many_steps_during_an_outage_are_all_done_or_refused() {
    if is_missing() {
        return;
    }
    let (_server, proxy, store, direct) = behind_proxy().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200 {
        let store = store.clone();
        tasks.spawn(async move {
            let name = format!("log {number}");
            let step = Step::new().then(Append { log: name.clone().into(), ..append(1..=1) });
            store.run("group", &step).await.map(|outcome| (name, outcome))
        });
    }
    tokio::task::yield_now().await;
    proxy.cut();
    while let Some(result) = tasks.join_next().await {
        let (name, outcome) = result.unwrap().expect("a step that may be repeated is done within 5 s");
        assert!(matches!(outcome, Outcome::Done(_)));
        let again = Step::new().then(Append { log: name.into(), ..append(2..=2) });
        done(&direct, &again).await;
    }
}

#[tokio::test]
async fn too_many_steps_at_once_are_refused() {
    if is_missing() {
        return;
    }
    let (_server, proxy, store, _direct) = behind_proxy().await;
    proxy.set(Mode::Blackhole);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..=4096 {
        let store = store.clone();
        tasks.spawn(async move { store.run("group", &put("key", "value")).await });
    }
    // All others wait for a reply.
    let refused = tasks.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(refused.failure(), StoreFailure::NotDone);
    assert!(refused.to_string().contains("4096 commands"), "{refused}");
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    proxy.set(Mode::Pass);
    proxy.cut();
    eventually("the store works again", async || get(&store, "key").await.is_ok()).await;
}
