//! What do replicas keep, and what is lost when one takes over?

use std::time::Duration;

use toolway_redis::{Durability, Redis};
use toolway_store::{Operation, Outcome, Step, Store, StoreFailure};

use crate::beds::Pair;
use crate::proxy::Mode;
use crate::server::{Server, eventually, is_missing};
use crate::steps::{append, claim, connect, done, failure, log, patient, put};

#[tokio::test]
async fn a_tail_that_a_promotion_lost_is_written_again() {
    if is_missing() {
        return;
    }
    let mut pair = Pair::start().await;
    let store = connect(pair.primary.url()).await;
    done(&store, &Step::new().then(append(1..=5))).await;
    let acknowledged: u32 = pair.primary.query(&["EXISTS", "tw1:{group}l/log"]).await;
    assert_eq!(acknowledged, 1);
    eventually("the replica has the entries", async || {
        pair.replica.query::<bool>(&["EXISTS", "tw1:{group}l/log"]).await
    })
    .await;
    pair.proxy.set(Mode::Blackhole);
    done(&store, &Step::new().then(append(6..=7))).await;
    pair.promote().await;
    let promoted = connect(pair.primary.url()).await;
    let next = Step::new().then(append(8..=8));
    assert_eq!(promoted.run("group", &next).await.unwrap(), Outcome::Behind { operation: 0, last: 5 });
    for _ in 0..2 {
        // A repeat changes nothing.
        done(&promoted, &Step::new().then(append(6..=8))).await;
    }
    let numbers: Vec<_> =
        log(&promoted).await.unwrap().entries.into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_replicated_change_needs_its_replica() {
    if is_missing() {
        return;
    }
    let Pair { primary, proxy, replica } = Pair::start().await;
    let store = patient(primary.url())
        .durability(Durability::Replicated(1))
        .timeout(Duration::from_secs(2))
        .connect()
        .await
        .unwrap();
    done(&store, &put("key", "value")).await;
    assert!(
        replica.query::<bool>(&["EXISTS", "tw1:{group}v/key"]).await,
        "the replica had it before the reply"
    );
    proxy.set(Mode::Blackhole);
    assert_eq!(failure(&store, &claim("id", "node")).await, StoreFailure::Unknown);
    // A claim that is taken back must not be there again after a fail-over.
    let leave = Operation::Leave { map: "claims".into(), key: "id".into(), value: Some("other".into()) };
    assert_eq!(failure(&store, &Step::new().then(leave)).await, StoreFailure::Unknown);
    // Entries of a log are written again by their writer, so they wait for nothing.
    done(&store, &Step::new().then(append(1..=1))).await;
    // Neither does a step that changes nothing.
    let refused = store.run("group", &claim("id", "other")).await.unwrap();
    assert_eq!(refused, Outcome::Refused { condition: 0, holder: Some("node".into()) });
    proxy.set(Mode::Pass);
    proxy.cut();
    eventually("the replica is back", async || store.run("group", &claim("id", "node")).await.is_ok()).await;
}

#[tokio::test]
async fn nothing_is_claimed_while_there_are_two_primaries() {
    if is_missing() {
        return;
    }
    let Pair { primary, proxy, replica } = Pair::start().await;
    let connect = async |url| {
        patient(url).durability(Durability::Replicated(1)).timeout(SHORT).connect().await.unwrap()
    };
    let former = connect(primary.url()).await;
    done(&former, &put("key", "value")).await;
    proxy.set(Mode::Blackhole);
    let (): () = replica.query(&["REPLICAOF", "NO", "ONE"]).await;
    let promoted = connect(replica.url()).await;
    for (store, node) in [(&former, "one"), (&promoted, "two")] {
        assert_eq!(failure(store, &claim("id", node)).await, StoreFailure::Unknown, "{node}");
    }
    // The two become one again, and what only the former primary has is gone.
    let (): () = primary.query(&["REPLICAOF", "127.0.0.1", &replica.port.to_string()]).await;
    let free =
        async || promoted.run("group", &claim("id", "two")).await.is_ok_and(|outcome| is_done(&outcome));
    eventually("the claim of the promoted server is confirmed", free).await;
    assert_eq!(failure(&former, &claim("id", "one")).await, StoreFailure::NotDone, "it is a replica now");
}

#[tokio::test]
async fn a_step_that_was_given_up_is_not_done_later() {
    if is_missing() {
        return;
    }
    let pair = Pair::start().await;
    let store =
        Redis::builder(pair.primary.url()).durability(Durability::Replicated(1)).connect().await.unwrap();
    pair.proxy.set(Mode::Blackhole);
    let mut claims = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = store.clone();
        claims.spawn(async move {
            let key = format!("id {number}");
            store.run("group", &claim(&key, "node")).await.expect_err("no replica has it");
            let leave =
                Operation::Leave { map: "claims".into(), key: key.into(), value: Some("node".into()) };
            // It is written, and cannot be confirmed either.
            let leave = Step::new().then(leave);
            while failure(&store, &leave).await == StoreFailure::NotDone {
                tokio::task::yield_now().await;
            }
        });
    }
    claims.join_all().await;
    pair.proxy.set(Mode::Pass);
    pair.proxy.cut();
    // Each connection has done what was sent to it before.
    for _ in 0..8 {
        eventually("the replica is back", async || store.run("group", &put("key", "value")).await.is_ok())
            .await;
    }
    let entries: Vec<String> = pair.primary.query(&["HKEYS", "tw1:{group}m/claims"]).await;
    assert_eq!(entries, [""; 0]);
}

#[tokio::test]
async fn a_synced_change_is_on_the_disk_where_the_server_can_tell() {
    if is_missing() {
        return;
    }
    let server = Server::start_durable();
    let connect = async || patient(server.url()).durability(Durability::Synced(0)).connect().await;
    if server.try_query::<redis::Value>(&["WAITAOF", "0", "0", "1"]).await.is_err() {
        assert_eq!(connect().await.unwrap_err().setting(), "durability");
        return;
    }
    let store = connect().await.unwrap();
    done(&store, &put("key", "value")).await;
    let (): () = server.query(&["CONFIG", "SET", "appendonly", "no"]).await;
    assert_eq!(connect().await.unwrap_err().setting(), "appendonly");
}

fn is_done(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Done(_))
}

/// How long a claim waits for a replica that is cut off.
const SHORT: Duration = Duration::from_secs(2);
