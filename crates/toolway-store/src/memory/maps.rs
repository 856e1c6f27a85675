//! Which entries do the maps have now? Each entry expires by itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::calendar::{CHECKS_PER_OPERATION, Calendar, Lifetime, shrink_if_sparse};
use super::names::{GroupName, OwnedName};

/// Maps by name. A map without entries takes no memory. An expired entry is never returned.
#[derive(Default)]
pub(super) struct Maps {
    maps: HashMap<OwnedName, Entries>,
    calendar: Calendar<(OwnedName, Arc<str>)>,
}

type Entries = HashMap<Arc<str>, (Bytes, Lifetime)>;

impl Maps {
    pub(super) fn get(&self, map: (&str, &str), key: &str, now: Instant) -> Option<&Bytes> {
        let (value, lifetime) = self.maps.get(&map as &dyn GroupName)?.get(key)?;
        (!lifetime.is_over(now)).then_some(value)
    }

    /// Returns the entries of a map.
    pub(super) fn entries(&self, map: (&str, &str), now: Instant) -> impl Iterator<Item = (&str, &Bytes)> {
        self.maps
            .get(&map as &dyn GroupName)
            .into_iter()
            .flatten()
            .filter(move |(_, (_, lifetime))| !lifetime.is_over(now))
            .map(|(key, (value, _))| (&**key, value))
    }

    /// Returns whether a map has fewer entries than `limit`. Entries are counted only if some may have expired.
    pub(super) fn has_fewer(&self, map: (&str, &str), limit: usize, now: Instant) -> bool {
        let stored = self.maps.get(&map as &dyn GroupName).map_or(0, HashMap::len);
        stored < limit || self.entries(map, now).count() < limit
    }

    pub(super) fn enter(&mut self, map: (&str, &str), key: &str, value: Bytes, now: Instant, ttl: Duration) {
        let name = match self.maps.get_key_value(&map as &dyn GroupName) {
            Some((name, _)) => name.clone(),
            None => OwnedName::new(map),
        };
        let entries = self.maps.entry(name.clone()).or_default();
        match entries.get_mut(key) {
            Some((old, lifetime)) => {
                *old = value;
                self.calendar.renew(lifetime, now, ttl);
            }
            None => {
                let key = Arc::<str>::from(key);
                let lifetime = self.calendar.begin((name, key.clone()), now, ttl);
                entries.insert(key, (value, lifetime));
            }
        }
    }

    pub(super) fn leave(&mut self, map: (&str, &str), key: &str) {
        let Some(entries) = self.maps.get_mut(&map as &dyn GroupName) else { return };
        if let Some((_, lifetime)) = entries.remove(key) {
            self.calendar.end(&lifetime);
        }
        if entries.is_empty() {
            self.maps.remove(&map as &dyn GroupName);
        }
    }

    pub(super) fn clear(&mut self, map: (&str, &str)) {
        let entries = self.maps.remove(&map as &dyn GroupName).into_iter().flatten();
        for (_, (_, lifetime)) in entries {
            self.calendar.end(&lifetime);
        }
    }

    /// Removes a few expired entries.
    pub(super) fn remove_expired(&mut self, now: Instant) {
        for _ in 0..CHECKS_PER_OPERATION {
            let maps = &mut self.maps;
            let has_checked = self.calendar.check_first(now, |(name, key)| {
                let entries = maps.get_mut(name)?;
                if entries.get(key).is_some_and(|(_, lifetime)| lifetime.is_over(now)) {
                    entries.remove(key);
                    shrink_if_sparse(entries);
                    if entries.is_empty() {
                        maps.remove(name);
                    }
                    return None;
                }
                maps.get_mut(name)?.get_mut(key).map(|(_, lifetime)| lifetime)
            });
            if !has_checked {
                break;
            }
        }
        shrink_if_sparse(&mut self.maps);
    }

    /// Returns the number of maps, including those whose entries have expired and are not removed yet.
    pub(super) fn len(&self) -> usize {
        self.maps.len()
    }
}

#[cfg(test)]
impl Maps {
    pub(super) fn assert_each_has_one_date(&self) {
        assert_eq!(self.calendar.dates().count(), self.maps.values().map(HashMap::len).sum::<usize>());
        assert!(self.maps.values().all(|entries| !entries.is_empty()));
        for (date, (name, key)) in self.calendar.dates() {
            self.maps[name][key].1.assert_has_date(date);
        }
    }
}
