//! One server, three clients, and everything that can go wrong in between, decided by a seed: does every rule hold?
//!
//! The whole run is one thread with a paused clock, so it takes no time, and two runs of a seed have the same history.
//! Each client has a pipe or HTTP, and the newest revision of either era; over HTTP the newest handshake revision has
//! sessions whose streams are resumed. Messages are delayed and split, readers stall, connections break in several
//! ways, callers give up, handlers fail, panic, report progress, ask, announce changes and release their streams, and
//! the server is replaced by a successor that shares its store. Then nothing goes wrong any more, and:
//!
//! - each call has ended once: with its own result, or with an error that has a cause;
//! - nothing ran twice that must not, nothing ran that the client reports as unsent, and what a caller gave up stopped;
//! - progress came in order, completely for each call with a result, and never after the end of its call;
//! - no event came twice, however often a stream was resumed;
//! - each client works, and clients that watch know the newest value;
//! - nothing is left: no handler, no task, no session, no charge, no entry of the store.
//!
//! `SEED=17 cargo nextest run -p toolway --all-features --test simulation --no-capture` runs one seed and prints its
//! history. `SEEDS=100` sets how many run; there are 300 by default, and 10,000 with `TOOLWAY_ROUNDS=full`, which
//! `cargo xtask deep --part simulation` sets.
//!
//! | file | question |
//! |---|---|
//! | `world.rs` | What does the server do? |
//! | `load.rs` | What do the clients do? |
//! | `nemesis.rs` | What goes wrong, and when? |
//! | `pipe.rs`, `http.rs` | How does it go wrong on each transport? |
//! | `history.rs` | What happened? |
//! | `checker.rs` | Which rules must hold? |
//! | `harness.rs` | How are many seeds run? |
//! | `cluster/` | The same for several nodes that share a store. |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod checker;
mod cluster;
mod harness;
mod history;
mod http;
mod load;
mod nemesis;
mod pipe;
mod random;
mod world;

use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::time::{sleep, timeout};
use toolway::store::{Operation, Step, Store};

use crate::harness::Outcome;
use crate::history::{Event, History};
use crate::load::Life;
use crate::random::Random;
use crate::world::{SESSION_IDLE, World};

const CLIENTS: usize = 3;
/// How many seeds run twice: by default, and with `TOOLWAY_ROUNDS=full`.
const REPEATED: [u64; 2] = [40, 100];
/// No run takes longer, on its own clock, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);
/// What is on its way when things stop going wrong has arrived after this time.
const SETTLED: Duration = Duration::from_secs(120);

/// Repeats one seed.
const COMMAND: &str = "cargo nextest run -p toolway --all-features --test simulation --no-capture";
/// What occurs in some of the seeds.
const EXPECTED: [&str; 20] = [
    "Result",
    "ToolFailed",
    "Dropped",
    "Unsent",
    "ReplyLost",
    "TimedOut",
    "Effect",
    "Saw",
    "resume",
    "Restarted",
    "restart",
    "no server",
    "pipe, Both",
    "pipe, OneDirection",
    "pipe, Silent",
    "pipe, after a time",
    "http, unreachable",
    "http, after a time",
    "http, up, Both",
    "http, down, Silent",
];

/// Runs one seed. Returns its history and the rules that it breaks.
fn run(seed: u64) -> (History, Vec<String>) {
    let mut random = Random::new(seed);
    toolway::testing::fix_backoff(f64::from(u8::try_from(random.between(1, 100)).unwrap()) / 100.0);
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let history = History::new();
        if timeout(PATIENCE, simulate(random, &history)).await.is_err() {
            history.add(Event::Broken("it hangs".to_owned()));
        }
        if harness::take_panic() {
            history.add(Event::Broken("something panicked that should not".to_owned()));
        }
        let broken = checker::check(&history.events());
        (history, broken)
    })
}

async fn simulate(mut random: Random, history: &History) {
    let world = World::new(history, &mut random);
    let lives: Vec<_> = (0..CLIENTS).map(|number| Life::new(number, &world, &mut random)).collect();
    let nemeses: Vec<_> = lives.iter().map(Life::nemesis).collect();
    let load = in_parallel(lives.into_iter().map(Life::run));
    let restarts = async {
        if random.chance(30) {
            sleep(random.millis(0, 3000)).await;
            world.restart(&mut random).await;
        }
    };
    let (lives, ()) = tokio::join!(biased; load, restarts);
    nemeses.iter().for_each(nemesis::Nemesis::calm);
    sleep(SETTLED).await;
    in_parallel(lives.into_iter().map(Life::conclude)).await;
    sleep(SESSION_IDLE * 5).await;
    check_nothing_is_left(world, history).await;
}

/// Runs futures as tasks, and returns their outputs in the same order.
async fn in_parallel<T: Send + 'static>(
    work: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = work.map(tokio::spawn).collect();
    let mut outputs = Vec::new();
    for task in tasks {
        outputs.push(task.await.unwrap());
    }
    outputs
}

/// Checks that the server has forgotten its clients, and that nothing runs after it is gone.
async fn check_nothing_is_left(world: World, history: &History) {
    let broken = |text: String| history.add(Event::Broken(text));
    for node in world.take_nodes() {
        let usage = node.server.usage();
        let used = [
            usage.requests,
            usage.bodies,
            usage.replies,
            usage.kept,
            usage.streams,
            usage.connections,
            usage.sessions,
        ];
        if used.iter().any(|resource| resource.used > 0) {
            broken(format!("something is still charged: {usage:?}"));
        }
    }
    let store = world.store.clone();
    drop(world);
    // Aborted tasks end in their next turn.
    sleep(Duration::from_millis(1)).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    if tasks > 0 {
        broken(format!("{tasks} tasks are left"));
    }
    // The log of changes is kept for an hour. Each call removes a few expired entries.
    sleep(Duration::from_secs(2 * 60 * 60)).await;
    for _ in 0..100 {
        store.run("", &Step::new().then(Operation::Entries("".into()))).await.unwrap();
    }
    let left = format!("{store:?}");
    if left != "MemoryStore { values: 0, maps: 0, logs: 0, channels: 0, .. }" {
        broken(format!("the store still has entries: {left}"));
    }
}

#[test]
fn every_rule_holds_for_every_seed() {
    let run = |seed| {
        let (history, broken) = run(seed);
        Outcome { kinds: history.kinds(), history: Box::new(history), broken }
    };
    harness::run_seeds("SEED", COMMAND, [300, 10_000], &EXPECTED, run);
}

#[test]
fn a_seed_takes_the_same_course_each_time() {
    harness::watch_panics();
    for seed in 0..REPEATED[usize::from(harness::is_full())] {
        let (first, second) = (run(seed).0, run(seed).0);
        assert!(first.digest() == second.digest(), "seed {seed}:\n{first}\n{second}");
    }
}
