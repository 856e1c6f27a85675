//! How long does Redis itself take for the steps of a session?
//!
//! `cargo run -p toolway-redis --example redis_time -- redis://localhost:6379` runs each step 20,000 times and prints the
//! microseconds per call that the server counted. It resets the statistics of the server, so use one for tests.

#![expect(clippy::print_stdout, reason = "it is a program of the command line")]

use std::time::Duration;

use toolway_redis::Redis;
use toolway_store::{Append, Condition, Keep, LogEntry, Operation, Room, Step, Store, Version};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redis://localhost".to_owned());
    let store = Redis::builder(&url).prefix("time:").connect().await?;
    let mut server = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    store.run("s", &Step::new().then(put())).await?;
    store.run("s", &Step::new().then(append("read".to_owned(), 1, 10))).await?;

    measure(&store, &mut server, "look: Exists, Renew, Get of a known version", |_| look()).await?;
    measure(&store, &mut server, "enter: Exists, Free, Renew, Get of a known version, Enter", enter).await?;
    measure(&store, &mut server, "release: Leave", |number| Step::new().then(leave(number))).await?;
    measure(&store, &mut server, "append of 1 entry of 200 bytes", |number| {
        // Each worker has a log of its own, in which it counts.
        let (log, number) = (format!("log {}", number % WORKERS), number / WORKERS + 1);
        Step::new().when(Condition::Exists("rec".into())).then(append(log, number, 1))
    })
    .await?;
    measure(&store, &mut server, "read of 10 entries of 200 bytes", |_| {
        let limit = Room { entries: 10, bytes: 1 << 20 };
        Step::new().then(Operation::Read { log: "read".into(), after: 0, limit })
    })
    .await?;
    Ok(())
}

/// Runs a step many times and prints what each call cost the server.
async fn measure(
    store: &Redis,
    server: &mut redis::aio::MultiplexedConnection,
    name: &str,
    step: fn(u64) -> Step,
) -> Result<(), Box<dyn std::error::Error>> {
    let () = redis::cmd("CONFIG").arg("RESETSTAT").query_async(server).await?;
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..WORKERS {
        let store = store.clone();
        workers.spawn(async move {
            for round in 0..CALLS / WORKERS {
                store.run("s", &step(round * WORKERS + worker)).await?;
            }
            Ok::<_, toolway_store::StoreError>(())
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    let statistics: String = redis::cmd("INFO").arg("commandstats").query_async(server).await?;
    let line = statistics.lines().find(|line| line.starts_with("cmdstat_evalsha:")).unwrap_or_default();
    let time = line.split(',').find_map(|part| part.strip_prefix("usec_per_call=")).unwrap_or("?");
    println!("{time:>6} µs  {name}");
    Ok(())
}

fn look() -> Step {
    Step::new()
        .when(Condition::Exists("rec".into()))
        .then(Operation::Renew { key: "rec".into(), ttl: HOUR })
        .then(Operation::Get { key: "rec".into(), known: Some(Version(7)) })
}

/// Claims one of a hundred ids, each with one value.
fn enter(number: u64) -> Step {
    let id = (number % 100).to_string();
    look()
        .when(Condition::Free { map: "run".into(), key: id.clone().into(), value: "node:nonce".into() })
        .then(Operation::Enter { map: "run".into(), key: id.into(), value: "node:nonce".into(), ttl: HOUR })
}

fn leave(number: u64) -> Operation {
    let id = (number % 100).to_string();
    Operation::Leave { map: "run".into(), key: id.into(), value: Some("node:nonce".into()) }
}

fn put() -> Operation {
    Operation::Put { key: "rec".into(), value: vec![b'x'; 350].into(), version: Version(7), ttl: HOUR }
}

fn append(log: String, first: u64, count: usize) -> Append {
    let entry = LogEntry { bytes: vec![b'x'; 200].into(), keep: Keep::WhileThereIsRoom };
    Append {
        log: log.into(),
        writer: "node".into(),
        first: Some(first),
        entries: vec![entry; count],
        ends: false,
        room: Room { entries: 100, bytes: 1 << 20 },
        ttl: HOUR,
    }
}

const CALLS: u64 = 20_000;
/// The number of steps at the same time. A server that waits between two steps takes longer for each.
const WORKERS: u64 = 16;
const HOUR: Duration = Duration::from_secs(3600);
