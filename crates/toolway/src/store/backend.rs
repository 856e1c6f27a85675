//! What must a store do?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// Where a server keeps what outlives one request.
///
/// Every method may be called by many tasks at once, and none of them does half of its work when its future is dropped.
/// What has expired is as if it had never been there. Keys, logs and channels have names of their own: a key and a log of
/// the same name are two things.
pub trait Store: Send + Sync + 'static {
    /// The value under a key.
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>>;

    /// The value under a key, which lives so long from now on.
    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>>;

    /// Keeps a value under a key for so long, whatever was there.
    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>>;

    /// Keeps a value under a key for so long if what is there is what was expected (`None`: nothing); whether it was.
    fn swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<bool>>;

    /// Forgets a value; whether it was there.
    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>>;

    /// Appends an entry to a log, which lives so long from now on, and gives back the entry's number: 1, 2, 3 and so on.
    /// While the entries that may be dropped take more than `room`, the oldest of them are; others never are. The entry
    /// that is being appended stays in any case.
    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: Entry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<u64>>;

    /// The entries of a log after a number, oldest first, at most `max` of them. Nothing for a log that is not there.
    fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>>;

    /// The number of the last entry of a log; nothing for a log that is not there.
    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>>;

    /// Lets a log live so long from now on; whether it is there.
    fn prolong<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>>;

    /// Forgets a log; whether it was there.
    fn forget<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>>;

    /// Tells everybody who is subscribed to a channel now.
    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>>;

    /// Hears what is published on a channel from now on: what is published after this has returned is heard.
    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>>;
}

impl fmt::Debug for dyn Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a store")
    }
}

/// A store that is shared.
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

    fn swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<bool>> {
        S::swap(self, key, expected, value, ttl)
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>> {
        S::delete(self, key)
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: Entry,
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

    fn prolong<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>> {
        S::prolong(self, log, ttl)
    }

    fn forget<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>> {
        S::forget(self, log)
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
pub struct Entry {
    /// What it says.
    pub bytes: Bytes,
    /// Whether it may be dropped when there are too many.
    pub keep: Keep,
}

/// Whether an entry may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It must stay as long as its log lives.
    Always,
    /// The oldest of these go when there are too many.
    WhileThereIsRoom,
}

/// How much of what may be dropped is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// At most so many entries.
    pub entries: usize,
    /// At most so many bytes in them.
    pub bytes: usize,
}

/// What somebody hears who subscribed. Dropping it ends the subscription.
pub trait Subscription: Send + 'static {
    /// Waits for the next message, in the order in which they were published. `None` means that messages may have been
    /// missed: whoever cares looks again at what it can read, and goes on. Dropping the future loses no message.
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>>;
}
