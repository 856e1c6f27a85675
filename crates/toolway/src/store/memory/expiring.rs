//! How do values expire without a background task and without long pauses?
//!
//! In addition to the values there is a calendar: a sorted map with one date for each value. Every call checks only the
//! first few dates that have passed, so its cost does not depend on how many values expire at once. A value that was
//! renewed keeps its old date in the calendar until that date has passed, and then gets a new date. Renewing a value
//! therefore costs no more than finding it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Values by name that expire. An expired value is never returned.
pub(super) struct ExpiringMap<T> {
    entries: HashMap<Arc<str>, ExpiringEntry<T>>,
    by_expiry: BTreeMap<ExpiryKey, Arc<str>>,
    /// A counter that distinguishes values with the same instant.
    key_counter: u64,
}

type ExpiryKey = (Instant, u64);

struct ExpiringEntry<T> {
    value: T,
    expires_at: Instant,
    /// The value's position in the calendar, never later than `until`.
    expiry_key: ExpiryKey,
}

impl<T> Default for ExpiringMap<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), by_expiry: BTreeMap::new(), key_counter: 0 }
    }
}

impl<T> ExpiringMap<T> {
    pub(super) fn get(&mut self, name: &str) -> Option<&T> {
        let now = self.remove_expired();
        self.entries.get(name).filter(|thing| thing.expires_at > now).map(|thing| &thing.value)
    }

    pub(super) fn put(&mut self, name: &str, value: T, ttl: Duration) {
        let now = self.remove_expired();
        match self.entries.get_mut(name) {
            Some(thing) => {
                thing.value = value;
                thing.set_ttl(now, ttl, &mut self.by_expiry);
            }
            None => {
                let name = Arc::<str>::from(name);
                let until = expiry(now, ttl);
                self.key_counter += 1;
                let date = (until, self.key_counter);
                self.by_expiry.insert(date, name.clone());
                self.entries.insert(name, ExpiringEntry { value, expires_at: until, expiry_key: date });
            }
        }
    }

    pub(super) fn renew(&mut self, name: &str, ttl: Duration) -> Option<&mut T> {
        let now = self.remove_expired();
        let thing = self.entries.get_mut(name).filter(|thing| thing.expires_at > now)?;
        thing.set_ttl(now, ttl, &mut self.by_expiry);
        Some(&mut thing.value)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let now = self.remove_expired();
        let thing = self.entries.remove(name)?;
        self.by_expiry.remove(&thing.expiry_key);
        (thing.expires_at > now).then_some(thing.value)
    }

    /// Returns the number of values, including expired ones that are not removed yet.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Removes a few expired values. Returns the current time.
    fn remove_expired(&mut self) -> Instant {
        let now = Instant::now();
        for _ in 0..CHECKS_PER_CALL {
            let Some(first) = self.by_expiry.first_entry().filter(|first| first.key().0 <= now) else {
                break;
            };
            let ((_, number), name) = first.remove_entry();
            match self.entries.get_mut(&name) {
                Some(thing) if thing.expires_at > now => {
                    thing.expiry_key = (thing.expires_at, number);
                    self.by_expiry.insert(thing.expiry_key, name);
                }
                _ => {
                    self.entries.remove(&name);
                }
            }
        }
        shrink_if_sparse(&mut self.entries);
        now
    }
}

impl<T> ExpiringEntry<T> {
    fn set_ttl(&mut self, now: Instant, ttl: Duration, calendar: &mut BTreeMap<ExpiryKey, Arc<str>>) {
        self.expires_at = expiry(now, ttl);
        if self.expires_at < self.expiry_key.0
            && let Some(name) = calendar.remove(&self.expiry_key)
        {
            self.expiry_key.0 = self.expires_at;
            calendar.insert(self.expiry_key, name);
        }
    }
}

/// Adds `ttl` to `now`. A `ttl` beyond the range of the clock, such as `Duration::MAX`, becomes a hundred years.
fn expiry(now: Instant, ttl: Duration) -> Instant {
    now.checked_add(ttl).unwrap_or_else(|| now + MAX_TTL)
}

/// Shrinks a map that is mostly empty, because a map never shrinks by itself. Shrinking moves all entries, but it
/// happens so rarely that the cost is negligible.
pub(super) fn shrink_if_sparse<K: Eq + std::hash::Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > MIN_SHRINK_CAPACITY.max(map.len() * 8) {
        map.shrink_to(map.len() * 2);
    }
}

/// The number of dates that one call checks. A call adds at most one value, so any number above one keeps up.
const CHECKS_PER_CALL: usize = 8;
/// A map of at most this capacity is not worth shrinking.
const MIN_SHRINK_CAPACITY: usize = 256;
/// One hundred years.
const MAX_TTL: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn assert_every_thing_has_one_date(things: &ExpiringMap<u32>) {
        assert_eq!(things.by_expiry.len(), things.entries.len());
        for (date, name) in &things.by_expiry {
            let thing = &things.entries[name];
            assert_eq!(thing.expiry_key, *date);
            assert!(thing.expires_at >= date.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_calendar_holds_every_thing_once_whatever_happens_to_it() {
        let mut things = ExpiringMap::default();
        // Pseudo-random steps, the same in each run.
        let mut state = 1_u64;
        for step in 0..20_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let dice = u32::try_from(state >> 40).unwrap();
            let name = (dice % 50).to_string();
            let ttl = SECOND * (dice / 50 % 20);
            match dice / 1000 % 5 {
                0 | 1 => things.put(&name, step, ttl),
                2 => _ = things.renew(&name, ttl),
                3 => _ = things.remove(&name),
                _ => tokio::time::advance(SECOND / 2).await,
            }
            if step % 16 == 0 {
                assert_every_thing_has_one_date(&things);
            }
        }
        tokio::time::advance(SECOND * 30).await;
        for _ in 0..=50 / CHECKS_PER_CALL {
            assert!(things.get("nobody").is_none());
        }
        assert_eq!((things.len(), things.by_expiry.len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_puts_away_a_few_and_the_next_ones_the_rest() {
        let mut things = ExpiringMap::default();
        for number in 0..1000_u32 {
            things.put(&number.to_string(), number, SECOND);
        }
        tokio::time::advance(SECOND).await;
        // All values have expired, but one call removes only a few of them.
        assert!(things.get("999").is_none());
        assert_eq!(things.len(), 1000 - CHECKS_PER_CALL);
        for _ in 0..1000 / CHECKS_PER_CALL {
            assert!(things.get("999").is_none());
        }
        assert_eq!(things.len(), 0);
        assert!(things.entries.capacity() <= MIN_SHRINK_CAPACITY, "{}", things.entries.capacity());
    }
}
