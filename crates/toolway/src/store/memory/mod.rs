//! How does one process keep everything in memory?
//!
//! `expiring` keeps values and logs until they expire, `log` is one log, `channels` keeps the subscribers. Values, logs
//! and channels have one lock each, which is never held across an `.await`.

mod channels;
mod expiring;
mod log;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use self::channels::{ChannelSubscription, Channels};
use self::expiring::ExpiringMap;
use self::log::Log;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::store::backend::{LogEntry, Room, Store, Subscription};

/// A store in memory. Its data is lost when the process ends. Servers of one process may share it.
///
/// It needs no background task: every call removes a few expired values. The memory it uses therefore follows the live
/// data, and no single call has to remove everything.
///
/// ```
/// use toolway::store::{MemoryStore, Store};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let store = MemoryStore::new();
/// store.put("key", "value".into(), Duration::from_secs(60)).await?;
/// assert_eq!(store.get("key").await?.as_deref(), Some(&b"value"[..]));
/// // `Debug` prints how much is stored. Expired entries count until they are removed.
/// assert_eq!(format!("{store:?}"), "MemoryStore { values: 1, logs: 0, channels: 0 }");
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct MemoryStore {
    values: Mutex<ExpiringMap<Bytes>>,
    logs: Mutex<ExpiringMap<Log>>,
    /// Shared with the subscriptions, which remove themselves when they are dropped.
    channels: Arc<Mutex<Channels>>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Returns a future that runs `work` at its first poll.
fn lazy<'s, T>(work: impl FnOnce() -> T + Send + 's) -> BoxFuture<'s, Result<T>> {
    Box::pin(async { Ok(work()) })
}

impl Store for MemoryStore {
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>> {
        lazy(|| self.values.lock().get(key).cloned())
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>> {
        lazy(move || self.values.lock().renew(key, ttl).cloned())
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>> {
        lazy(move || self.values.lock().put(key, value, ttl))
    }

    fn compare_and_swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<bool>> {
        lazy(move || {
            let mut values = self.values.lock();
            let is_expected = values.get(key) == expected.as_ref();
            if is_expected {
                values.put(key, value, ttl);
            }
            is_expected
        })
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>> {
        lazy(|| self.values.lock().remove(key).is_some())
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: LogEntry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<u64>> {
        lazy(move || {
            let mut logs = self.logs.lock();
            if let Some(log) = logs.renew(log, ttl) {
                return log.push(entry, room);
            }
            let mut fresh = Log::default();
            let number = fresh.push(entry, room);
            logs.put(log, fresh, ttl);
            number
        })
    }

    fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>> {
        lazy(move || self.logs.lock().get(log).map(|log| log.read(after, max)).unwrap_or_default())
    }

    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>> {
        lazy(|| self.logs.lock().get(log).map(Log::last))
    }

    fn renew_log<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>> {
        lazy(move || self.logs.lock().renew(log, ttl).is_some())
    }

    fn delete_log<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>> {
        lazy(|| {
            // A long log is dropped after the lock is released.
            let forgotten = self.logs.lock().remove(log);
            forgotten.is_some()
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        lazy(move || self.channels.lock().publish(channel, &message))
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        lazy(|| Box::new(ChannelSubscription::new(&self.channels, channel)) as Box<dyn Subscription>)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("values", &self.values.lock().len())
            .field("logs", &self.logs.lock().len())
            .field("channels", &self.channels.lock().len())
            .finish()
    }
}
