//! How do tests write their steps briefly?

use std::time::Duration;

use bytes::Bytes;
use toolway_redis::{Builder, Redis};
use toolway_store::{
    Answer, Append, Condition, Keep, LogEntry, LogPage, Operation, Outcome, Result, Room, Step, Store,
    StoreFailure, Version,
};

/// Connects with a time limit that a busy machine keeps.
pub(crate) async fn connect(url: impl Into<String>) -> Redis {
    patient(url).connect().await.unwrap()
}

pub(crate) fn patient(url: impl Into<String>) -> Builder {
    Redis::builder(url).timeout(Duration::from_secs(5))
}

pub(crate) fn put(key: &str, value: &str) -> Step {
    Step::new().then(Operation::Put {
        key: key.to_owned().into(),
        value: Bytes::copy_from_slice(value.as_bytes()),
        version: Version(7),
        ttl: MINUTE,
    })
}

pub(crate) fn claim(key: &str, value: &str) -> Step {
    let (key, value) = (key.to_owned(), Bytes::copy_from_slice(value.as_bytes()));
    Step::new()
        .when(Condition::Free { map: "claims".into(), key: key.clone().into(), value: value.clone() })
        .then(Operation::Enter { map: "claims".into(), key: key.into(), value, ttl: MINUTE })
}

/// An append of one entry for each number, by the writer "writer".
pub(crate) fn append(numbers: std::ops::RangeInclusive<u64>) -> Append {
    Append {
        log: "log".into(),
        writer: "writer".into(),
        first: Some(*numbers.start()),
        entries: numbers
            .map(|number| LogEntry { bytes: format!("entry {number}").into(), keep: Keep::Always })
            .collect(),
        ends: false,
        room: Room { entries: 10, bytes: 1000 },
        ttl: MINUTE,
    }
}

/// An append that the store numbers, which must not be repeated.
pub(crate) fn unnumbered() -> Step {
    Step::new().then(Append { first: None, ..append(1..=1) })
}

pub(crate) async fn get(store: &Redis, key: &str) -> Result<Option<Bytes>> {
    let step = Step::new().then(Operation::Get { key: key.to_owned().into(), known: None });
    match store.run("group", &step).await? {
        Outcome::Done(answers) => match &answers[..] {
            [Answer::Value(value)] => Ok(value.as_ref().and_then(|value| value.bytes.clone())),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn log(store: &Redis) -> Option<LogPage> {
    let limit = Room { entries: 1000, bytes: 1 << 20 };
    let step = Step::new().then(Operation::Read { log: "log".into(), after: 0, limit });
    match store.run("group", &step).await.unwrap() {
        Outcome::Done(mut answers) => match answers.remove(0) {
            Answer::Page(page) => page,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn failure(store: &Redis, step: &Step) -> StoreFailure {
    store.run("group", step).await.expect_err("the step must fail").failure()
}

pub(crate) async fn done(store: &Redis, step: &Step) {
    let outcome = store.run("group", step).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
}

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
