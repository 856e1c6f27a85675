//! Which server, and which store that fails, take part in tests of sessions?

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;
use toolway::prelude::*;
use toolway::server::ServerBuilder;
use toolway::server::http::HttpService;
use toolway::store::{LogEntry, MemoryStore, Room, Store, Subscription};
use toolway::{BoxFuture, Error, ErrorKind};

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
    /// The next renewal of a value returns only when the test allows it.
    pub(super) holds_value: AtomicBool,
    pub(super) is_held: Notify,
    pub(super) free: Notify,
}

fn moody() -> Error {
    Error::new(ErrorKind::Transport, "the store is moody")
}

impl Store for Moody {
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, toolway::Result<Option<Bytes>>> {
        self.memory.get(key)
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, toolway::Result<Option<Bytes>>> {
        Box::pin(async move {
            let value = self.memory.renew(key, ttl).await?;
            if self.holds_value.swap(false, Ordering::AcqRel) {
                self.is_held.notify_one();
                self.free.notified().await;
            }
            Ok(value)
        })
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, toolway::Result<()>> {
        self.memory.put(key, value, ttl)
    }

    fn compare_and_swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.compare_and_swap(key, expected, value, ttl)
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.delete(key)
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: LogEntry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, toolway::Result<u64>> {
        Box::pin(async move {
            if self.fails_to_append.load(Ordering::Acquire) {
                return Err(moody());
            }
            let holds = *self.holds.lock().unwrap();
            if holds.is_some_and(|text| String::from_utf8_lossy(&entry.bytes).contains(text)) {
                self.is_held.notify_one();
                self.free.notified().await;
            }
            self.memory.append(log, entry, room, ttl).await
        })
    }

    fn read<'s>(
        &'s self,
        log: &'s str,
        after: u64,
        max: usize,
    ) -> BoxFuture<'s, toolway::Result<Vec<(u64, Bytes)>>> {
        self.memory.read(log, after, max)
    }

    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, toolway::Result<Option<u64>>> {
        self.memory.last(log)
    }

    fn renew_log<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.renew_log(log, ttl)
    }

    fn delete_log<'s>(&'s self, log: &'s str) -> BoxFuture<'s, toolway::Result<bool>> {
        self.memory.delete_log(log)
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, toolway::Result<()>> {
        Box::pin(async move {
            if self.fails_to_publish.load(Ordering::Acquire) {
                self.is_held.notify_one();
                return Err(moody());
            }
            self.memory.publish(channel, message).await
        })
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, toolway::Result<Box<dyn Subscription>>> {
        self.memory.subscribe(channel)
    }
}
