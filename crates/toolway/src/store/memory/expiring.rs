//! How do things go away when their time is over, without a task and without a pause?
//!
//! Besides the things themselves there is a calendar with one date a thing. Every call looks at the first few dates that
//! have passed, so a call costs the same however much expires at once. A thing that lives longer by now keeps its date
//! until that has come, and gets its next one then: renewing it costs no more than finding it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Things by name, each with an end. What has expired is not there.
pub(super) struct Expiring<T> {
    things: HashMap<Arc<str>, Thing<T>>,
    calendar: BTreeMap<Date, Arc<str>>,
    /// Tells apart what falls on the same instant.
    dates: u64,
}

type Date = (Instant, u64);

struct Thing<T> {
    value: T,
    until: Instant,
    /// Where it stands in the calendar, never later than `until`.
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

    /// How many are held, with those that have expired and are not put away yet.
    pub(super) fn len(&self) -> usize {
        self.things.len()
    }

    /// Puts away a few of what has expired; gives back what time it is.
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

/// No clock can say the end of `Duration::MAX`.
fn end(now: Instant, ttl: Duration) -> Instant {
    now.checked_add(ttl).unwrap_or_else(|| now + A_LONG_TIME)
}

/// A map keeps the size it once had; one that is mostly empty gives it back, seldom enough to pay for the move.
pub(super) fn give_back<K: Eq + std::hash::Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > SMALL.max(map.len() * 8) {
        map.shrink_to(map.len() * 2);
    }
}

/// A call adds at most one thing, so looking at more than one a call is enough to keep up.
const A_FEW: usize = 8;
/// A map of this size is not worth shrinking.
const SMALL: usize = 256;
/// A hundred years.
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
        // The same steps each run, in an order that looks like none.
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
        // All have expired, and a call that comes then does not pay for all.
        assert!(things.get("999").is_none());
        assert_eq!(things.len(), 1000 - A_FEW);
        for _ in 0..1000 / A_FEW {
            assert!(things.get("999").is_none());
        }
        assert_eq!(things.len(), 0);
        assert!(things.things.capacity() <= SMALL, "{}", things.things.capacity());
    }
}
