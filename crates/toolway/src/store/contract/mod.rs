//! Does a store keep its word? The test-suite that every backend must pass.
//!
//! [`check`] runs a case for every sentence of the documentation of [`Store`] and [`Subscription`](super::Subscription).
//! `values`, `logs` and `channels` hold the cases; each is named by what it demands. A backend runs all of them as one test:
//!
//! ```
//! use toolway::store::{Memory, contract};
//!
//! // A backend with a clock of its own is tested in real time: leave out `start_paused`. In the tests of a
//! // crate this is `#[tokio::test(start_paused = true)]`.
//! # fn main() {
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(
//! async {
//!     contract::check(async || Memory::new(), tokio::time::sleep).await;
//! }
//! # ) }
//! ```

mod channels;
mod logs;
mod values;

use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;

use super::{Entry, Keep, Room, Store};
use crate::ground::panic::catch;

/// Runs every case on a store of its own, and fails with the names of all that are broken.
///
/// `make` gives a store; stores that share what they keep are fine, because names are new for every case of every run.
/// Nothing is cleaned up: what the cases leave behind expires within two minutes, but for one value and one log of a few
/// bytes that are asked to live for ever.
/// `wait` lets that much time pass for the store: `tokio::time::sleep` for one that uses tokio's clock or a real one. In real
/// time the whole suite takes some seconds.
///
/// A backend that can lose its connection has tests of its own for that; here everything is expected to work.
///
/// # Panics
///
/// When a case fails. The message has a line for each.
///
/// ```should_panic
/// use toolway::store::{Entry, Memory, Room, Store, Subscription, contract};
/// use toolway::{BoxFuture, Result};
/// use bytes::Bytes;
/// use std::time::Duration;
///
/// /// Keeps what it should forget.
/// struct Hoarder(Memory);
///
/// impl Store for Hoarder {
///     fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>> {
///         Box::pin(async move { Ok(self.0.get(key).await?.is_some()) })
///     }
///     // …
/// #   fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>> { self.0.get(key) }
/// #   fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>> { self.0.renew(key, ttl) }
/// #   fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>> { self.0.put(key, value, ttl) }
/// #   fn swap<'s>(&'s self, key: &'s str, expected: Option<Bytes>, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<bool>> {
/// #       self.0.swap(key, expected, value, ttl)
/// #   }
/// #   fn append<'s>(&'s self, log: &'s str, entry: Entry, room: Room, ttl: Duration) -> BoxFuture<'s, Result<u64>> {
/// #       self.0.append(log, entry, room, ttl)
/// #   }
/// #   fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>> {
/// #       self.0.read(log, after, max)
/// #   }
/// #   fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>> { self.0.last(log) }
/// #   fn prolong<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>> { self.0.prolong(log, ttl) }
/// #   fn forget<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>> { self.0.forget(log) }
/// #   fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> { self.0.publish(channel, message) }
/// #   fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> { self.0.subscribe(channel) }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// // the store breaks its contract:
/// //   values::a_deleted_value_is_gone: panicked: …
/// contract::check(async || Hoarder(Memory::new()), tokio::time::sleep).await;
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
        let problem = match tokio::time::timeout(A_CASE, catch(|| case(&trial))).await {
            Ok(Ok(())) => continue,
            Ok(Err(panic)) => panic.to_string(),
            Err(_) => "waits for something that does not come".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = write!(broken, "\n  {name}: {problem}");
    }
    assert!(broken.is_empty(), "the store breaks its contract:{broken}");
}

/// What a case has: a store that nobody else uses the same names of.
struct Trial<'t> {
    store: Arc<dyn Store>,
    prefix: String,
    wait: &'t dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + 't>>,
}

impl Trial<'_> {
    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Lets so much time pass that what should live for a `MOMENT` is gone.
    async fn wait(&self) {
        (self.wait)(MOMENT + MOMENT / 2).await;
    }

    async fn put(&self, key: &str, value: impl Into<Bytes>, ttl: Duration) {
        self.store.put(key, value.into(), ttl).await.expect("put works");
    }

    async fn get(&self, key: &str) -> Option<Bytes> {
        self.store.get(key).await.expect("get works")
    }

    async fn swap(&self, key: &str, expected: Option<&'static str>, value: &'static str) -> bool {
        self.store.swap(key, expected.map(Bytes::from), value.into(), LONG).await.expect("swap works")
    }

    async fn append(&self, log: &str, bytes: impl Into<Bytes>, keep: Keep, room: Room) -> u64 {
        let entry = Entry { bytes: bytes.into(), keep };
        self.store.append(log, entry, room, LONG).await.expect("append works")
    }

    /// All entries of a log.
    async fn read(&self, log: &str) -> Vec<(u64, Bytes)> {
        self.store.read(log, 0, usize::MAX).await.expect("read works")
    }

    async fn last(&self, log: &str) -> Option<u64> {
        self.store.last(log).await.expect("last works")
    }

    async fn publish(&self, channel: &str, message: impl Into<Bytes>) {
        self.store.publish(channel, message.into()).await.expect("publish works");
    }
}

/// A case and its name, with the file that it stands in.
type Case = (&'static str, for<'c> fn(&'c Trial<'_>) -> Pin<Box<dyn Future<Output = ()> + 'c>>);

/// The cases of a file as a table.
macro_rules! cases {
    ($file:literal: $($case:ident,)+) => {
        pub(super) const CASES: &[super::Case] =
            &[$((concat!($file, "::", stringify!($case)), |trial| Box::pin($case(trial))),)+];
    };
}
use crate::ground::future::BoxFuture;
use cases;

/// Asks a future so many times and then drops it, wherever it is by then.
async fn drop_after<T>(polls: usize, mut future: BoxFuture<'_, T>) {
    for _ in 0..polls {
        let is_done = std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await;
        if is_done {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Names that some backend might take for something else; no two are the same.
const ODD_NAMES: [&str; 30] = [
    "", " ", "  ", "a", "A", "a ", " a", "a b", "a:b", "a::b", "a*", "ab", "a?", "[ab]", "{a}", "{a}b", "{",
    "}", "a\\b", "a/b", "../a", "a\nb", "a\r\nb", "a\0b", "\"a\"", "'a'", "%s", "é", "e\u{301}", "🦀",
];

/// Longer than what it is asked to do should ever take.
const A_CASE: Duration = Duration::from_secs(30);
/// How long something lives that a case wants to see expire; long enough that the next call still finds it.
const MOMENT: Duration = Duration::from_millis(200);
/// How long everything else lives.
const LONG: Duration = Duration::from_mins(2);
/// Room for everything that a case does.
const PLENTY: Room = Room { entries: 10_000, bytes: 10 << 20 };
