//! Which resources does anybody want to hear of? Whoever has to ask somebody else for news has to know.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How many listeners want to hear of each resource.
#[derive(Debug)]
pub(crate) struct Interest {
    counts: Mutex<HashMap<String, usize>>,
    /// How often the set of resources has become another one.
    version: watch::Sender<u64>,
}

impl Default for Interest {
    fn default() -> Self {
        Self { counts: Mutex::default(), version: watch::Sender::new(0) }
    }
}

impl Interest {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more wants to hear of this.
    pub(crate) fn add(&self, uri: &str) {
        let mut counts = self.lock();
        if let Some(count) = counts.get_mut(uri) {
            *count += 1;
            return;
        }
        counts.insert(uri.to_owned(), 1);
        self.version.send_modify(|version| *version += 1);
    }

    /// One does not any more.
    pub(crate) fn remove(&self, uri: &str) {
        let mut counts = self.lock();
        let Some(count) = counts.get_mut(uri) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(uri);
            self.version.send_modify(|version| *version += 1);
        }
    }

    /// The resources, and how often they have become others until now.
    pub(crate) fn now(&self) -> (BTreeSet<String>, u64) {
        let counts = self.lock();
        (counts.keys().cloned().collect(), *self.version.borrow())
    }

    /// How often they have become others.
    pub(crate) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Hears each time they become others.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_want_is_wanted_until_neither_does() {
        let interest = Interest::default();
        interest.add("a://b");
        interest.add("a://b");
        interest.add("c://d");
        assert_eq!(interest.now(), (BTreeSet::from(["a://b".to_owned(), "c://d".to_owned()]), 2));
        interest.remove("a://b");
        interest.remove("nobody://ever");
        assert_eq!(interest.version(), 2);
        interest.remove("a://b");
        assert_eq!(interest.now(), (BTreeSet::from(["c://d".to_owned()]), 3));
    }
}
