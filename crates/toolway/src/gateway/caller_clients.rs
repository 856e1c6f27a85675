//! Which client carries the calls of one caller?
//!
//! By default all calls go through the client that was mounted, with its credentials. A gateway whose callers have rights of
//! their own at the other server uses a client for each of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use crate::client::Client;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::server::Principal;

/// Makes the client of a caller for a server.
pub(super) type MakeClient =
    Box<dyn Fn(String, Principal) -> BoxFuture<'static, Result<Client>> + Send + Sync>;

/// The clients of all callers.
pub(super) struct CallerClients {
    make: MakeClient,
    /// By the name of the server and the principal.
    known: Mutex<HashMap<(Arc<str>, Principal), CallerClient>>,
}

struct CallerClient {
    client: Arc<OnceCell<Client>>,
    last_used: Instant,
}

impl CallerClients {
    pub(super) fn new(make: MakeClient) -> Self {
        Self { make, known: Mutex::default() }
    }

    /// Returns the client of a caller. It is made when the caller calls first, and closed after it was idle for a while.
    pub(super) async fn get(&self, server: &Arc<str>, caller: Option<&Principal>) -> Result<Client> {
        let Some(caller) = caller else {
            let text = "a caller without a principal has no client of its own for the mounted server";
            return Err(Error::new(ErrorKind::Misuse, text));
        };
        let client = self.place_of(server, caller);
        let made = client.get_or_try_init(|| async {
            let client = (self.make)(server.to_string(), caller.clone()).await?;
            client.forward_questions();
            Ok::<_, Error>(client)
        });
        made.await.cloned()
    }

    fn place_of(&self, server: &Arc<str>, caller: &Principal) -> Arc<OnceCell<Client>> {
        let now = Instant::now();
        let key = (server.clone(), caller.clone());
        let mut known = self.known.lock();
        if !known.contains_key(&key) {
            known.retain(|_, kept| now.duration_since(kept.last_used) < MAX_IDLE);
            if known.len() >= MAX_CLIENTS {
                let oldest = known.iter().min_by_key(|(_, kept)| kept.last_used).map(|(key, _)| key.clone());
                oldest.map(|key| known.remove(&key));
            }
        }
        let kept =
            known.entry(key).or_insert_with(|| CallerClient { client: Arc::default(), last_used: now });
        kept.last_used = now;
        kept.client.clone()
    }
}

/// The largest number of clients. The one that was not used for the longest time makes room for the next.
const MAX_CLIENTS: usize = 1000;
/// The time after which a client that is not used is closed.
const MAX_IDLE: Duration = Duration::from_secs(10 * 60);
