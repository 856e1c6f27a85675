//! A store in the memory of one process.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::{Entry, Keep, Room, Store, Storing, Subscription};

/// A store in memory: nothing survives the process, and servers of one process may share it.
///
/// ```
/// use toolway::store::{Memory, Store};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let store = Memory::new();
/// store.put("key", "value".into(), Duration::from_secs(60)).await?;
/// assert_eq!(store.get("key").await?.as_deref(), Some(&b"value"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Memory(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    values: HashMap<String, (Bytes, Instant)>,
    logs: HashMap<String, Log>,
    channels: HashMap<String, broadcast::Sender<Bytes>>,
    /// How many writes there were since the expired were looked for.
    writes: usize,
}

struct Log {
    entries: VecDeque<(u64, Entry)>,
    /// How much of what may be dropped is in it.
    droppable: Room,
    last: u64,
    until: Instant,
}

impl Log {
    fn new(until: Instant) -> Self {
        Self { entries: VecDeque::new(), droppable: Room { entries: 0, bytes: 0 }, last: 0, until }
    }

    fn push(&mut self, entry: Entry, room: Room) -> u64 {
        self.last += 1;
        if entry.keep == Keep::WhileThereIsRoom {
            self.droppable.entries += 1;
            self.droppable.bytes += entry.bytes.len();
        }
        self.entries.push_back((self.last, entry));
        while self.droppable.entries > room.entries || self.droppable.bytes > room.bytes {
            let oldest = self.entries.iter().position(|(_, entry)| entry.keep == Keep::WhileThereIsRoom);
            match oldest.filter(|oldest| oldest + 1 < self.entries.len()) {
                Some(oldest) => self.drop_entry(oldest),
                None => break,
            }
        }
        self.last
    }

    fn drop_entry(&mut self, place: usize) {
        if let Some((_, entry)) = self.entries.remove(place) {
            self.droppable.entries -= 1;
            self.droppable.bytes -= entry.bytes.len();
        }
    }
}

/// Expired entries are looked for once in so many writes: their number is bounded by that of the live ones.
const SWEEP: usize = 256;
/// How many messages a subscriber may be behind before it has missed some.
const MAX_BEHIND: usize = 16;

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn sweep(&mut self) {
        self.writes += 1;
        if self.writes < SWEEP.max(self.values.len() + self.logs.len()) {
            return;
        }
        self.writes = 0;
        let now = Instant::now();
        self.values.retain(|_, (_, until)| *until > now);
        self.logs.retain(|_, log| log.until > now);
        self.channels.retain(|_, channel| channel.receiver_count() > 0);
    }

    fn value(&self, key: &str) -> Option<&Bytes> {
        self.values.get(key).filter(|(_, until)| *until > Instant::now()).map(|(value, _)| value)
    }

    fn log(&self, name: &str) -> Option<&Log> {
        self.logs.get(name).filter(|log| log.until > Instant::now())
    }
}

fn done<T: Send + 'static>(value: T) -> Storing<'static, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Store for Memory {
    fn get<'s>(&'s self, key: &'s str) -> Storing<'s, Option<Bytes>> {
        done(self.lock().value(key).cloned())
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> Storing<'s, ()> {
        let mut kept = self.lock();
        kept.values.insert(key.to_owned(), (value, Instant::now() + ttl));
        kept.sweep();
        done(())
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> Storing<'s, Option<Bytes>> {
        let now = Instant::now();
        let mut kept = self.lock();
        let found = kept.values.get_mut(key).filter(|(_, until)| *until > now);
        done(found.map(|(value, until)| {
            *until = now + ttl;
            value.clone()
        }))
    }

    fn swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> Storing<'s, bool> {
        let mut kept = self.lock();
        let is_expected = kept.value(key) == expected.as_ref();
        if is_expected {
            kept.values.insert(key.to_owned(), (value, Instant::now() + ttl));
            kept.sweep();
        }
        done(is_expected)
    }

    fn delete<'s>(&'s self, key: &'s str) -> Storing<'s, bool> {
        let mut kept = self.lock();
        let was_there = kept.value(key).is_some();
        kept.values.remove(key);
        done(was_there)
    }

    fn append<'s>(&'s self, log: &'s str, entry: Entry, room: Room, ttl: Duration) -> Storing<'s, u64> {
        let mut kept = self.lock();
        let now = Instant::now();
        let fresh = || Log { until: now + ttl, ..Log::new(now) };
        let found = kept.logs.entry(log.to_owned()).or_insert_with(fresh);
        if found.until <= now {
            *found = fresh();
        }
        found.until = now + ttl;
        let number = found.push(entry, room);
        kept.sweep();
        done(number)
    }

    fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> Storing<'s, Vec<(u64, Bytes)>> {
        let kept = self.lock();
        let entries = kept.log(log).into_iter().flat_map(|log| &log.entries);
        done(
            entries
                .filter(|(number, _)| *number > after)
                .take(max)
                .map(|(number, entry)| (*number, entry.bytes.clone()))
                .collect(),
        )
    }

    fn last<'s>(&'s self, log: &'s str) -> Storing<'s, Option<u64>> {
        done(self.lock().log(log).map(|log| log.last))
    }

    fn prolong<'s>(&'s self, log: &'s str, ttl: Duration) -> Storing<'s, bool> {
        let now = Instant::now();
        let mut kept = self.lock();
        let found = kept.logs.get_mut(log).filter(|log| log.until > now);
        done(found.map(|log| log.until = now + ttl).is_some())
    }

    fn forget<'s>(&'s self, log: &'s str) -> Storing<'s, bool> {
        let mut kept = self.lock();
        let was_there = kept.log(log).is_some();
        kept.logs.remove(log);
        done(was_there)
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> Storing<'s, ()> {
        if let Some(channel) = self.lock().channels.get(channel) {
            // Nobody listens any more: the sweep takes the channel away.
            let _ = channel.send(message);
        }
        done(())
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> Storing<'s, Box<dyn Subscription>> {
        let mut kept = self.lock();
        kept.sweep();
        let sender =
            kept.channels.entry(channel.to_owned()).or_insert_with(|| broadcast::Sender::new(MAX_BEHIND));
        done(Box::new(Heard(sender.subscribe())))
    }
}

struct Heard(broadcast::Receiver<Bytes>);

impl Subscription for Heard {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + '_>> {
        Box::pin(async {
            match self.0.recv().await {
                Ok(message) => Some(message),
                Err(broadcast::error::RecvError::Lagged(_)) => None,
                // The store itself is gone, and with it everybody who could say something.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        })
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.lock();
        write!(f, "Memory({} values, {} logs)", kept.values.len(), kept.logs.len())
    }
}
