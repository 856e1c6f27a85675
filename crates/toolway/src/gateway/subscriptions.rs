//! How does the gateway receive updates of the resources that its clients subscribe to?
//!
//! In revision 2026-07-28, one listening request covers all resources of a server. In older revisions, each resource
//! needs its own subscription. Changes of lists are not handled here: the hub follows them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use toolway_protocol::Notification;

use crate::client::calls::watch::WatchEvent;
use crate::client::wire::backoff::backoff;
use crate::client::{Change, Client, NotificationReader};
use crate::ground::poll_once::poll_once;
use crate::hub::{Upstream, WATCH_TIMEOUT, WatchError, WatchState, listen};
use crate::server::SourceHandle;

/// How long a listening request must last so that the next one follows without a longer wait.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The resources of one server. The key is the URI on that server; the value is the set of URIs that clients of the
/// gateway use for the resource.
pub(super) type SubscribedUris = BTreeMap<String, BTreeSet<String>>;

/// The subscribed resources of each server.
#[derive(Default)]
pub(super) struct WantedByServer(HashMap<Arc<str>, Arc<WantedUris>>);

/// The resources to subscribe to at one server (`wanted`), and the resources of the last requests to that server
/// (`told`).
#[derive(Default)]
pub(super) struct WantedUris {
    wanted: watch::Sender<Arc<SubscribedUris>>,
    announced: watch::Sender<Option<Arc<SubscribedUris>>>,
}

impl WantedByServer {
    pub(super) fn for_server(&mut self, server: &Arc<str>) -> Arc<WantedUris> {
        self.0.entry(server.clone()).or_default().clone()
    }

    pub(super) fn remove(&mut self, server: &Arc<str>) {
        self.0.remove(server);
    }

    /// Sets the subscribed resources. The returned future waits until the requests to all servers were made.
    pub(super) fn set(
        &self,
        mut by_server: BTreeMap<Arc<str>, SubscribedUris>,
    ) -> impl Future<Output = ()> + use<> {
        for (server, wish) in &self.0 {
            let uris = by_server.remove(server).unwrap_or_default();
            wish.wanted.send_if_modified(|wanted| {
                let is_new = **wanted != uris;
                if is_new {
                    *wanted = Arc::new(uris);
                }
                is_new
            });
        }
        let wishes: Vec<_> = self.0.values().cloned().collect();
        async move {
            for wish in wishes {
                let uris = wish.wanted.borrow().clone();
                let mut told = wish.announced.subscribe();
                let _ = told.wait_for(|told| told.as_ref().is_some_and(|told| *told == uris)).await;
            }
        }
    }
}

/// The task that subscribes to the resources of one server.
pub(super) struct UpstreamSubscriber {
    upstream: Upstream,
    offering: SourceHandle,
    wanted_uris: Arc<WantedUris>,
    wanted: watch::Receiver<Arc<SubscribedUris>>,
    notifications: NotificationReader,
    reconnects: watch::Receiver<u64>,
    /// The number of listening requests that failed, or ended soon after they began.
    failures: u32,
    /// When the last listening request was sent.
    listening_since: Instant,
}

impl UpstreamSubscriber {
    pub(super) fn new(upstream: Upstream, offering: SourceHandle, wish: Arc<WantedUris>) -> Self {
        Self {
            wanted: wish.wanted.subscribe(),
            notifications: upstream.client.notifications(),
            reconnects: upstream.client.reconnects(),
            failures: 0,
            listening_since: Instant::now(),
            upstream,
            offering,
            wanted_uris: wish,
        }
    }

    /// Receives updates until the future is dropped.
    pub(super) async fn run(mut self) {
        if !self.upstream.client.is_connected() {
            // Connects now, so that the first call does not have to wait for it.
            let _ = self.upstream.client.ping().await;
        }
        loop {
            let uris = self.wanted.borrow_and_update().clone();
            let mut ear = WatchState::Silent;
            if !uris.is_empty() {
                self.listen(&uris, &mut ear).await;
            }
            self.wanted_uris.announced.send_replace(Some(uris));
            self.reconnects.mark_unchanged();
            self.receive(ear).await;
        }
    }

    /// Receives updates until a new listening request is needed.
    async fn receive(&mut self, mut ear: WatchState) {
        loop {
            tokio::select! {
                heard = ear.next() => match heard {
                    WatchEvent::Changed(change) => self.handle_change(&change),
                    WatchEvent::Lost => ear = self.retry_later(),
                    WatchEvent::Ended if matches!(ear, WatchState::Open(_)) => ear = self.retry_later(),
                    WatchEvent::Ended => return,
                },
                uri = next_update(&mut self.notifications, &self.upstream.client) => self.forward_update(&uri),
                // After a reconnect, the server may be a different process or use a different revision. A server may
                // cause reconnects again and again.
                Ok(()) = self.reconnects.changed() => {
                    if self.listening_since.elapsed() >= STABLE_AFTER || matches!(ear, WatchState::Silent) {
                        return;
                    }
                    ear = self.retry_later();
                }
                Ok(()) = self.wanted.changed() => self.update_wanted(&mut ear).await,
            }
        }
    }

