//! How does a client subscribe to resources, and how are subscriptions restored on a new connection?
//!
//! In the handshake era a client subscribes to each resource with a separate request, and the server forgets the
//! subscriptions when the connection ends. The client records the resources that the application has subscribed to and
//! the resources that are watched, because both outlive the connection.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolway_protocol::Request;
use toolway_protocol::request::ResourceUri;

use crate::client::wire::era_link::{Requester, WatchRequest};
use crate::ground::boxed_task::boxed_task;
use crate::ground::error::{Error, Result};
use crate::ground::mutex::Mutex;

/// How long it may take to restore the log level and the subscriptions on a new connection.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of requests in flight at once while the log level and the subscriptions are restored.
const MAX_CONCURRENT_RESTORES: usize = 32;

/// How long it may take to unsubscribe from the resources of a watch that was dropped.
const UNSUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Subscribes to the resources of a watch, then waits until the connection ends. Changes of lists are reported without
/// a subscription.
pub(super) async fn subscribe(watch: WatchRequest<'_>) -> Result<()> {
    let WatchRequest { requester, filter, timeout, on_begun: begun, connection_ended: over } = watch;
    requester.transport().listening().await;
    for uri in filter.resource_subscriptions.iter().flatten() {
        let request = Request::Subscribe(ResourceUri::new(uri));
        requester.send_request(requester.next_id(), request, timeout).await?;
    }
    begun();
    over.await;
    Ok(())
}

/// The resources whose changes the server should report.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<SubscribedResources>);

#[derive(Default)]
struct SubscribedResources {
    /// The resources that the application has subscribed to. [`restore`](Subscriptions::restore) subscribes to them
    /// again on a new connection.
    subscribed: BTreeSet<String>,
    /// The watched resources, with the number of their watchers. Each watcher itself subscribes again on a new
    /// connection.
    watched: HashMap<String, usize>,
}

impl Subscriptions {
    /// Records a subscribe or unsubscribe request of the application.
    pub(crate) fn note(&self, request: &Request) {
        if let Request::Subscribe(resource) = request {
            self.0.lock().subscribed.insert(resource.uri.clone());
        } else if let Request::Unsubscribe(resource) = request {
            self.0.lock().subscribed.remove(&resource.uri);
        }
    }

    /// Restores the state of the old connection on a new one: sends `first`, which sets the log level, and the
    /// subscriptions. The requests run concurrently. If the server refuses one or does not answer in time, this is only
    /// logged.
    pub(crate) async fn restore(&self, requester: impl Requester + Clone + 'static, first: Option<Request>) {
        let asked: Vec<_> =
            self.0.lock().subscribed.iter().map(|uri| Request::Subscribe(ResourceUri::new(uri))).collect();
        let restoring = async {
            let mut telling = JoinSet::new();
            for request in first.into_iter().chain(asked) {
                if telling.len() >= MAX_CONCURRENT_RESTORES {
                    telling.join_next().await;
                }
                let requester = requester.clone();
                telling.spawn(async move {
                    let method = request.method();
                    let told =
                        requester.send_request(requester.next_id(), request, Some(RESTORE_TIMEOUT)).await;
                    if let Err(error) = told {
                        tracing::warn!(
                            %error,
                            method = method.name(),
                            "a request to restore the state of the old connection on the new one failed"
                        );
                    }
                });
            }
            while telling.join_next().await.is_some() {}
        };
        if timeout(RESTORE_TIMEOUT, restoring).await.is_err() {
            tracing::warn!("restoring the state of the old connection on the new one timed out");
        }
    }
}

/// Guard of the resources that one watcher watches. When it is dropped, the client unsubscribes from the resources that
/// neither the application nor another watcher needs.
pub(crate) struct WatchGuard {
    subscriptions: Arc<Subscriptions>,
    resources: HashSet<String>,
    connection: Box<CurrentConnection>,
}

/// Returns the current connection, if it is usable and of the handshake era.
type CurrentConnection = dyn Fn() -> Option<Box<dyn Requester>> + Send + Sync;

impl WatchGuard {
    pub(crate) fn new(
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

    /// Removes the watcher, and returns the resources that are no longer needed.
    fn unwatch(&self) -> Vec<String> {
        let SubscribedResources { subscribed: asked, watched } = &mut *self.subscriptions.0.lock();
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
        let unwanted = self.unwatch();
        let (false, Some(requester), Ok(runtime)) =
            (unwanted.is_empty(), (self.connection)(), Handle::try_current())
        else {
            return;
        };
        runtime.spawn(boxed_task(async move {
            let telling = async {
                for uri in unwanted {
                    let request = Request::Unsubscribe(ResourceUri::new(uri));
                    requester.send_request(requester.next_id(), request, Some(UNSUBSCRIBE_TIMEOUT)).await?;
                }
                Ok::<(), Error>(())
            };
            match timeout(UNSUBSCRIBE_TIMEOUT, telling).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "unsubscribing from a resource that is no longer watched failed");
                }
                Err(_) => {
                    tracing::debug!("unsubscribing from resources that are no longer watched timed out");
                }
            }
        }));
    }
}
