//! Does the store in memory fulfil the contract, also on several threads, and without growing?
#![cfg(feature = "contract")]

use std::time::Duration;

use tokio::task::JoinSet;
use toolway_store::{
    Answer, Append, Condition, Keep, LogEntry, MemoryStore, Operation, Outcome, Room, Step, Store, Version,
    contract,
};

#[tokio::test(start_paused = true)]
async fn the_store_in_memory_passes_the_contract() {
    let store = MemoryStore::new();
    contract::check(async || store.clone(), tokio::time::sleep).await;
}

/// The contract runs on one thread with a paused clock; here steps really run at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_no_step_or_message_is_lost() {
    const TASKS: u64 = 8;
    const TURNS: u64 = 300;
    let store = MemoryStore::new();
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            // One channel per task: a subscriber that reads each message before the next one does not fall behind.
            let channel = task.to_string();
            let mut subscription = store.subscribe(&channel).await.unwrap();
            for turn in 0..TURNS {
                let count = Step::new().then(append("log", None)).then(Operation::Publish {
                    channel: channel.clone().into(),
                    message: turn.to_string().into(),
                });
                assert!(matches!(store.run("group", &count).await.unwrap(), Outcome::Done(_)));
                assert_eq!(subscription.next().await, Some(turn.to_string().into()));
            }
        });
    }
    tasks.join_all().await;
    let read = Operation::Read { log: "log".into(), after: 0, limit: PLENTY };
    let Outcome::Done(answers) = store.run("group", &Step::new().then(read)).await.unwrap() else { panic!() };
    let [Answer::Page(Some(page))] = &answers[..] else { panic!("{answers:?}") };
    let numbers: Vec<_> = page.entries.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=TASKS * TURNS).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn expired_data_and_ended_subscriptions_leave_without_a_background_task() {
    let store = MemoryStore::new();
    for number in 0..500 {
        let name = number.to_string();
        let step = Step::new()
            .then(Operation::Put {
                key: name.clone().into(),
                value: "value".into(),
                version: Version(number),
                ttl: SECOND,
            })
            .then(Operation::Enter {
                map: name.clone().into(),
                key: "key".into(),
                value: "value".into(),
                ttl: SECOND,
            })
            .then(Operation::Enter {
                map: "one map".into(),
                key: name.clone().into(),
                value: "value".into(),
                ttl: SECOND,
            })
            .then(append(&name, Some(1)));
        assert!(matches!(store.run(&name, &step).await.unwrap(), Outcome::Done(_)));
        drop(store.subscribe(&name).await.unwrap());
    }
    assert_eq!(format!("{store:?}"), "MemoryStore { values: 500, maps: 1000, logs: 500, channels: 0, .. }");
    tokio::time::advance(SECOND).await;
    // Steps that have nothing to do with the expired data. Each removes a few of it.
    for _ in 0..200 {
        store.run("other", &Step::new().then(Operation::Entries("map".into()))).await.unwrap();
    }
    assert_eq!(format!("{store:?}"), "MemoryStore { values: 0, maps: 0, logs: 0, channels: 0, .. }");
}

#[tokio::test]
async fn a_future_that_is_never_polled_does_nothing() {
    let store = MemoryStore::new();
    let put = Operation::Put { key: "key".into(), value: "value".into(), version: Version(1), ttl: SECOND };
    drop(store.run("group", &Step::new().then(put)));
    let absent = Step::new().when(Condition::Absent("key".into()));
    assert_eq!(store.run("group", &absent).await.unwrap(), Outcome::Done(Vec::new()));
}

#[test]
fn each_store_has_a_secret_that_is_not_printed() {
    let (one, other) = (MemoryStore::new(), MemoryStore::new());
    assert_ne!(one.secret(), other.secret());
    assert_eq!(one.secret(), one.clone().secret());
    assert_eq!(format!("{:?}", one.secret()), "Secret(…)");
}

fn append(log: &str, first: Option<u64>) -> Append {
    Append {
        log: log.to_owned().into(),
        writer: "writer".into(),
        first,
        entries: vec![LogEntry { bytes: "entry".into(), keep: Keep::Always }],
        ends: false,
        room: PLENTY,
        ttl: SECOND,
    }
}

const SECOND: Duration = Duration::from_secs(1);
const PLENTY: Room = Room { entries: usize::MAX, bytes: usize::MAX };
