//! Which resources does anybody want to hear of? Whoever has to ask somebody else for news has to know.

use std::collections::HashMap;

use tokio::sync::watch;

use crate::ground::mutex::Mutex;

/// How many listeners want to hear of each resource.
#[derive(Debug)]
pub(crate) struct Interest {
    pub(crate) counts: Mutex<HashMap<String, usize>>,
    /// How often the set of resources has become another one.
    pub(crate) version: watch::Sender<u64>,
}

impl Default for Interest {
    fn default() -> Self {
        Self { counts: Mutex::default(), version: watch::Sender::new(0) }
    }
}

impl Interest {
    /// One more wants to hear of this.
    pub(crate) fn add(&self, uri: &str) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(uri) {
            *count += 1;
            return;
        }
        counts.insert(uri.to_owned(), 1);
        self.version.send_modify(|version| *version += 1);
    }

    /// One does not any more.
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
