//! Which values and logs exist now?

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::calendar::{CHECKS_PER_OPERATION, Calendar, Lifetime, shrink_if_sparse};
use super::names::{GroupName, OwnedName};

/// Things by name that expire. An expired thing is never returned.
pub(super) struct Expiring<T> {
    things: HashMap<OwnedName, (T, Lifetime)>,
    calendar: Calendar<OwnedName>,
}

impl<T> Default for Expiring<T> {
    fn default() -> Self {
        Self { things: HashMap::new(), calendar: Calendar::default() }
    }
}

impl<T> Expiring<T> {
    pub(super) fn get(&self, name: (&str, &str), now: Instant) -> Option<&T> {
        let (thing, lifetime) = self.things.get(&name as &dyn GroupName)?;
        (!lifetime.is_over(now)).then_some(thing)
    }

    pub(super) fn get_mut(&mut self, name: (&str, &str), now: Instant) -> Option<&mut T> {
        let (thing, lifetime) = self.things.get_mut(&name as &dyn GroupName)?;
        (!lifetime.is_over(now)).then_some(thing)
    }

    pub(super) fn put(&mut self, name: (&str, &str), thing: T, now: Instant, ttl: Duration) {
        match self.things.get_mut(&name as &dyn GroupName) {
            Some((old, lifetime)) => {
                *old = thing;
                self.calendar.renew(lifetime, now, ttl);
            }
            None => {
                let name = OwnedName::new(name);
                let lifetime = self.calendar.begin(name.clone(), now, ttl);
                self.things.insert(name, (thing, lifetime));
            }
        }
    }

    pub(super) fn renew(&mut self, name: (&str, &str), now: Instant, ttl: Duration) -> Option<&mut T> {
        let (thing, lifetime) = self.things.get_mut(&name as &dyn GroupName)?;
        if lifetime.is_over(now) {
            return None;
        }
        self.calendar.renew(lifetime, now, ttl);
        Some(thing)
    }

    pub(super) fn remove(&mut self, name: (&str, &str)) {
        if let Some((_, lifetime)) = self.things.remove(&name as &dyn GroupName) {
            self.calendar.end(&lifetime);
        }
    }

    /// Removes a few expired things.
    pub(super) fn remove_expired(&mut self, now: Instant) {
        for _ in 0..CHECKS_PER_OPERATION {
            let things = &mut self.things;
            let has_checked = self.calendar.check_first(now, |name| {
                if things.get(name).is_some_and(|(_, lifetime)| lifetime.is_over(now)) {
                    things.remove(name);
                }
                things.get_mut(name).map(|(_, lifetime)| lifetime)
            });
            if !has_checked {
                break;
            }
        }
        shrink_if_sparse(&mut self.things);
    }

    /// Returns the number of things, including expired ones that are not removed yet.
    pub(super) fn len(&self) -> usize {
        self.things.len()
    }
}

#[cfg(test)]
impl<T> Expiring<T> {
    pub(super) fn assert_each_has_one_date(&self) {
        assert_eq!(self.calendar.dates().count(), self.things.len());
        for (date, name) in self.calendar.dates() {
            self.things[name].1.assert_has_date(date);
        }
    }

    pub(super) fn has_shrunk(&self) -> bool {
        self.things.capacity() <= super::calendar::MIN_SHRINK_CAPACITY
    }
}
