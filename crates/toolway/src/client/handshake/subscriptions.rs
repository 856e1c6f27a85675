//! Of which resources does a server tell, and what is a new connection told that the old one knew?
//!
//! A server of this era tells of the resources that it was asked to tell of, one by one, and forgets them with the connection. What
//! the application has asked for, and what is watched, outlives it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolway_protocol::Request;
use toolway_protocol::request::ResourceUri;

use crate::client::wire::era_link::{Requester, WatchRequest};
use crate::ground::error::{Error, Result};
use crate::ground::mutex::Mutex;

/// How long a new connection may take to hear what the old one knew.
const MAX_RESTORING: Duration = Duration::from_secs(10);

/// How much of that it is told at once.
const RESTORED_AT_ONCE: usize = 32;

/// How long the server may take to answer an unsubscribe.
const UNSUBSCRIBING: Duration = Duration::from_secs(5);

/// Has the server tell of changes until the connection ends. News of lists come without being asked for.
pub(super) async fn subscribe(watch: WatchRequest<'_>) -> Result<()> {
    let WatchRequest { requester, filter, timeout, begun, over } = watch;
    requester.transport().listening().await;
    for uri in filter.resource_subscriptions.iter().flatten() {
        let request = Request::Subscribe(ResourceUri::new(uri));
        requester.ask(requester.next_id(), request, timeout).await?;
    }
    begun();
    over.await;
    Ok(())
}

/// The resources that a server is to tell of.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<Resources>);

#[derive(Default)]
struct Resources {
    /// Those that the application has asked for. A new connection is told of them.
    asked: BTreeSet<String>,
    /// Those that are watched, and by how many watchers. A watcher asks for them again itself.
    watched: HashMap<String, usize>,
}

impl Subscriptions {
    /// Remembers what the application has asked for.
    pub(crate) fn note(&self, request: &Request) {
        if let Request::Subscribe(resource) = request {
            self.0.lock().asked.insert(resource.uri.clone());
        } else if let Request::Unsubscribe(resource) = request {
            self.0.lock().asked.remove(&resource.uri);
        }
    }

    /// Tells a new connection what the old one knew, and `first` before. A server that does not want it any more, or does not
    /// answer, goes on without.
    pub(crate) async fn restore(&self, requester: impl Requester + Clone + 'static, first: Option<Request>) {
        let asked: Vec<_> =
            self.0.lock().asked.iter().map(|uri| Request::Subscribe(ResourceUri::new(uri))).collect();
        let restoring = async {
            let mut telling = JoinSet::new();
            for request in first.into_iter().chain(asked) {
                if telling.len() >= RESTORED_AT_ONCE {
                    telling.join_next().await;
                }
                let requester = requester.clone();
                telling.spawn(async move {
                    let method = request.method();
                    let told = requester.ask(requester.next_id(), request, Some(MAX_RESTORING)).await;
                    if let Err(error) = told {
                        tracing::warn!(%error, method = method.name(), "a new connection was not told what the old one knew");
                    }
                });
            }
            while telling.join_next().await.is_some() {}
        };
        if timeout(MAX_RESTORING, restoring).await.is_err() {
            tracing::warn!("a new connection does not hear what the old one knew");
        }
    }
}

/// The resources that one watcher watches, until this is dropped. Then the server need not tell of those that no other watches.
pub(crate) struct WatchGuard {
    subscriptions: Arc<Subscriptions>,
    resources: HashSet<String>,
    connection: Box<CurrentConnection>,
}

/// The connection of now, if it is one of this era and can be used.
type CurrentConnection = dyn Fn() -> Option<Box<dyn Requester>> + Send + Sync;

impl WatchGuard {
    pub(crate) fn begin(
        subscriptions: &Arc<Subscriptions>,
        resources: HashSet<String>,
        connection: Box<CurrentConnection>,
    ) -> Self {
        let mut all = subscriptions.0.lock();
        for uri in &resources {
            *all.watched.entry(uri.clone()).or_default() += 1;
        }
        drop(all);
        Self { subscriptions: subscriptions.clone(), resources, connection }
    }

    /// Forgets the watcher, and returns what is not wanted any more.
    fn end(&self) -> Vec<String> {
        let Resources { asked, watched } = &mut *self.subscriptions.0.lock();
        let mut unwanted = Vec::new();
        for uri in &self.resources {
            let Some(watchers) = watched.get_mut(uri) else { continue };
            *watchers -= 1;
            if *watchers == 0 {
                watched.remove(uri);
                if !asked.contains(uri) {
                    unwanted.push(uri.clone());
                }
            }
        }
        unwanted
    }
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        let unwanted = self.end();
        let (false, Some(requester), Ok(runtime)) =
            (unwanted.is_empty(), (self.connection)(), Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            let telling = async {
                for uri in unwanted {
                    let request = Request::Unsubscribe(ResourceUri::new(uri));
                    requester.ask(requester.next_id(), request, Some(UNSUBSCRIBING)).await?;
                }
                Ok::<(), Error>(())
            };
            match timeout(UNSUBSCRIBING, telling).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "the server tells of a resource that nobody watches any more");
                }
                Err(_) => tracing::debug!("the server does not hear that nobody watches any more"),
            }
        });
    }
}