    /// Listens for these resources, in place of the previous ones.
    async fn listen(&mut self, uris: &SubscribedUris, ear: &mut WatchState) {
        let client = &self.upstream.client;
        let is_subscribed_to = client.has_subscriptions();
        let told = uris.keys().filter(|_| !is_subscribed_to).cloned();
        self.listening_since = Instant::now();
        let WatchError { error, is_refusal } = match listen(client, told).await {
            Ok(watch) => {
                if is_subscribed_to {
                    // The client remembers the subscriptions, and repeats them after a restart of the server.
                    update_subscriptions(client, &SubscribedUris::new(), uris).await;
                }
                // Changes that the old stream has already received are not lost.
                while let Poll::Ready(WatchEvent::Changed(change)) = poll_once(pin!(ear.next())).await {
                    self.handle_change(&change);
                }
                *ear = WatchState::Open(watch);
                return;
            }
            Err(unheard) => unheard,
        };
        let what = match (is_refusal, matches!(ear, WatchState::Open(_))) {
            (true, true) => "a mounted server does not send notifications of more resources",
            (true, false) => "a mounted server does not send notifications of these resources",
            (false, _) => "a mounted server could not be asked to send notifications",
        };
        if self.failures == 0 {
            tracing::warn!(server = &*self.upstream.name, %error, "{what}");
        }
        if !is_refusal {
            *ear = self.retry_later();
        } else if !matches!(ear, WatchState::Open(_)) {
            *ear = WatchState::Silent;
        }
        // If the server refused but an old stream is open, that stream stays in use, and only the additional resources
        // have no updates.
    }

    /// Schedules the next attempt to listen, with a backoff that grows as long as the attempts fail or end soon.
    fn retry_later(&mut self) -> WatchState {
        if self.listening_since.elapsed() >= STABLE_AFTER {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        WatchState::RetryAt(Instant::now() + backoff(self.failures - 1, None))
    }

    /// Handles a change of the subscribed resources.
    async fn update_wanted(&mut self, ear: &mut WatchState) {
        let uris = self.wanted.borrow_and_update().clone();
        let before = self.wanted_uris.announced.borrow().clone().unwrap_or_default();
        let client = &self.upstream.client;
        // If only the URIs that clients of the gateway use have changed, the server needs no new request.
        if !uris.keys().eq(before.keys()) {
            let is_subscribed_to = client.has_subscriptions() && matches!(ear, WatchState::Open(_));
            if is_subscribed_to {
                update_subscriptions(client, &before, &uris).await;
            }
            if uris.is_empty() {
                *ear = WatchState::Silent;
            } else if !is_subscribed_to {
                self.listen(&uris, ear).await;
            }
        }
        self.wanted_uris.announced.send_replace(Some(uris));
    }

    fn handle_change(&self, change: &Change) {
        if let Change::Resource(uri) = change {
            self.forward_update(uri);
        }
    }

    /// Forwards the update of a resource to its subscribers, under the URIs that they use. A server may report a
    /// sub-resource of a subscribed resource; such a report counts as an update of the subscribed resource.
    fn forward_update(&self, uri: &str) {
        let wanted = self.wanted.borrow().clone();
        let about: Vec<_> = match wanted.get(uri) {
            Some(names) => vec![names],
            None => {
                wanted.iter().filter(|(wanted, _)| uri.starts_with(*wanted)).map(|(_, names)| names).collect()
            }
        };
        for name in about.into_iter().flatten() {
            self.offering.resource_updated(name);
        }
    }
}

/// Subscribes to new resources and unsubscribes from old ones. After the first timeout, no more requests are sent.
async fn update_subscriptions(client: &Client, before: &SubscribedUris, uris: &SubscribedUris) {
    for uri in uris.keys().filter(|uri| !before.contains_key(*uri)) {
        match timeout(WATCH_TIMEOUT, client.subscribe(uri)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, uri, "a resource of a mounted server cannot be subscribed to");
            }
            Err(_) => {
                tracing::warn!(uri, "a mounted server did not answer a subscription to a resource in time");
                return;
            }
        }
    }
    for uri in before.keys().filter(|uri| !uris.contains_key(*uri)) {
        match timeout(WATCH_TIMEOUT, client.unsubscribe(uri)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "unsubscribing from a resource failed"),
            Err(_) => return,
        }
    }
}

/// Waits for the next update of a resource, from a server with one subscription for each resource.
async fn next_update(news: &mut NotificationReader, client: &Client) -> String {
    loop {
        match news.next().await {
            Some(Notification::ResourceUpdated(updated)) if client.has_subscriptions() => return updated.uri,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}
