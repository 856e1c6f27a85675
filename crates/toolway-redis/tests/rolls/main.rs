//! Does no call fail while all servers are replaced, one after the other?
//!
//! Three nodes with one Redis are behind a real HAProxy, configured as the guide shows. Clients of all revisions, which are
//! Toolway's own, call tools and watch a resource. Each node gets SIGTERM, ends in its own time, and is started again. No call
//! may fail or run twice, no session may be lost, and all clients must still be told of changes.
//!
//! One roll replaces the nodes by those of the next format of the data, which run beside those of the former one. This needs
//! the feature `test-format`. `TOOLWAY_ROUNDS=full` makes 20 rolls under 500 clients.
//!
//! | file | question |
//! |---|---|
//! | `balancer.rs` | How do requests get to the nodes? |
//! | `nodes.rs` | How is a node started, and replaced? |
//! | `clients.rs` | What do clients do, and what do they notice? |

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod balancer;
mod clients;
#[path = "../redis/events.rs"]
mod events;
mod nodes;
#[path = "../nodes/random.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod random;
#[path = "../redis/server.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod server;

use std::time::Duration;

use crate::balancer::Balancer;
use crate::clients::Clients;
use crate::nodes::Nodes;
use crate::server::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_while_all_nodes_are_replaced() {
    if server::is_missing() || balancer::is_missing() {
        return;
    }
    let size = if is_full() { FULL } else { FEW };
    let store = Server::start(&[]);
    let mut nodes = Nodes::start(store.url(), size.lame_duck).await;
    let balancer = Balancer::start(&nodes.ports()).await;
    let clients = Clients::connect(&balancer.url(), size.clients, size.longest_pause).await;
    for roll in 1..=size.rolls {
        // The calls before and after are part of the roll.
        clients.wait_for_calls(size.clients).await;
        for number in 0..nodes.len() {
            if roll == size.changes_format {
                change_format(&mut nodes, &balancer, number).await;
            } else {
                nodes.replace(number).await;
            }
            balancer.wait_until_all_are_up().await;
        }
        clients.wait_for_calls(size.clients).await;
        clients.expect_news().await;
        println!("roll {roll}: {} calls, failed: {:#?}", clients.calls(), clients.failures());
    }
    let verdict = clients.finish(&nodes.journal()).await;
    println!("{} rolls of {} nodes, {} clients: {verdict:#?}", size.rolls, nodes.len(), size.clients);
    assert!(verdict.is_good(), "{verdict:#?}");
    balancer.stop().await;
    nodes.stop().await;
}

/// Replaces a node by one of the next format. The first one is replaced again by one of the former format and then by the
/// next, as if the operator had hesitated.
async fn change_format(nodes: &mut Nodes, balancer: &Balancer, number: usize) {
    nodes.use_next_format();
    nodes.replace(number).await;
    if number == 0 {
        balancer.wait_until_all_are_up().await;
        nodes.use_former_format();
        nodes.replace(number).await;
        balancer.wait_until_all_are_up().await;
        nodes.use_next_format();
        nodes.replace(number).await;
    }
}

/// How much is done.
#[derive(Clone, Copy)]
struct Size {
    rolls: usize,
    clients: usize,
    /// A client waits up to this long between two calls, so the mean is half of it.
    longest_pause: Duration,
    /// How long a node serves on when it is asked to stop. The balancer asks ten times a second, but a busy machine is late.
    lame_duck: Duration,
    changes_format: usize,
}

const FEW: Size = Size {
    rolls: 1,
    clients: 30,
    longest_pause: Duration::from_millis(600),
    lame_duck: Duration::from_secs(2),
    changes_format: 1,
};
/// 200 calls a second.
const FULL: Size = Size {
    rolls: 20,
    clients: 500,
    longest_pause: Duration::from_secs(5),
    lame_duck: Duration::from_secs(5),
    changes_format: 10,
};

/// Waits until something is true, and panics if it does not become true.
async fn eventually(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_true().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "it must become true that {what}");
}

/// Late is not failed: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// Returns whether the run is the long one, by hand.
fn is_full() -> bool {
    std::env::var_os("TOOLWAY_ROUNDS").is_some_and(|rounds| rounds == "full")
}
