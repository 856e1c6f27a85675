//! Are three servers with one Redis one server to their clients, while they are killed or frozen, Redis fails, or their clocks
//! differ?
//!
//! Nodes are real processes, and each request of a client goes to another node, chosen by a seed. Clients of all revisions
//! make calls, follow streams and resume them, answer questions, cancel, subscribe, send copies of requests, and delete
//! their sessions. Everything is written down, and one checker judges afterwards.
//!
//! `SEED=7 cargo test -p toolway-redis --test nodes` chooses other conversations, and `TOOLWAY_ROUNDS=full` kills 200 times
//! instead of 3. The files of a run that failed are kept, and the failure names them; `TOOLWAY_KEEP_HISTORY` keeps all files.
//!
//! | file | question |
//! |---|---|
//! | `fixture/` | Which server is killed? |
//! | `cluster.rs` | How are nodes started, chosen for a request, and killed? |
//! | `http.rs` | How do requests and event streams look on the wire? |
//! | `client.rs` | How does a client make requests, and follow a call to its end? |
//! | `conversation.rs` | What do clients do? |
//! | `history.rs` | What is written down? |
//! | `legacy.rs` | How does a client of 2024-11-05 talk? |
//! | `listen.rs` | How does a client without a session learn of changes? |
//! | `failovers.rs` | What do clients see while Redis fails over to a replica, or cannot reach it? |
//! | `checker.rs` | Did a run keep every promise? |
//! | `attached.rs` | Which streams are bound to their nodes, and may they end? |
//! | `doubts.rs` | What may the store have forgotten, and when could it accept no change? |
//! | `mistakes.rs`, `mistakes_of_outages.rs` | Does the checker find mistakes of each kind? |

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "the numbers of a run are part of the result")]

