//! Does a function that asks behave the same on every transport and revision, and as if it ran in one pass?
//!
//! Two hundred programs are generated, of which forty run without `cargo xtask deep`. They ask questions, alone and
//! together, in loops and branches, do effects once, fail, report progress, log, and handle refusals in every way. Each
//! runs on every wire with the same user, and everything observable is compared with the reference: the result, the
//! questions, the effects and the notifications, in order.
//!
//! | file | question |
//! |---|---|
//! | `program.rs` | What does a generated program look like? |
//! | `run.rs` | How is a program run? |
//! | `live.rs` | How does a handler of a server run it? |
//! | `reference.rs` | What should it do? |
//! | `user.rs` | What does the user answer? |
//! | `world.rs` | What happens outside of the function? |
//!
//! A failure prints the seed and the program; `DIFFERENTIAL_SEED=17 cargo test -p toolway --test differential` runs
//! only that program, `DIFFERENTIAL_SEED=0..5000` runs a range.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

mod chance;
mod live;
mod program;
mod reference;
mod run;
mod user;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::net::TcpListener;
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::store::MemoryStore;
use toolway::testing::each_wire_as;
use toolway::types::LogLevel;

use crate::live::{Programs, server, tool};
use crate::program::{Asked, Effect, Ending, Failing, Kind, Program, Step};
use crate::reference::{Expected, expect};
use crate::world::{Seen, World, outcome, told};

const PROGRAMS: u64 = 200;
/// The number of programs without `cargo xtask deep`, and always on the older revisions and with several servers.
const FEWER: u64 = 40;

/// Returns `few` rounds for every change, and `all` in `cargo xtask deep`.
fn rounds(few: u64, all: u64) -> u64 {
    if std::env::var("TOOLWAY_ROUNDS").is_ok_and(|rounds| rounds == "full") { all } else { few }
}

fn programs(number: u64) -> Programs {
    let seeds = match std::env::var("DIFFERENTIAL_SEED") {
        Ok(seeds) => {
            let (first, end) = seeds.split_once("..").unwrap_or((&seeds, ""));
            let first: u64 = first.parse().unwrap();
            first..end.parse().unwrap_or(first + 1)
        }
        Err(_) => 0..number,
    };
    Arc::new(seeds.map(|seed| (seed, Program::generate(seed))).collect())
}

async fn references(programs: &Programs) -> BTreeMap<u64, Expected> {
    let mut expected = BTreeMap::new();
    for (seed, program) in &**programs {
        expected.insert(*seed, expect(program).await);
    }
    expected
}

/// Runs a program and collects everything observable.
async fn observe(client: &Client, world: &World, seed: u64) -> Seen {
    // A client that reads notifications also receives progress.
    let mut news = client.notifications();
    let result = client.call("execute", json!({"seed": seed})).await;
    let heard = std::iter::from_fn(|| news.try_next()).filter_map(|news| told(&news)).collect();
    world.close(outcome(result.map(Into::into)), heard)
}

#[tokio::test]
async fn a_function_that_asks_does_the_same_on_every_wire_as_if_it_ran_straight_through() {
    let programs = programs(rounds(FEWER, PROGRAMS));
    let expected = references(&programs).await;
    let world = World::default();
    let server = server(tool(), &programs, &world).build().unwrap();
    // The results of the first wire, for the programs whose result the reference cannot predict.
    let first = Mutex::new(BTreeMap::new());
    each_wire_as(user::client(&world), &server, async |client| {
        // Older revisions have no forms.
        if client.protocol_version() < ProtocolVersion::V2025_06_18 {
            return;
        }
        let is_newest = client.protocol_version() > ProtocolVersion::V2025_06_18;
        client.set_log_level(LogLevel::Debug).await.unwrap();
        for (seed, program) in programs.iter() {
            if !is_newest && (*seed >= FEWER || program.has(Kind::Url)) {
                continue;
            }
            let seen = observe(&client, &world, *seed).await;
            let Expected { seen: expected, is_certain } = &expected[seed];
            let mut first = first.lock().unwrap();
            let expected =
                if *is_certain { expected } else { first.entry(*seed).or_insert_with(|| seen.clone()) };
            assert_same(program, &seen, expected);
        }
    })
    .await;
}

fn assert_same(program: &Program, seen: &Seen, expected: &Seen) {
    assert!(
        seen == expected,
        "the program with seed {} does something else\nseen:     {seen:#?}\nexpected: {expected:#?}\n{program:#?}",
        program.seed
    );
}

/// The programs differ, and the reference predicts most of them; otherwise the test above would prove little.
#[tokio::test]
async fn the_programs_do_a_bit_of_everything() {
    if std::env::var_os("DIFFERENTIAL_SEED").is_some() {
        return;
    }
    let all = references(&programs(PROGRAMS)).await;
    let count = |what: fn(&Expected) -> bool| all.values().filter(|expected| what(expected)).count();
    let counts = [
        (count(|expected| expected.is_certain), 150),
        (count(|expected| !expected.is_certain), 5),
        (count(|expected| expected.seen.questions.len() > 3), 50),
        (count(|expected| expected.seen.effects.len() > 2), 20),
        (count(|expected| expected.seen.news.len() > 3), 30),
        (count(|expected| expected.seen.outcome["structured"].is_object()), 30),
        (count(|expected| expected.seen.outcome["is_error"] == true), 20),
        (count(|expected| expected.seen.outcome["code"].is_number()), 3),
    ];
    assert!(counts.iter().all(|(count, least)| count > least), "{counts:?}");
}

