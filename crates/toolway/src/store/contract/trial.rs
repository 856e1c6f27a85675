//! What does a case of the contract work with?

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;

use crate::ground::future::BoxFuture;
use crate::store::backend::{Keep, LogEntry, Room, Store, Subscription};

/// The environment of a case: a store, and a prefix that makes its names unique.
pub(super) struct Trial<'t> {
    pub(super) store: Arc<dyn Store>,
    pub(super) prefix: String,
    pub(super) wait: &'t dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + 't>>,
}

impl Trial<'_> {
    /// Returns the name in the store for a name in the case.
    pub(super) fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Waits until data with a `ttl` of `SHORT_TTL` has expired.
    pub(super) async fn wait(&self) {
        (self.wait)(SHORT_TTL + SHORT_TTL / 2).await;
    }

    pub(super) async fn put(&self, key: &str, value: impl Into<Bytes>, ttl: Duration) {
        self.store.put(&self.name(key), value.into(), ttl).await.expect("`put` must succeed");
    }

    pub(super) async fn get(&self, key: &str) -> Option<Bytes> {
        self.store.get(&self.name(key)).await.expect("`get` must succeed")
    }

    pub(super) async fn renew(&self, key: &str, ttl: Duration) -> Option<Bytes> {
        self.store.renew(&self.name(key), ttl).await.expect("`renew` must succeed")
    }

    pub(super) async fn delete(&self, key: &str) -> bool {
        self.store.delete(&self.name(key)).await.expect("`delete` must succeed")
    }

    pub(super) async fn compare_and_swap(
        &self,
        key: &str,
        expected: Option<&'static str>,
        value: &'static str,
    ) -> bool {
        self.compare_and_swap_for(key, expected.map(Bytes::from), value.into(), LONG_TTL).await
    }

    pub(super) async fn compare_and_swap_for(
        &self,
        key: &str,
        old: Option<Bytes>,
        new: Bytes,
        ttl: Duration,
    ) -> bool {
        self.store.compare_and_swap(&self.name(key), old, new, ttl).await.expect("`swap` must succeed")
    }

    pub(super) async fn append(&self, log: &str, bytes: impl Into<Bytes>, keep: Keep, room: Room) -> u64 {
        let entry = LogEntry { bytes: bytes.into(), keep };
        self.store.append(&self.name(log), entry, room, LONG_TTL).await.expect("`append` must succeed")
    }

    /// Returns all entries of a log.
    pub(super) async fn read(&self, log: &str) -> Vec<(u64, Bytes)> {
        self.page(log, 0, usize::MAX).await
    }

    pub(super) async fn page(&self, log: &str, after: u64, max: usize) -> Vec<(u64, Bytes)> {
        self.store.read(&self.name(log), after, max).await.expect("`read` must succeed")
    }

    pub(super) async fn last(&self, log: &str) -> Option<u64> {
        self.store.last(&self.name(log)).await.expect("`last` must succeed")
    }

    pub(super) async fn delete_log(&self, log: &str) -> bool {
        self.store.delete_log(&self.name(log)).await.expect("`forget` must succeed")
    }

    pub(super) async fn publish(&self, channel: &str, message: impl Into<Bytes>) {
        self.store.publish(&self.name(channel), message.into()).await.expect("`publish` must succeed");
    }

    pub(super) async fn subscribe(&self, channel: &str) -> Box<dyn Subscription> {
        self.store.subscribe(&self.name(channel)).await.expect("`subscribe` must succeed")
    }
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

/// Distinct names that a backend might misinterpret.
pub(super) const ODD_NAMES: [&str; 30] = [
    "", " ", "  ", "a", "A", "a ", " a", "a b", "a:b", "a::b", "a*", "ab", "a?", "[ab]", "{a}", "{a}b", "{",
    "}", "a\\b", "a/b", "../a", "a\nb", "a\r\nb", "a\0b", "\"a\"", "'a'", "%s", "é", "e\u{301}", "🦀",
];

/// The `ttl` of data that a case expects to expire. It is long enough that the next call still finds the data.
pub(super) const SHORT_TTL: Duration = Duration::from_millis(200);
/// The `ttl` of all other data.
pub(super) const LONG_TTL: Duration = Duration::from_secs(2 * 60);
/// Enough room for all entries of a case.
pub(super) const AMPLE_ROOM: Room = Room { entries: 10_000, bytes: 10 << 20 };
