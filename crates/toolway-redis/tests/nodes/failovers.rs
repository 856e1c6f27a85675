//! What do clients see while Redis fails over to a replica, cannot reach it, or loses its data?
//!
//! | test | durability | what is forgotten |
//! |---|---|---|
//! | Sentinel promotes the replica | `Replicated(1)` | events of streams, which their writers write again |
//! | a replica that is behind is promoted | `Written` | everything since it was cut off, except what writers have |
//! | the replica is cut off | `Replicated(1)` | nothing |
//! | Redis without a file is killed | `Written` | everything, except what writers have |

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use crate::beds::{Pair, Watched};
use crate::client::{Client, Habit, PATIENCE};
use crate::cluster::StoreAddress;
use crate::history::Fact;
use crate::proxy::{Mode, Proxy};
use crate::server::Server;
use crate::{is_full, run, server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_has_one_end_although_sentinel_promotes_a_replica() {
    if server::is_missing() {
        return;
    }
    let mut watched = Watched::start().await;
    let store = StoreAddress { url: watched.url("main"), replicas: 1, is_forgetful: false };
    let (sessions, times) = if is_full() { (100, 20) } else { (20, 1) };
    run("sentinel", store, sessions, async |cluster, mut random| {
        for _ in 0..times {
            cluster.wait_for_steps_in_sessions(sessions / 2 + random.below(20) as u64).await;
            cluster.history.write(Fact::StoreKilled);
            watched.fail_over().await;
            // The new primary confirms nothing before it has a replica.
            watched.wait_until_in_step().await;
            cluster.history.write(Fact::StoreListening);
        }
        cluster.wait_for_steps_in_sessions(sessions / 2).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_a_promotion_lost_are_written_again() {
    if server::is_missing() {
        return;
    }
    let mut pair = Pair::start().await;
    let front = Proxy::start(pair.primary.port).await;
    let (sessions, times) = if is_full() { (100, 50) } else { (20, 2) };
    let store = StoreAddress { url: front.url(), replicas: 0, is_forgetful: true };
    run("promotions", store, sessions, async |cluster, mut random| {
        for _ in 0..times {
            cluster.wait_for_steps(sessions * 2 + random.below(20) as u64).await;
            pair.wait_until_in_step().await;
            cluster.history.write(Fact::StoreBehind);
            cluster.doubts.fetch_add(1, Ordering::AcqRel);
            pair.proxy.set(Mode::Blackhole);
            // A replica that lags for longer does not know which nodes live.
            let steps = cluster.wait_for_steps(1 + random.below(20) as u64);
            _ = tokio::time::timeout(LAG, steps).await;
            pair.promote().await;
            front.lead_to(pair.primary.port);
            cluster.doubts.fetch_add(1, Ordering::AcqRel);
            cluster.history.write(Fact::StorePromoted);
        }
        cluster.wait_for_steps(sessions).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_begin_anew_when_redis_has_lost_its_data() {
    if server::is_missing() {
        return;
    }
    let mut store = Server::start(&[]);
    let (sessions, times) = if is_full() { (100, 50) } else { (20, 2) };
    let address = StoreAddress { url: store.url(), replicas: 0, is_forgetful: true };
    let verdict = run("losses", address, sessions, async |cluster, mut random| {
        for _ in 0..times {
            // Everything up to the kill may be forgotten.
            cluster.history.write(Fact::StoreBehind);
            cluster.doubts.fetch_add(1, Ordering::AcqRel);
            cluster.wait_for_steps_in_sessions(sessions + random.below(20) as u64).await;
            tokio::task::block_in_place(|| {
                store.kill();
                store.start_again();
            });
            cluster.doubts.fetch_add(1, Ordering::AcqRel);
            cluster.history.write(Fact::StorePromoted);
        }
        cluster.wait_for_steps_in_sessions(sessions * 3).await;
    })
    .await;
    assert!(verdict.gone > 0, "{verdict:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_begins_while_the_primary_cannot_reach_its_replica() {
    if server::is_missing() {
        return;
    }
    let pair = Pair::start().await;
    let store = StoreAddress { url: pair.primary.url(), replicas: 1, is_forgetful: false };
    let (sessions, times) = if is_full() { (100, 20) } else { (20, 1) };
    let verdict = run("partitions", store, sessions, async |cluster, mut random| {
        let number = usize::try_from(sessions).unwrap();
        let witness = Client::open(cluster, number, 0, NEWEST_WITH_SESSIONS, random.clone()).await;
        for _ in 0..times {
            cluster.wait_for_steps_in_sessions(sessions / 2 + random.below(20) as u64).await;
            let call = witness.call("tell", json!({"steps": WITNESSED}), Habit::Reads);
            let isolate = async {
                // The handler begins before.
                let told = tokio::time::timeout(PATIENCE, call.told());
                assert!(told.await.is_ok(), "the call has not begun");
                cluster.history.write(Fact::StoreApart);
                pair.proxy.set(Mode::Blackhole);
                tokio::time::sleep(APART).await;
                pair.proxy.set(Mode::Pass);
                pair.proxy.cut();
                cluster.history.write(Fact::StoreTogether);
            };
            tokio::join!(witness.make(&call), isolate);
        }
        cluster.wait_for_steps_in_sessions(sessions / 2).await;
    })
    .await;
    assert!(verdict.told_apart > 0 && verdict.recovery.is_some(), "{verdict:?}");
}

/// How long a replica is behind at most. The marks of the nodes last for ten seconds, and are renewed every three.
const LAG: Duration = Duration::from_secs(3);
/// How long a primary is alone.
const APART: Duration = Duration::from_secs(6);
/// How often a handler reports its progress that runs meanwhile: every 60 milliseconds.
const WITNESSED: u32 = 120;
const NEWEST_WITH_SESSIONS: &str = "2025-11-25";