#[tokio::test]
async fn any_of_several_machines_can_go_on_with_a_call() {
    let programs = programs(FEWER);
    let expected = references(&programs).await;
    let world = World::default();
    let store = Arc::new(MemoryStore::default());
    let keys = ["6f6c64206b65797320617265206b65707420666f722061207768696c652e2e2e"];
    let machines: [Server; 2] = std::array::from_fn(|_| {
        // A single-use state that one server has used is used for the other server, too.
        server(tool().single_use(), &programs, &world).store(store.clone()).seal_keys(keys).build().unwrap()
    });
    let address = balance(machines).await;
    let client = user::client(&world).protocol(ProtocolVersion::LATEST);
    let client = client.connect_http(&format!("http://{address}/mcp")).await.unwrap();
    client.set_log_level(LogLevel::Debug).await.unwrap();
    for (seed, program) in programs.iter() {
        let seen = observe(&client, &world, *seed).await;
        if expected[seed].is_certain {
            assert_same(program, &seen, &expected[seed].seen);
        }
    }
}

/// Sends the requests to two servers in turn.
async fn balance(machines: [Server; 2]) -> std::net::SocketAddr {
    let services = machines.map(|machine| machine.http());
    let next = Arc::new(AtomicUsize::new(0));
    let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let service = services[next.fetch_add(1, Ordering::Relaxed) % 2].clone();
        async move { service.handle(request).await.map(axum::body::Body::new) }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Runs a program written by hand, and returns the result, which is the same on every wire.
async fn on_every_wire(steps: Vec<Step>) -> Seen {
    let program = Program { seed: 0, steps, ending: Ending::Text };
    let programs: Programs = Arc::new([(0, program)].into());
    let world = World::default();
    let server = server(tool(), &programs, &world).build().unwrap();
    let first = Mutex::new(None);
    each_wire_as(user::client(&world), &server, async |client| {
        if client.protocol_version() >= ProtocolVersion::V2025_06_18 {
            client.set_log_level(LogLevel::Debug).await.unwrap();
            let seen = observe(&client, &world, 0).await;
            assert_same(&programs[&0], &seen, first.lock().unwrap().get_or_insert_with(|| seen.clone()));
        }
    })
    .await;
    first.into_inner().unwrap().unwrap()
}

fn essay(number: u32) -> Step {
    Step::Ask(Asked { key: format!("essay-{number}"), kind: Kind::Essay, wording: 0 }, Failing::PassOn)
}

fn sample(number: u32) -> Step {
    Step::Ask(Asked { key: format!("sample-{number}"), kind: Kind::Sample, wording: 0 }, Failing::PassOn)
}

fn effect(bulk: usize) -> Step {
    Step::Once(Effect {
        key: format!("effect-{bulk}"),
        fails_first: false,
        failing: Failing::PassOn,
        uses_last_note: false,
        says: None,
        asks: None,
        bulk,
    })
}

#[tokio::test]
async fn too_many_rounds_fail_alike_everywhere() {
    let seen = on_every_wire((0..10).map(sample).collect()).await;
    assert_eq!((seen.questions.len(), &seen.outcome["is_error"]), (10, &json!(false)));
    let mut steps: Vec<_> = (0..11).map(sample).collect();
    steps.insert(10, effect(1));
    let seen = on_every_wire(steps).await;
    let text = json!("this call has asked in 10 rounds, which is the maximum");
    assert_eq!((seen.questions.len(), seen.effects.len(), &seen.outcome["text"]), (10, 1, &text));
}

#[tokio::test]
async fn answers_that_are_too_much_to_remember_fail_alike_everywhere() {
    let seen = on_every_wire((0..4).map(essay).collect()).await;
    assert_eq!((seen.questions.len(), &seen.outcome["is_error"]), (4, &json!(false)));
    let seen = on_every_wire((0..6).map(essay).collect()).await;
    assert!(seen.outcome["text"].as_str().unwrap().contains("42 KiB"), "{seen:?}");
    assert_eq!(seen.questions.len(), 5);
}

#[tokio::test]
async fn an_effect_that_is_too_much_to_remember_fails_alike_everywhere() {
    let seen = on_every_wire(vec![sample(0), effect(30 << 10), sample(1)]).await;
    assert_eq!((seen.effects.len(), &seen.outcome["is_error"]), (1, &json!(false)));
    let seen = on_every_wire(vec![sample(0), effect(50 << 10), sample(1)]).await;
    assert!(seen.outcome["text"].as_str().unwrap().contains("42 KiB"), "{seen:?}");
    assert_eq!((seen.effects.len(), seen.questions.len()), (1, 1));
}
