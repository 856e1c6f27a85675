//! Two hundred times, during many calls, a server process is killed or its connection is cut: does each call end once,
//! and in time, and does no unsafe call run twice?
//!
//! Servers are real processes, on real pipes and sockets. Each records what it runs, in a file that outlives it
//! (`fixtures/kills.rs`). Sixteen callers share one client, which is never replaced. What is hit, and when, is chosen
//! by a seed (`point.rs`): by the number of calls that were sent, begun or answered, or by the number of bytes that
//! went through a pipe or a connection. The tests never wait for a fixed time.
//!
//! - A call that changes something is run at most once: exactly once if it has a result. It may fail only if its reply
//!   was lost.
//! - A call of a tool that is declared safe to repeat has its result.
//! - Afterwards the same client works, and no process is left.
//!
//! A failure names its point. `POINT=17 cargo test -p toolway --test kills http_session` runs only that one, `SEED=7`
//! chooses two hundred others, and `-- --nocapture` prints how calls ended.
//!
//! | file | question |
//! |---|---|
//! | `point.rs` | What dies, and when? |
//! | `load.rs` | Which calls are made, and which outcomes are allowed? |
//! | `gate.rs` | How far are the runs, and when does it strike? |
//! | `wire.rs` | How are servers started, and how does a client find them? |
//! | `proxy.rs` | What cuts connections? |
//! | `opening.rs` | What happens if the next server dies, too, before it gets a request? |

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "how calls ended is part of the result")]

mod gate;
mod load;
mod opening;
mod point;
mod proxy;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use toolway::client::Http;

use crate::gate::{Gate, Lot};
use crate::load::{Call, Open, Tally, judge, load};
use crate::point::{Random, Strike, When};
use crate::proxy::Proxy;
use crate::wire::{Keeper, Place, Wire};

/// The number of points of each wire.
const POINTS: u64 = 50;
/// The number of points that run at once: most of the time is waiting.
const AT_ONCE: usize = 4;
/// A point that takes longer hangs. A call that hangs is reported before.
const PATIENCE: Duration = Duration::from_secs(2 * 60);

/// Reads a number from a variable of the environment.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

async fn kills(wire: Wire) {
    let seed = variable("SEED").unwrap_or(20_260_728);
    let points: Vec<_> = variable("POINT").map_or_else(|| (0..POINTS).collect(), |point| vec![point]);
    let is_alone = points.len() == 1;
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    let mut names = std::collections::HashMap::new();
    let mut running = JoinSet::new();
    let mut waiting = points.into_iter();
    loop {
        while running.len() < AT_ONCE
            && let Some(point) = waiting.next()
        {
            let mut random = Random::new(seed, wire, point);
            let strike = Strike::draw(wire, &mut random);
            let task = running.spawn(hit(wire, point, strike, random));
            names.insert(task.id(), format!("POINT={point} SEED={seed}: {strike:?}"));
        }
        match running.join_next_with_id().await {
            None => break,
            Some(Ok((_, ended))) => tally += ended,
            Some(Err(error)) => failed.push(names.remove(&error.id()).unwrap()),
        }
    }
    println!("{wire:?}: {tally:?}");
    assert!(failed.is_empty(), "{wire:?}, points that failed: {failed:#?}");
    // Otherwise the strikes would have hit nothing.
    assert!(is_alone || (tally.broken_off > 0 && tally.again > 0), "{tally:?}");
}

/// Runs one client with one strike.
async fn hit(wire: Wire, point: u64, strike: Strike, mut random: Random) -> Tally {
    let open = Arc::new(Open::default());
    let work = work(wire, point, strike, &mut random, &open);
    timeout(PATIENCE, work).await.unwrap_or_else(|_| {
        panic!("{wire:?}, point {point}, {strike:?}: not at its end after {PATIENCE:?}; not ended: {open:?}")
    })
}

async fn work(wire: Wire, point: u64, strike: Strike, random: &mut Random, open: &Arc<Open>) -> Tally {
    let place = Place::new(&format!("{wire:?}-{point}"));
    let gate = Arc::new(Gate::open(&place.gate()));
    match strike {
        Strike::DieReading(after) => gate.lots([Lot::Told(format!("read {after}"))]),
        Strike::DieWriting(after) => gate.lots([Lot::Told(format!("written {after}"))]),
        _ => {}
    }
    let keeper = if wire.is_http() { Some(Keeper::start(&place).await) } else { None };
    let proxy = match &keeper {
        Some(keeper) if strike.needs_proxy() => {
            Some(Arc::new(Proxy::open(keeper.address, keeper.births.clone(), gate.over()).await))
        }
        _ => None,
    };
    let client = match (&keeper, &proxy) {
        (None, _) => wire.builder().connect(place.command()).await,
        (Some(keeper), None) => {
            wire.builder().connect_http(Http::new(format!("http://{}/mcp", keeper.address))).await
        }
        (_, Some(proxy)) => wire.builder().connect_http(Http::new(&proxy.url)).await,
    };
    let client = client.unwrap();
    // The client knows the annotations of tools once they were listed. Several calls at once leave idle connections
    // behind.
    assert_eq!(client.tools().await.unwrap().len(), 4);
    let mut warm = JoinSet::new();
    for number in 0..4 {
        let (client, open) = (client.clone(), open.clone());
        warm.spawn(
            async move { Call::alone(&format!("warm-{number}"), true).make(&client, &open, || ()).await },
        );
    }
    let mut outcomes = warm.join_all().await;

    arm(&gate, strike, proxy.as_ref());
    if strike.when() == Some(When::Idle) {
        gate.strike();
    }
    outcomes.append(&mut load(&client, &gate, open, random).await);

    // The first call may find dead connections; the second must not.
    for (id, is_safe) in [("last-safe", true), ("last", false)] {
        let outcome = Call::alone(id, is_safe).make(&client, open, || ()).await;
        assert!(outcome.is_done(), "the client does not find its server again: {outcome:?}");
        outcomes.push(outcome);
    }
    client.close().await.unwrap();
    if let Some(keeper) = keeper {
        keeper.stop().await;
    }
    while !place.processes().is_empty() {
        tokio::task::yield_now().await;
    }
    judge(&outcomes, &place.runs())
}

/// Prepares the strike.
fn arm(gate: &Arc<Gate>, strike: Strike, proxy: Option<&Arc<Proxy>>) {
    let kill = gate.killer();
    let next = gate.clone();
    let proxy = proxy.cloned();
    let strikes: Box<dyn FnOnce() + Send> = match (strike, proxy) {
        (Strike::KillTwice(_), _) => Box::new(move || {
            next.lots([Lot::Killed]);
            kill();
        }),
        (Strike::CutAll(_, end), Some(proxy)) => Box::new(move || proxy.cut_all(end)),
        (Strike::KillAndCut(_, after, end), Some(proxy)) => Box::new(move || {
            proxy.ambush(&after, end);
            kill();
        }),
        (Strike::Cut(cut), Some(proxy)) => {
            proxy.plan(cut);
            // Fewer bytes than expected were sent.
            Box::new(move || proxy.cut_all(cut.end))
        }
        _ => Box::new(kill),
    };
    gate.arm(strike.when(), strikes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stdio_handshake() {
    kills(Wire::StdioHandshake).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stdio_stateless() {
    kills(Wire::StdioStateless).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_session() {
    kills(Wire::HttpSession).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_stateless() {
    kills(Wire::HttpStateless).await;
}
