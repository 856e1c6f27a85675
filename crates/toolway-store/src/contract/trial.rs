//! What does a case of the contract work with?

use std::cell::Cell;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;

use super::operations::{AMPLE_ROOM, SHORT_TTL, append, enter, put};
use crate::step::{Answer, Append, Condition, LogPage, Operation, Outcome, Room, Step, StoredValue};
use crate::store::{BoxFuture, Store, Subscription};

/// The environment of a case: two handles to the store, and a group that no other case has.
pub(super) struct Trial<'t> {
    handles: [Arc<dyn Store>; 2],
    turn: Cell<usize>,
    pub(super) group: String,
    wait: Wait<'t>,
}

type Wait<'t> = &'t dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + 't>>;

impl<'t> Trial<'t> {
    pub(super) fn new(handles: [Arc<dyn Store>; 2], group: String, wait: Wait<'t>) -> Self {
        Self { handles, turn: Cell::new(0), group, wait }
    }
}

impl Trial<'_> {
    /// Returns one handle and the other in turn.
    pub(super) fn store(&self) -> Arc<dyn Store> {
        self.turn.set(1 - self.turn.get());
        self.handles[self.turn.get()].clone()
    }

    /// Returns both handles.
    pub(super) fn handles(&self) -> &[Arc<dyn Store>; 2] {
        &self.handles
    }

    /// Waits until data with a `ttl` of `SHORT_TTL` has expired.
    pub(super) async fn wait(&self) {
        (self.wait)(SHORT_TTL + SHORT_TTL / 2).await;
    }

    /// Waits in two parts, and does `between` while data with a `ttl` of `SHORT_TTL` still exists, unless the machine is
    /// slow. Afterwards the data has expired, but not data that was renewed in between.
    pub(super) async fn wait_around(&self, between: impl AsyncFnOnce()) {
        (self.wait)(SHORT_TTL / 2).await;
        between().await;
        (self.wait)(SHORT_TTL * 3 / 4).await;
    }

    /// Runs a step in the group of the case.
    pub(super) async fn run(&self, step: &Step) -> Outcome {
        self.run_in("", step).await
    }

    /// Runs a step in a group whose name ends like this.
    pub(super) async fn run_in(&self, group: &str, step: &Step) -> Outcome {
        let group = format!("{}{group}", self.group);
        self.store().run(&group, step).await.expect("`run` must succeed")
    }

    /// Runs a step that must be done, and checks that each operation has an answer of its kind.
    pub(super) async fn done(&self, step: &Step) -> Vec<Answer> {
        answers(step, self.run(step).await)
    }

    /// Runs a step of one operation, which must be done.
    pub(super) async fn op(&self, operation: impl Into<Operation>) -> Answer {
        self.done(&Step::new().then(operation)).await.remove(0)
    }

    /// Returns whether a condition holds.
    pub(super) async fn holds(&self, condition: Condition) -> bool {
        match self.run(&Step::new().when(condition)).await {
            Outcome::Done(answers) => {
                assert_eq!(answers, [], "a step without operations must have no answers");
                true
            }
            Outcome::Refused { condition: 0, .. } => false,
            other => panic!("a step with one condition must not have the outcome {other:?}"),
        }
    }

    pub(super) async fn put(&self, key: &str, value: impl Into<Bytes>, ttl: Duration) {
        self.op(put(key, value, ttl)).await;
    }

    pub(super) async fn value(&self, key: &str) -> Option<StoredValue> {
        let Answer::Value(value) = self.op(Operation::Get { key: key.to_owned().into(), known: None }).await
        else {
            unreachable!("the kind of the answer was checked");
        };
        value
    }

    pub(super) async fn get(&self, key: &str) -> Option<Bytes> {
        let value = self.value(key).await?;
        Some(value.bytes.expect("`Get` without a known version must return the bytes"))
    }

    pub(super) async fn enter(&self, map: &str, key: &str, value: impl Into<Bytes>, ttl: Duration) {
        self.op(enter(map, key, value, ttl)).await;
    }

    /// Returns the entries of a map, sorted.
    pub(super) async fn entries(&self, map: &str) -> Vec<(String, Bytes)> {
        let Answer::Entries(mut entries) = self.op(Operation::Entries(map.to_owned().into())).await else {
            unreachable!("the kind of the answer was checked");
        };
        entries.sort();
        entries
    }

    /// Returns the keys of a map, sorted.
    pub(super) async fn keys(&self, map: &str) -> Vec<String> {
        self.entries(map).await.into_iter().map(|(key, _)| key).collect()
    }

    /// Appends entries that the store numbers, and returns the number of the last one.
    pub(super) async fn say(&self, log: &str, entries: &[&str]) -> u64 {
        self.append(append(log, entries)).await
    }

    pub(super) async fn append(&self, append: Append) -> u64 {
        let Answer::Appended { last, .. } = self.op(append).await else {
            unreachable!("the kind of the answer was checked");
        };
        last
    }

    pub(super) async fn page(&self, log: &str, after: u64, limit: Room) -> Option<LogPage> {
        let Answer::Page(page) = self.op(Operation::Read { log: log.to_owned().into(), after, limit }).await
        else {
            unreachable!("the kind of the answer was checked");
        };
        page
    }

    /// Returns a log that must exist, with all of its entries.
    pub(super) async fn log(&self, log: &str) -> LogPage {
        self.page(log, 0, AMPLE_ROOM).await.expect("the log must exist")
    }

    pub(super) async fn has_log(&self, log: &str) -> bool {
        self.page(log, 0, AMPLE_ROOM).await.is_some()
    }

    /// Returns the entries of a log as numbers and texts.
    pub(super) async fn texts(&self, log: &str) -> Vec<(u64, String)> {
        let entries = self.log(log).await.entries.into_iter();
        entries.map(|(number, bytes)| (number, String::from_utf8_lossy(&bytes).into_owned())).collect()
    }

    /// Returns the numbers of the entries of a log.
    pub(super) async fn numbers(&self, log: &str) -> Vec<u64> {
        self.log(log).await.entries.into_iter().map(|(number, _)| number).collect()
    }

    /// Returns the name of a channel that no other case has. Channels belong to no group.
    pub(super) fn channel(&self, name: &str) -> String {
        format!("{}{name}", self.group)
    }

    /// Publishes by the first handle, because only messages of one publisher have an order.
    pub(super) async fn publish(&self, channel: &str, message: impl Into<Bytes>) {
        let channel = self.channel(channel);
        self.handles[0].publish(&channel, message.into()).await.expect("`publish` must succeed");
    }

    pub(super) async fn subscribe(&self, channel: &str) -> Box<dyn Subscription> {
        self.store().subscribe(&self.channel(channel)).await.expect("`subscribe` must succeed")
    }
}

