//! How do those that use a name at the same time share a value?

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use crate::ground::mutex::Mutex;

/// A value for each name. A value is forgotten when it is no longer used elsewhere.
pub(crate) struct WeakMap<K, T>(Mutex<HashMap<K, Weak<T>>>);

impl<K, T> Default for WeakMap<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, T> fmt::Debug for WeakMap<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakMap").field(&self.len()).finish()
    }
}

impl<K: Eq + Hash, T> WeakMap<K, T> {
    /// Returns the value of a name, or creates it.
    pub(crate) fn get_or_insert(&self, name: K, create: impl FnOnce(&K) -> Arc<T>) -> Arc<T> {
        let mut values = self.0.lock();
        if let Some(known) = values.get_mut(&name) {
            return known.upgrade().unwrap_or_else(|| {
                let value = create(&name);
                *known = Arc::downgrade(&value);
                value
            });
        }
        // Values that are no longer used are removed before the map would have to grow.
        if values.len() == values.capacity() {
            values.retain(|_, value| value.strong_count() > 0);
        }
        let value = create(&name);
        values.insert(name, Arc::downgrade(&value));
        value
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
