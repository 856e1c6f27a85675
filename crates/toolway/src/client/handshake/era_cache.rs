//! Which servers are known to require a handshake? Those that clients connected to in the last minutes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::ground::mutex::Mutex;

/// How long a server is remembered. The time is limited because the server may be replaced by a newer one, and the
/// client does not notice that.
const ENTRY_TTL: Duration = Duration::from_secs(10 * 60);

/// The maximum number of servers that are remembered. Further servers are not remembered until entries expire.
const MAX_SERVERS: usize = 1024;

/// A cache of the servers that require a handshake, so that clients need not probe them each time. Clones share the
/// cache.
///
/// Each server is remembered for ten minutes. Servers of the stateless era are not remembered: the probe is
/// `server/discover`, which a client sends them first anyway.
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
    pub(super) fn remove(&self, server: &str) {
        self.0.lock().remove(server);
    }

    /// Remembers that a server requires a handshake.
    pub(super) fn insert(&self, server: &str) {
        let mut servers = self.0.lock();
        if servers.len() >= MAX_SERVERS {
            let now = Instant::now();
            servers.retain(|_, until| now < *until);
        }
        if servers.len() < MAX_SERVERS {
            servers.insert(server.to_owned(), Instant::now() + ENTRY_TTL);
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
        eras.insert("a");
        assert!(eras.clone().has("a"));
        tokio::time::advance(ENTRY_TTL).await;
        assert!(!eras.has("a"));
        for number in 0..2 * MAX_SERVERS {
            eras.insert(&number.to_string());
        }
        assert_eq!(eras.0.lock().len(), MAX_SERVERS);
    }
}
