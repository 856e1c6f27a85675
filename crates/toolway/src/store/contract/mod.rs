//! Does a store fulfil the contract? The test suite that every backend must pass.
//!
//! [`check`] runs a case for every sentence of the documentation of [`Store`] and
//! [`Subscription`](super::Subscription). The cases are in `values`, `logs` and `channels`; the name of each case
//! states its requirement. A backend runs all cases as one test:
//!
//! ```
//! use toolway::store::{MemoryStore, contract};
//!
//! // A backend with a clock of its own is tested in real time: leave out `start_paused`. In the tests of a
//! // crate this is `#[tokio::test(start_paused = true)]`.
//! # fn main() {
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(
//! async {
//!     contract::check(async || MemoryStore::new(), tokio::time::sleep).await;
//! }
//! # ) }
//! ```

mod channels;
mod logs;
mod trial;
mod values;

use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use self::trial::Trial;
use crate::ground::panic::catch_panic_async;
use crate::store::backend::Store;

/// Runs every case on a new store, and panics with the names of all cases that failed.
///
/// `make` returns a store. The stores may share their data, because every case of every run uses new names. Nothing is
/// cleaned up: the data of the cases expires within two minutes, except for one value and one log of a few bytes that
/// never expire.
///
/// `wait` lets the given time pass for the store: use `tokio::time::sleep` for a store that uses tokio's clock or real
/// time. In real time the whole suite takes some seconds.
///
/// A backend that can lose its connection needs its own tests for lost connections; these cases expect every operation
/// to succeed.
///
/// # Panics
///
/// Panics if a case fails. The message has a line for each failed case.
///
/// ```should_panic
/// use toolway::store::{LogEntry, MemoryStore, Room, Store, Subscription, contract};
/// use toolway::{BoxFuture, Result};
/// use bytes::Bytes;
/// use std::time::Duration;
///
/// /// Keeps values that it should delete.
/// struct Hoarder(MemoryStore);
///
/// impl Store for Hoarder {
///     fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>> {
///         Box::pin(async move { Ok(self.0.get(key).await?.is_some()) })
///     }
///     // …
/// #   fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>> { self.0.get(key) }
/// #   fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>> { self.0.renew(key, ttl) }
/// #   fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>> { self.0.put(key, value, ttl) }
/// #   fn compare_and_swap<'s>(&'s self, key: &'s str, expected: Option<Bytes>, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<bool>> {
/// #       self.0.compare_and_swap(key, expected, value, ttl)
/// #   }
/// #   fn append<'s>(&'s self, log: &'s str, entry: LogEntry, room: Room, ttl: Duration) -> BoxFuture<'s, Result<u64>> {
/// #       self.0.append(log, entry, room, ttl)
/// #   }
/// #   fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>> {
/// #       self.0.read(log, after, max)
/// #   }
/// #   fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>> { self.0.last(log) }
/// #   fn renew_log<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>> { self.0.renew_log(log, ttl) }
/// #   fn delete_log<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>> { self.0.delete_log(log) }
/// #   fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> { self.0.publish(channel, message) }
/// #   fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> { self.0.subscribe(channel) }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// // the store breaks its contract:
/// //   values::a_deleted_value_is_gone: panicked: …
/// contract::check(async || Hoarder(MemoryStore::new()), tokio::time::sleep).await;
/// # });
/// ```
pub async fn check<S: Store>(make: impl AsyncFn() -> S, wait: impl AsyncFn(Duration)) {
    let run = RandomState::new().build_hasher().finish();
    let wait = |time| Box::pin(wait(time)) as Pin<Box<dyn Future<Output = ()> + '_>>;
    let mut broken = String::new();
    for (number, (name, case)) in
        [values::CASES, logs::CASES, channels::CASES].into_iter().flatten().enumerate()
    {
        let prefix = format!("toolway-contract:{run:016x}:{number}:");
        let trial = Trial { store: Arc::new(make().await), prefix, wait: &wait };
        let problem = match tokio::time::timeout(CASE_TIMEOUT, catch_panic_async(|| case(&trial))).await {
            Ok(Ok(())) => continue,
            Ok(Err(panic)) => panic.to_string(),
            Err(_) => "did not end in time: it waits for something that never happens".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = write!(broken, "\n  {name}: {problem}");
    }
    assert!(broken.is_empty(), "the store breaks its contract:{broken}");
}

/// The time limit of one case, far longer than any case should take.
const CASE_TIMEOUT: Duration = Duration::from_secs(30);