mod attached;
#[path = "../redis/beds.rs"]
mod beds;
mod checker;
mod client;
mod cluster;
mod conversation;
mod doubts;
#[path = "../redis/events.rs"]
mod events;
mod failovers;
mod history;
mod http;
mod legacy;
mod listen;
mod mistakes;
mod mistakes_of_outages;
#[path = "../redis/proxy.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod proxy;
mod random;
#[path = "../redis/server.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod server;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::checker::Verdict;
use crate::cluster::{Cluster, NODES, StoreAddress};
use crate::history::Fact;
use crate::random::Random;
use crate::server::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_has_one_end_although_nodes_are_killed() {
    if server::is_missing() {
        return;
    }
    let store = Server::start(&[]);
    let (sessions, kills) = if is_full() { (200, 200) } else { (40, 3) };
    let verdict = run("kills", store.url(), sessions, async |cluster, mut random| {
        for _ in 0..kills {
            cluster.wait_for_steps(sessions / 2 + random.below(40) as u64).await;
            cluster.kill(random.below(cluster.nodes.len())).await;
        }
    })
    .await;
    assert!(verdict.lost > 0 && verdict.slowest > 0, "{verdict:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_has_one_end_although_redis_is_killed() {
    if server::is_missing() {
        return;
    }
    // What the operating system has survives a server that is killed. Waiting for the disk would make it slow.
    let mut store = Server::start(&["--appendonly", "yes", "--appendfsync", "no"]);
    let (sessions, kills) = if is_full() { (100, 200) } else { (20, 2) };
    run("restarts", store.url(), sessions, async |cluster, mut random| {
        for _ in 0..kills {
            cluster.wait_for_steps_in_sessions(sessions / 2 + random.below(20) as u64).await;
            cluster.history.write(Fact::StoreKilled);
            tokio::task::block_in_place(|| {
                store.kill();
                store.start_again();
            });
            cluster.history.write(Fact::StoreListening);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_frozen_does_not_answer_again() {
    if server::is_missing() {
        return;
    }
    let store = Server::start(&[]);
    let (sessions, times) = if is_full() { (100, 10) } else { (20, 1) };
    let verdict = run("freezes", store.url(), sessions, async |cluster, mut random| {
        for _ in 0..times {
            cluster.wait_for_steps(sessions / 2 + random.below(20) as u64).await;
            // Otherwise nothing might be lost.
            let number = cluster.wait_for_calls().await;
            cluster.freeze(number, FROZEN).await;
        }
    })
    .await;
    // Calls that had not begun are not lost, but made elsewhere.
    assert!(verdict.slowest > 0 || verdict.broken > 0, "{verdict:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_are_one_server_although_their_clocks_are_an_hour_apart() {
    if server::is_missing() || is_clock_library_missing() {
        return;
    }
    let store = Server::start(&[]);
    let (sessions, steps) = if is_full() { (100, 5000) } else { (20, 200) };
    let verdict = run_with_clocks("clocks", store.url(), CLOCKS, sessions, async |cluster, _| {
        cluster.wait_for_steps(steps).await;
    })
    .await;
    assert_eq!([verdict.lost, verdict.broken, verdict.broken_off], [0; 3], "{verdict:?}");
}

/// Returns whether nodes cannot have other clocks than this machine, and says so.
fn is_clock_library_missing() -> bool {
    let is_missing = cluster::clock_library().is_none();
    let text =
        "libfaketime was not found, so no test ran with nodes whose clocks differ: apt-get install faketime";
    assert!(!is_missing || std::env::var_os("TOOLWAY_REQUIRE_REDIS").is_none(), "{text}");
    if is_missing {
        std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
    }
    is_missing
}

/// Lets clients talk to nodes while something happens to them, and judges.
async fn run(
    name: &str,
    store: impl Into<StoreAddress>,
    sessions: u64,
    nemesis: impl AsyncFnOnce(&Arc<Cluster>, Random),
) -> Verdict {
    run_with_clocks(name, store, [0; NODES], sessions, nemesis).await
}

async fn run_with_clocks(
    name: &str,
    store: impl Into<StoreAddress>,
    clocks: [i32; NODES],
    sessions: u64,
    nemesis: impl AsyncFnOnce(&Arc<Cluster>, Random),
) -> Verdict {
    let store = store.into();
    let is_forgetful = store.is_forgetful;
    let seed = std::env::var("SEED").map_or(20_260_728, |seed| seed.parse().unwrap());
    let cluster = Arc::new(Cluster::start(name, store, clocks).await);
    let mut clients = JoinSet::new();
    for number in 0..sessions {
        clients.spawn(conversation::converse(cluster.clone(), seed, usize::try_from(number).unwrap()));
    }
    nemesis(&cluster, Random::new(seed, u64::from(u32::MAX))).await;
    cluster.finish();
    while let Some(ended) = clients.join_next().await {
        ended.unwrap();
    }
    let verdict = checker::judge(&cluster.history.read(), &cluster.history.read_journal(&cluster.journal()));
    println!("{name}, SEED={seed}: {verdict:#?}");
    let path = cluster.history.path.clone();
    let has_failed = !verdict.mistakes.is_empty();
    let keeps_files = has_failed || std::env::var_os("TOOLWAY_KEEP_HISTORY").is_some();
    let cluster = Arc::into_inner(cluster).expect("no client is left");
    cluster.stop(keeps_files).await;
    assert!(!has_failed, "SEED={seed}, {}: {:#?}", path.display(), verdict.mistakes);
    // Otherwise the run would have shown nothing.
    // A call whose session is lost cannot be refused for its id, so there may be no such attempt.
    let refused = if is_forgetful { verdict.results } else { verdict.refused };
    let calls = [verdict.results, verdict.cancelled, refused, verdict.resumed];
    let sessions = [verdict.news, verdict.deleted, verdict.intrusions];
    assert!(calls.iter().chain(&sessions).all(|number| *number > 0), "{verdict:?}");
    verdict
}

/// Returns whether the run is the long one, by hand.
fn is_full() -> bool {
    std::env::var_os("TOOLWAY_ROUNDS").is_some_and(|rounds| rounds == "full")
}

/// How many seconds the clocks of the nodes are ahead.
const CLOCKS: [i32; NODES] = [1800, 0, -1800];
/// How long a node is frozen. The others take it for dead after ten seconds.
const FROZEN: Duration = Duration::from_secs(20);
