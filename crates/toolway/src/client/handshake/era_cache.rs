//! What do we know of servers that we have met? Which of them want a handshake, for a while.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long it is believed that a server is an older one: it may be replaced by a newer one, and nothing would tell.
const KEPT: Duration = Duration::from_mins(10);

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
pub struct EraCache(Arc<Mutex<HashMap<String, (Met, Instant)>>>);

/// Shows how many servers are remembered; what they are known by may hold secrets.
impl fmt::Debug for EraCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EraCache").field("servers", &self.lock().len()).finish()
    }
}

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// The server wants a handshake.
    Older,
}

impl EraCache {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.lock().clear();
    }

    pub(super) fn get(&self, server: &str) -> Option<Met> {
        self.lock().get(server).filter(|(_, until)| Instant::now() < *until).map(|(met, _)| *met)
    }

    /// What was believed of a server is not so.
    pub(super) fn forget(&self, server: &str) {
        self.lock().remove(server);
    }

    pub(super) fn learn(&self, server: &str, met: Met) {
        let mut servers = self.lock();
        if servers.len() >= MAX_SERVERS {
            let now = Instant::now();
            servers.retain(|_, (_, until)| now < *until);
        }
        if servers.len() < MAX_SERVERS {
            servers.insert(server.to_owned(), (met, Instant::now() + KEPT));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Met, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_known_expires() {
        let eras = EraCache::new();
        assert_eq!(eras.get("a"), None);
        eras.learn("a", Met::Older);
        assert_eq!(eras.clone().get("a"), Some(Met::Older));
        tokio::time::advance(KEPT).await;
        assert_eq!(eras.get("a"), None);
        for number in 0..2 * MAX_SERVERS {
            eras.learn(&number.to_string(), Met::Older);
        }
        assert_eq!(eras.lock().len(), MAX_SERVERS);
    }
}
