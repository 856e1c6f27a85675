//! What is known about servers that clients have connected to before? Which of them require a handshake, for a limited
//! time.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::ground::mutex::Mutex;

/// How long a server is remembered as one of the handshake era. The limit is needed because a newer server may replace
/// it unnoticed.
const KEPT: Duration = Duration::from_secs(10 * 60);

/// The maximum number of servers that are remembered.
const MAX_SERVERS: usize = 1024;

/// Remembers which era servers speak, so that clients need not probe them each time. Clones share the cache.
///
/// Only servers of the handshake era are remembered, each for ten minutes. For the newer era the cache is not needed:
/// there the probe is the first request anyway.
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

/// Shows only the number of servers: the keys may contain secrets.
impl fmt::Debug for EraCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EraCache").field("servers", &self.0.lock().len()).finish()
    }
}

impl EraCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    pub(super) fn has(&self, server: &str) -> bool {
        self.0.lock().get(server).is_some_and(|until| Instant::now() < *until)
    }

    /// Removes a server whose entry has turned out to be wrong.
    pub(super) fn forget(&self, server: &str) {
        self.0.lock().remove(server);
    }

    /// Remembers that a server requires a handshake.
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
