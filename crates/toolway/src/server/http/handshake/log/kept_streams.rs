//! Which finished streams can be resumed, and which is forgotten first when their memory is used up?

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::ground::budget::Account;
use crate::ground::mutex::Mutex;

/// A stream that a client may resume.
pub(in crate::server) trait ResumableStream: Clone {
    /// The account of the peer that the stream is kept for.
    fn account(&self) -> &Arc<Account>;

    /// Returns whether no client reads the stream, and no request writes it.
    fn is_finished(&self) -> bool;

    /// Returns how long the stream is kept after its last use.
    fn kept_for(&self) -> Duration;

    /// Deletes the log of the stream.
    fn forget(&self);
}

/// The streams of all sessions that clients may resume.
pub(in crate::server) struct KeptStreams<S>(Mutex<Table<S>>);

struct Table<S> {
    /// The streams in the order in which they were kept.
    by_age: BTreeMap<u64, KeptStream<S>>,
    /// The numbers of each peer's streams. The key is the address of the peer's account, which its streams keep alive.
    by_peer: HashMap<usize, BTreeSet<u64>>,
    last: u64,
}

struct KeptStream<S> {
    stream: S,
    until: Instant,
}

impl<S> Default for KeptStreams<S> {
    fn default() -> Self {
        Self(Mutex::new(Table { by_age: BTreeMap::new(), by_peer: HashMap::new(), last: 0 }))
    }
}

impl<S: ResumableStream> KeptStreams<S> {
    /// Keeps a stream until it expires. Returns a number to [`remove`](Self::remove) it.
    pub(in crate::server) fn insert(&self, stream: &S) -> u64 {
        let mut table = self.0.lock();
        table.remove_expired();
        table.insert(KeptStream { stream: stream.clone(), until: Instant::now() + stream.kept_for() })
    }

    /// Deletes the streams that have expired, except those in use.
    pub(in crate::server) fn remove_expired(&self) {
        self.0.lock().remove_expired();
    }

    /// Removes a stream whose log was deleted.
    pub(in crate::server) fn remove(&self, number: u64) {
        self.0.lock().remove(number);
    }

    /// Removes the oldest stream that no client reads and no request writes, of one peer or of all. The caller deletes
    /// its log.
    pub(in crate::server) fn take_oldest_finished(&self, account: Option<&Arc<Account>>) -> Option<S> {
        let mut table = self.0.lock();
        table.remove_expired();
        let is_finished =
            |number: &u64| table.by_age.get(number).is_some_and(|kept| kept.stream.is_finished());
        let number = match account {
            Some(account) => table.by_peer.get(&peer_key(account))?.iter().copied().find(is_finished),
            None => table.by_age.keys().copied().find(is_finished),
        };
        table.remove(number?).map(|kept| kept.stream)
    }
}

impl<S: ResumableStream> Table<S> {
    fn insert(&mut self, kept: KeptStream<S>) -> u64 {
        self.last += 1;
        self.by_peer.entry(peer_key(kept.stream.account())).or_default().insert(self.last);
        self.by_age.insert(self.last, kept);
        self.last
    }

    fn remove(&mut self, number: u64) -> Option<KeptStream<S>> {
        let kept = self.by_age.remove(&number)?;
        let peer = peer_key(kept.stream.account());
        if let Some(numbers) = self.by_peer.get_mut(&peer) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_peer.remove(&peer);
            }
        }
        Some(kept)
    }

    /// Deletes the streams that have expired. A stream that is in use is kept for longer.
    fn remove_expired(&mut self) {
        let now = Instant::now();
        // A stream that is kept for longer gets a higher number, and is not looked at again.
        let newest = self.last;
        let is_due = |number: u64, kept: &KeptStream<S>| number <= newest && kept.until <= now;
        while let Some(first) = self.by_age.first_entry().filter(|first| is_due(*first.key(), first.get())) {
            let number = *first.key();
            let Some(kept) = self.remove(number) else { continue };
            if kept.stream.is_finished() {
                kept.stream.forget();
            } else {
                let until = now + kept.stream.kept_for();
                self.insert(KeptStream { until, ..kept });
            }
        }
    }
}

fn peer_key(account: &Arc<Account>) -> usize {
    Arc::as_ptr(account).addr()
}
