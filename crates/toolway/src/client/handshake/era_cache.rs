//! What do we know of servers that we have met? Which of them want a handshake, for a while.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::ground::mutex::Mutex;

/// How long it is believed that a server is an older one: it may be replaced by a newer one, and nothing would tell.
const KEPT: Duration = Duration::from_secs(10 * 60);

/// How many servers are remembered.
const MAX_SERVERS: usize = 1024;

/// What clients have found out about servers, so that they need not probe them each time. Clones share it.
///
/// Only that a server is of the older era is remembered, and for ten minutes: the newer era is found out by the first question
/// that is asked anyway.
///
/// ```
/// use toolway::client::EraCache;
/// use toolway::prelude::*;
///
/// let eras = EraCache::new();
/// let builder = Client::builder().era_cache(&eras);
/// ```
#[derive(Clone, Default)]
pub struct EraCache(Arc<Mutex<HashMap<String, Instant>>>);

/// Shows how many servers are remembered; what they are known by may hold secrets.
impl fmt::Debug for EraCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EraCache").field("servers", &self.0.lock().len()).finish()
    }
}

impl EraCache {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    pub(super) fn has(&self, server: &str) -> bool {
        self.0.lock().get(server).is_some_and(|until| Instant::now() < *until)
    }

    /// What was believed of a server is not so.
    pub(super) fn forget(&self, server: &str) {
        self.0.lock().remove(server);
    }

    /// Remembers that a server wants a handshake.
    pub(super) fn learn(&self, server: &str) {
        let mut servers = self.0.lock();
        if servers.len() >= MAX_SERVERS {
            let now = Instant::now();
            servers.retain(|_, until| now < *until);
        }
        if servers.len() < MAX_SERVERS {
            servers.insert(server.to_owned(), Instant::now() + KEPT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_known_expires() {
        let eras = EraCache::new();
        assert!(!eras.has("a"));
        eras.learn("a");
        assert!(eras.clone().has("a"));
        tokio::time::advance(KEPT).await;
        assert!(!eras.has("a"));
        for number in 0..2 * MAX_SERVERS {
            eras.learn(&number.to_string());
        }
        assert_eq!(eras.0.lock().len(), MAX_SERVERS);
    }
}
