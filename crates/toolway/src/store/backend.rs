//! What must a store do?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// Storage for data that outlives one request.
///
/// Many tasks may call every method at the same time. If the future of a method is dropped, the method has done either
/// all of its work or none. Expired data behaves as if it had never existed. Keys, logs and channels have separate
/// namespaces: a key and a log of the same name are independent.
pub trait Store: Send + Sync + 'static {
    /// Returns the value of a key.
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>>;

    /// Returns the value of a key, and makes the value expire after `ttl` from now.
    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>>;

    /// Sets the value of a key, and replaces an existing value. The new value expires after `ttl`.
    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>>;

    /// Sets the value of a key if its current value is `expected`; `None` expects the key to be unset. The new value
    /// expires after `ttl`. Returns whether the value was set.
    fn compare_and_swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<bool>>;

    /// Deletes the value of a key. Returns whether the key had a value.
    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>>;

    /// Appends an entry to a log and returns the entry's number: 1, 2, 3 and so on. The log expires after `ttl` from
    /// now. While the entries with [`Keep::WhileThereIsRoom`] exceed `room`, the oldest of them are dropped; entries
    /// with [`Keep::Always`] are never dropped. The entry that is being appended is always kept.
    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: LogEntry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<u64>>;

    /// Returns at most `max` entries of a log after the number `after`, oldest first. A log that does not exist gives
    /// an empty list.
    fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>>;

    /// Returns the number of the last entry of a log, or `None` if the log does not exist.
    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>>;

    /// Makes a log expire after `ttl` from now. Returns whether the log exists.
    fn renew_log<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>>;

    /// Deletes a log. Returns whether the log existed.
    fn delete_log<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>>;

    /// Sends a message to all current subscribers of a channel.
    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>>;

    /// Subscribes to a channel. The subscription receives every message that is published after this has returned.
    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>>;
}

impl fmt::Debug for dyn Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a store")
    }
}

/// Forwards to a shared store.
impl<S: Store + ?Sized> Store for Arc<S> {
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>> {
        S::get(self, key)
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>> {
        S::renew(self, key, ttl)
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>> {
        S::put(self, key, value, ttl)
    }

    fn compare_and_swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<bool>> {
        S::compare_and_swap(self, key, expected, value, ttl)
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>> {
        S::delete(self, key)
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: LogEntry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<u64>> {
        S::append(self, log, entry, room, ttl)
    }

    fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>> {
        S::read(self, log, after, max)
    }

    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>> {
        S::last(self, log)
    }

    fn renew_log<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>> {
        S::renew_log(self, log, ttl)
    }

    fn delete_log<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>> {
        S::delete_log(self, log)
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        S::publish(self, channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        S::subscribe(self, channel)
    }
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The content.
    pub bytes: Bytes,
    /// Determines whether the entry may be dropped when the log is full.
    pub keep: Keep,
}

/// Determines whether an entry may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The entry is kept as long as its log.
    Always,
    /// The entry may be dropped, the oldest first, when the log is full.
    WhileThereIsRoom,
}

/// The space for the entries of a log that may be dropped ([`Keep::WhileThereIsRoom`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The maximum number of entries.
    pub entries: usize,
    /// The maximum number of bytes in these entries.
    pub bytes: usize,
}

/// A subscription to a channel. Dropping it ends the subscription.
pub trait Subscription: Send + 'static {
    /// Waits for the next message; messages arrive in the order in which they were published. `None` means that
    /// messages may have been missed: a subscriber that needs them reads the stored data again and then continues.
    /// Dropping the future does not lose a message.
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>>;
}
