//! Which server, and which store that fails, take part in tests of sessions?

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;
use toolway::BoxFuture;
use toolway::prelude::*;
use toolway::server::ServerBuilder;
use toolway::server::http::HttpService;
use toolway::store::{
    LogEntry, MemoryStore, Operation, Outcome, Result, Secret, Step, Store, StoreError, StoreFailure,
    Subscription,
};

use super::{Steps as Gate, walk};
use crate::raw_http::Raw;

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// The clock of these tests is paused while any task is busy: this is how long nothing may happen.
pub(super) const FOR_EVER: Duration = Duration::from_secs(3600);

/// Says something four times a second.
#[tool]
async fn tick(times: u32, ctx: Ctx) -> &'static str {
    for n in 1..=times {
        sleep(SECOND / 4).await;
        ctx.progress(n, times, "").await;
    }
    "done"
}

/// Says a lot at once.
#[tool]
async fn flood(times: u32, size: usize, ctx: Ctx) -> &'static str {
    for n in 1..=times {
        ctx.progress(n, times, "x".repeat(size)).await;
    }
    "done"
}

/// Says nothing until it is done.
#[tool]
async fn silent(gate: State<Gate>) -> &'static str {
    gate.wait().await;
    "done"
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[resource("news://today")]
fn today() -> &'static str {
    "nothing new"
}

pub(super) fn builder(gate: &Gate) -> ServerBuilder {
    Server::new("sessions", "1.0.0")
        .state(gate.clone())
        .tools(tools![walk, tick, flood, silent, add])
        .resources(resources![today])
        // The clock of these tests advances by more than the default deadline.
        .deadline(None)
}

pub(super) fn server(gate: &Gate) -> Server {
    builder(gate).build().unwrap()
}

pub(super) fn service() -> (HttpService, Gate) {
    let gate = Gate::new();
    (server(&gate).http(), gate)
}

pub(super) async fn ping(raw: &Raw) -> StatusCode {
    raw.post(&json!({"jsonrpc": "2.0", "id": 99, "method": "ping"})).await.status()
}

pub(super) fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// A store in memory that fails and waits when a test wants it to.
#[derive(Default)]
pub(super) struct Moody {
    memory: MemoryStore,
    pub(super) fails_to_append: AtomicBool,
    pub(super) fails_to_publish: AtomicBool,
    /// Entries that contain this text wait.
    pub(super) holds: Mutex<Option<&'static str>>,
    /// The next step that reads a value returns only when the test allows it.
    pub(super) holds_value: AtomicBool,
    pub(super) is_held: Notify,
    pub(super) free: Notify,
}

fn moody() -> StoreError {
    StoreError::new(StoreFailure::NotDone, "the store is moody")
}

impl Store for Moody {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        Box::pin(async move {
            let mut appended = step.operations.iter().filter_map(|operation| match operation {
                Operation::Append(append) => Some(&append.entries),
                _ => None,
            });
            let tells =
                step.operations.iter().any(|operation| matches!(operation, Operation::Publish { .. }));
            if self.fails_to_publish.load(Ordering::Acquire) && tells {
                self.is_held.notify_one();
                return Err(moody());
            }
            let holds = *self.holds.lock().unwrap();
            let is_held = |text: &str| {
                let has_text = |entry: &LogEntry| String::from_utf8_lossy(&entry.bytes).contains(text);
                appended.clone().flatten().any(has_text)
            };
            if holds.is_some_and(is_held) {
                self.is_held.notify_one();
                self.free.notified().await;
            }
            if self.fails_to_append.load(Ordering::Acquire) && appended.next().is_some() {
                return Err(moody());
            }
            let outcome = self.memory.run(group, step).await?;
            let reads = step.operations.iter().any(|operation| matches!(operation, Operation::Get { .. }));
            if reads && self.holds_value.swap(false, Ordering::AcqRel) {
                self.is_held.notify_one();
                self.free.notified().await;
            }
            Ok(outcome)
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        self.memory.publish(channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        self.memory.subscribe(channel)
    }

    fn secret(&self) -> Secret {
        self.memory.secret()
    }
}
