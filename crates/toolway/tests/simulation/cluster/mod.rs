//! Three nodes share one store, and everything goes wrong that a seed decides: are they one server to every client?
//!
//! Clients send each request to a node that a balancer draws. Visits to the store fail, with and without effect, and take
//! long; the store is away for a while, or forgets what it confirmed last; messages are lost, doubled and swapped;
//! connections break; nodes are killed, frozen, stopped and started. The clients make calls and follow their streams from
//! node to node, send requests twice, cancel, answer, listen, end their sessions, and try what belongs to others. Then
//! nothing goes wrong any more, everything has to be concluded, and nothing may be left.
//!
//! `CLUSTER_SEED=17 cargo nextest run -p toolway --all-features --test simulation --no-capture` runs one seed and prints
//! its history. `SEEDS=100` sets how many run; there are 300 by default, and 20,000 with `TOOLWAY_ROUNDS=full`.
//!
//! | file | question |
//! |---|---|
//! | `world.rs` | What happens in a run? |
//! | `nodes.rs` | What do the nodes do, and how do they come and go? |
//! | `life.rs` | Is a node alive, frozen or dead? |
//! | `store.rs` | How does the store fail that all nodes share? |
//! | `client.rs` | How does a client talk to the cluster? |
//! | `load.rs` | What do the clients do? |
//! | `history.rs` | What happened? |
//! | `checker.rs`, `calls.rs` | Which rules must hold? |
//! | `mistakes.rs` | Does the checker find mistakes? |
//! | `conversation.rs` | Do the rules hold if any one visit to the store fails? |

mod calls;
mod checker;
mod client;
mod conversation;
mod history;
mod life;
mod load;
mod mistakes;
mod nodes;
mod store;
mod world;

use crate::harness::{self, Outcome};

/// Repeats one seed.
const COMMAND: &str = "cargo nextest run -p toolway --all-features --test simulation --no-capture";
/// How many seeds run twice: by default, and with `TOOLWAY_ROUNDS=full`.
const REPEATED: [u64; 2] = [20, 40];
/// What occurs in some of the seeds.
const EXPECTED: [&str; 40] = [
    "200",
    "202",
    "400",
    "404",
    "503",
    "Announced",
    "Answer",
    "Answered",
    "Away",
    "Broken",
    "Cancel",
    "Changed",
    "Delete",
    "Erased",
    "Frozen",
    "Killed",
    "Left",
    "Listen",
    "LostTail",
    "MessageDoubled",
    "MessageLost",
    "MessagesSwapped",
    "NoAnswer",
    "NotDone",
    "Primer",
    "Progress",
    "Progress without id",
    "Question",
    "Ran",
    "Resume",
    "Slow",
    "Stateless",
    "Stopped",
    "Stored",
    "Thawed",
    "Trespass",
    "UnknownAfter",
    "end Lost",
    "end Refused",
    "end Result",
];

#[test]
fn every_rule_of_a_cluster_holds_for_every_seed() {
    let run = |seed| {
        let (history, broken) = world::run(seed);
        Outcome { kinds: history.kinds(), history: Box::new(history), broken }
    };
    harness::run_seeds("CLUSTER_SEED", COMMAND, [300, 20_000], &EXPECTED, run);
}

#[test]
fn a_seed_of_a_cluster_takes_the_same_course_each_time() {
    harness::watch_panics();
    for seed in 0..REPEATED[usize::from(harness::is_full())] {
        let (first, second) = (world::run(seed).0, world::run(seed).0);
        assert!(first.digest() == second.digest(), "seed {seed}:\n{first}\n{second}");
    }
}
