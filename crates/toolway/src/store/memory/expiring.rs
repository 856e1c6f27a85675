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
pub(super) struct Expiring<T> {
    things: HashMap<Arc<str>, Thing<T>>,
    calendar: BTreeMap<Date, Arc<str>>,
    /// A counter that distinguishes values with the same instant.
    dates: u64,
}

type Date = (Instant, u64);

struct Thing<T> {
    value: T,
    until: Instant,
    /// The value's position in the calendar, never later than `until`.
    date: Date,
}

impl<T> Default for Expiring<T> {
    fn default() -> Self {
        Self { things: HashMap::new(), calendar: BTreeMap::new(), dates: 0 }
    }
}

impl<T> Expiring<T> {
    pub(super) fn get(&mut self, name: &str) -> Option<&T> {
        let now = self.tidy();
        self.things.get(name).filter(|thing| thing.until > now).map(|thing| &thing.value)
    }

    pub(super) fn put(&mut self, name: &str, value: T, ttl: Duration) {
        let now = self.tidy();
        match self.things.get_mut(name) {
            Some(thing) => {
                thing.value = value;
                thing.live(now, ttl, &mut self.calendar);
            }
            None => {
                let name = Arc::<str>::from(name);
                let until = end(now, ttl);
                self.dates += 1;
                let date = (until, self.dates);
                self.calendar.insert(date, name.clone());
                self.things.insert(name, Thing { value, until, date });
            }
        }
    }

    pub(super) fn renew(&mut self, name: &str, ttl: Duration) -> Option<&mut T> {
        let now = self.tidy();
        let thing = self.things.get_mut(name).filter(|thing| thing.until > now)?;
        thing.live(now, ttl, &mut self.calendar);
        Some(&mut thing.value)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let now = self.tidy();
        let thing = self.things.remove(name)?;
        self.calendar.remove(&thing.date);
        (thing.until > now).then_some(thing.value)
    }

    /// Returns the number of values, including expired ones that are not removed yet.
    pub(super) fn len(&self) -> usize {
        self.things.len()
    }

    /// Removes a few expired values. Returns the current time.
    fn tidy(&mut self) -> Instant {
        let now = Instant::now();
        for _ in 0..A_FEW {
            let Some(first) = self.calendar.first_entry().filter(|first| first.key().0 <= now) else { break };
            let ((_, number), name) = first.remove_entry();
            match self.things.get_mut(&name) {
                Some(thing) if thing.until > now => {
                    thing.date = (thing.until, number);
                    self.calendar.insert(thing.date, name);
                }
                _ => {
                    self.things.remove(&name);
                }
            }
        }
        give_back(&mut self.things);
        now
    }
}

impl<T> Thing<T> {
    fn live(&mut self, now: Instant, ttl: Duration, calendar: &mut BTreeMap<Date, Arc<str>>) {
        self.until = end(now, ttl);
        if self.until < self.date.0
            && let Some(name) = calendar.remove(&self.date)
        {
            self.date.0 = self.until;
            calendar.insert(self.date, name);
        }
    }
}

/// Adds `ttl` to `now`. A `ttl` beyond the range of the clock, such as `Duration::MAX`, becomes a hundred years.
fn end(now: Instant, ttl: Duration) -> Instant {
    now.checked_add(ttl).unwrap_or_else(|| now + A_LONG_TIME)
}

/// Shrinks a map that is mostly empty, because a map never shrinks by itself. Shrinking moves all entries, but it
/// happens so rarely that the cost is negligible.
pub(super) fn give_back<K: Eq + std::hash::Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > SMALL.max(map.len() * 8) {
        map.shrink_to(map.len() * 2);
    }
}

/// The number of dates that one call checks. A call adds at most one value, so any number above one keeps up.
const A_FEW: usize = 8;
/// A map of at most this capacity is not worth shrinking.
const SMALL: usize = 256;
/// One hundred years.
const A_LONG_TIME: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn assert_every_thing_has_one_date(things: &Expiring<u32>) {
        assert_eq!(things.calendar.len(), things.things.len());
        for (date, name) in &things.calendar {
            let thing = &things.things[name];
            assert_eq!(thing.date, *date);
            assert!(thing.until >= date.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_calendar_holds_every_thing_once_whatever_happens_to_it() {
        let mut things = Expiring::default();
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
        for _ in 0..=50 / A_FEW {
            assert!(things.get("nobody").is_none());
        }
        assert_eq!((things.len(), things.calendar.len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_puts_away_a_few_and_the_next_ones_the_rest() {
        let mut things = Expiring::default();
        for number in 0..1000_u32 {
            things.put(&number.to_string(), number, SECOND);
        }
        tokio::time::advance(SECOND).await;
        // All values have expired, but one call removes only a few of them.
        assert!(things.get("999").is_none());
        assert_eq!(things.len(), 1000 - A_FEW);
        for _ in 0..1000 / A_FEW {
            assert!(things.get("999").is_none());
        }
        assert_eq!(things.len(), 0);
        assert!(things.things.capacity() <= SMALL, "{}", things.things.capacity());
    }
}
