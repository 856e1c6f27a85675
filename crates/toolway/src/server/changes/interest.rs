//! Which resources have subscribers? A server that forwards subscriptions to other servers needs this list.

use std::collections::HashMap;

use tokio::sync::watch;

use crate::ground::mutex::Mutex;

/// How many listeners subscribe to each resource.
#[derive(Debug)]
pub(crate) struct Interest {
    pub(crate) counts: Mutex<HashMap<String, usize>>,
    /// How often the set of resources has changed.
    pub(crate) version: watch::Sender<u64>,
}

impl Default for Interest {
    fn default() -> Self {
        Self { counts: Mutex::default(), version: watch::Sender::new(0) }
    }
}

impl Interest {
    /// Counts one more subscriber of a resource.
    pub(crate) fn add(&self, uri: &str) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(uri) {
            *count += 1;
            return;
        }
        counts.insert(uri.to_owned(), 1);
        self.version.send_modify(|version| *version += 1);
    }

    /// Counts one subscriber of a resource less.
    pub(crate) fn remove(&self, uri: &str) {
        let mut counts = self.counts.lock();
        let Some(count) = counts.get_mut(uri) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(uri);
            self.version.send_modify(|version| *version += 1);
        }
    }
}
