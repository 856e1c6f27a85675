//! How does data expire without a background task and without long pauses?
//!
//! A calendar has one date for each thing that expires, sorted. Every operation checks only the first few dates that
//! have passed, so its cost does not depend on how many things expire at once. A thing that was renewed keeps its old
//! date until that date has passed, and then gets a new one. Renewing therefore costs no more than finding the thing.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// The dates at which to look at things, by their keys.
pub(super) struct Calendar<K> {
    dates: BTreeMap<Date, K>,
    /// A counter that distinguishes dates at the same instant.
    counter: u64,
}

type Date = (Instant, u64);

/// The time that a thing exists. It is stored with the thing.
pub(super) struct Lifetime {
    expires_at: Instant,
    /// The position in the calendar, never later than `expires_at`.
    date: Date,
}

impl Lifetime {
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.expires_at <= now
    }

    #[cfg(test)]
    pub(super) fn assert_has_date(&self, date: Instant) {
        assert!(self.date.0 == date && date <= self.expires_at);
    }
}

impl<K> Default for Calendar<K> {
    fn default() -> Self {
        Self { dates: BTreeMap::new(), counter: 0 }
    }
}

impl<K> Calendar<K> {
    /// Enters a thing.
    pub(super) fn begin(&mut self, key: K, now: Instant, ttl: Duration) -> Lifetime {
        let expires_at = expiry(now, ttl);
        self.counter += 1;
        let date = (expires_at, self.counter);
        self.dates.insert(date, key);
        Lifetime { expires_at, date }
    }

    /// Changes when a thing expires.
    pub(super) fn renew(&mut self, lifetime: &mut Lifetime, now: Instant, ttl: Duration) {
        lifetime.expires_at = expiry(now, ttl);
        if lifetime.expires_at < lifetime.date.0
            && let Some(key) = self.dates.remove(&lifetime.date)
        {
            lifetime.date.0 = lifetime.expires_at;
            self.dates.insert(lifetime.date, key);
        }
    }

    /// Strikes a thing out.
    pub(super) fn end(&mut self, lifetime: &Lifetime) {
        self.dates.remove(&lifetime.date);
    }

    /// Takes out the first date, if it has passed. `sort_out` receives its key, and returns the lifetime of the thing
    /// if it still exists: it then gets a new date. Otherwise `sort_out` has removed the thing.
    pub(super) fn check_first<'l>(
        &mut self,
        now: Instant,
        sort_out: impl FnOnce(&K) -> Option<&'l mut Lifetime>,
    ) -> bool {
        let Some(first) = self.dates.first_entry().filter(|first| first.key().0 <= now) else {
            return false;
        };
        let ((_, number), key) = first.remove_entry();
        if let Some(lifetime) = sort_out(&key) {
            lifetime.date = (lifetime.expires_at, number);
            self.dates.insert(lifetime.date, key);
        }
        true
    }

    #[cfg(test)]
    pub(super) fn dates(&self) -> impl Iterator<Item = (Instant, &K)> {
        self.dates.iter().map(|((at, _), key)| (*at, key))
    }
}

/// Adds `ttl` to `now`. A `ttl` beyond the range of the clock, such as `Duration::MAX`, becomes a hundred years.
fn expiry(now: Instant, ttl: Duration) -> Instant {
    now.checked_add(ttl).unwrap_or_else(|| now + MAX_TTL)
}

/// Shrinks a map that is mostly empty, because a map never shrinks by itself. Shrinking moves all entries, but it
/// happens so rarely that the cost is negligible.
pub(super) fn shrink_if_sparse<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > MIN_SHRINK_CAPACITY.max(map.len() * 8) {
        map.shrink_to(map.len() * 2);
    }
}

/// The number of dates that one operation checks. An operation adds at most one thing, so any number above one keeps up.
pub(super) const CHECKS_PER_OPERATION: usize = 8;
/// A map of at most this capacity is not worth shrinking.
pub(super) const MIN_SHRINK_CAPACITY: usize = 256;
/// One hundred years.
const MAX_TTL: Duration = Duration::from_secs(3_153_600_000);