/// Returns the answers of a step that must be done, and checks that each operation has one of its kind.
pub(super) fn answers(step: &Step, outcome: Outcome) -> Vec<Answer> {
    let Outcome::Done(answers) = outcome else { panic!("{step:?} must be done, but was {outcome:?}") };
    assert_eq!(answers.len(), step.operations.len(), "each operation of {step:?} must have one answer");
    for (operation, answer) in step.operations.iter().zip(&answers) {
        let is_of_its_kind = match operation {
            Operation::Get { .. } => matches!(answer, Answer::Value(_)),
            Operation::Entries(_) => matches!(answer, Answer::Entries(_)),
            Operation::Append(_) => matches!(answer, Answer::Appended { .. }),
            Operation::Read { .. } => matches!(answer, Answer::Page(_)),
            _ => matches!(answer, Answer::Nothing),
        };
        assert!(is_of_its_kind, "{answer:?} is not an answer to {operation:?}");
    }
    answers
}

/// The name of a case, prefixed with its file, and its function.
pub(super) type Case = (&'static str, for<'c> fn(&'c Trial<'_>) -> Pin<Box<dyn Future<Output = ()> + 'c>>);

/// Builds the table of the cases of a file.
macro_rules! cases {
    ($file:literal: $($case:ident,)+) => {
        pub(super) const CASES: &[super::trial::Case] =
            &[$((concat!($file, "::", stringify!($case)), |trial| Box::pin($case(trial))),)+];
    };
}
pub(super) use cases;

/// Polls a future at most this many times and then drops it.
pub(super) async fn drop_after<T>(polls: usize, mut future: BoxFuture<'_, T>) {
    for _ in 0..polls {
        let is_done = std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await;
        if is_done {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Returns distinct names that a store might misinterpret.
pub(super) fn odd_names() -> Vec<String> {
    let mut names: Vec<_> = ODD_NAMES.map(str::to_owned).into();
    names.extend(["long ".repeat(205), "long ".repeat(204) + "Long "]);
    names
}

/// Returns distinct contents that a store might misinterpret.
pub(super) fn odd_bytes() -> Vec<Bytes> {
    static LARGE: LazyLock<Bytes> =
        LazyLock::new(|| (0..1 << 20).map(|place: u32| place.to_le_bytes()[place as usize % 3]).collect());
    let all: Bytes = (0..=255).rev().collect::<Vec<u8>>().into();
    let texts = ["", "\r\n\0", "0", "-1", "nil", "%\\'\"{}"].map(Bytes::from);
    texts.into_iter().chain([all, LARGE.clone()]).collect()
}

const ODD_NAMES: [&str; 38] = [
    "", " ", "  ", "a", "A", "a ", " a", "a b", "a:b", "a::b", "a*", "ab", "a?", "[ab]", "{a}", "{a}b", "{",
    "}", "{}", "a\\b", "a/b", "/", "//", "../a", "a\nb", "\n", "a\r\nb", "a\0b", "\0", "\"a\"", "'a'", "%",
    "%s", "%25", "_", "é", "e\u{301}", "🦀",
];
