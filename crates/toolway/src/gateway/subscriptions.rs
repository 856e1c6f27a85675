//! How does the gateway receive updates of the resources that its clients subscribe to?
//!
//! In revision 2026-07-28, one listening request covers all resources of a server. In older revisions, each resource
//! needs its own subscription. Changes of lists are not handled here: the hub follows them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use toolway_protocol::Notification;

use crate::client::calls::watch::Heard;
use crate::client::wire::backoff::backoff;
use crate::client::{Change, Client, News};
use crate::ground::poll_once::poll_once;
use crate::hub::{Ear, MAX_WATCHING, Unheard, Upstream, listen};
use crate::server::Offering;

/// The resources of one server. The key is the URI on that server; the value is the set of URIs that clients of the
/// gateway use for the resource.
pub(super) type Uris = BTreeMap<String, BTreeSet<String>>;

/// The subscribed resources of each server.
#[derive(Default)]
pub(super) struct Interest(HashMap<Arc<str>, Arc<Wish>>);

/// The resources to subscribe to at one server (`wanted`), and the resources of the last requests to that server
/// (`told`).
#[derive(Default)]
pub(super) struct Wish {
    wanted: watch::Sender<Arc<Uris>>,
    told: watch::Sender<Option<Arc<Uris>>>,
}

impl Interest {
    pub(super) fn of(&mut self, server: &Arc<str>) -> Arc<Wish> {
        self.0.entry(server.clone()).or_default().clone()
    }

    pub(super) fn forget(&mut self, server: &Arc<str>) {
        self.0.remove(server);
    }

    /// Sets the subscribed resources. The returned future waits until the requests to all servers were made.
    pub(super) fn set(&self, mut by_server: BTreeMap<Arc<str>, Uris>) -> impl Future<Output = ()> + use<> {
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
                let mut told = wish.told.subscribe();
                let _ = told.wait_for(|told| told.as_ref().is_some_and(|told| *told == uris)).await;
            }
        }
    }
}

/// The task that subscribes to the resources of one server.
pub(super) struct Subscriptions {
    upstream: Upstream,
    offering: Offering,
    wish: Arc<Wish>,
    wanted: watch::Receiver<Arc<Uris>>,
    news: News,
    openings: watch::Receiver<u64>,
    /// The number of listening requests that failed or ended since the server last reported a change.
    failures: u32,
}

impl Subscriptions {
    pub(super) fn new(upstream: Upstream, offering: Offering, wish: Arc<Wish>) -> Self {
        Self {
            wanted: wish.wanted.subscribe(),
            news: upstream.client.news(),
            openings: upstream.client.openings(),
            failures: 0,
            upstream,
            offering,
            wish,
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
            let mut ear = Ear::Mute;
            if !uris.is_empty() {
                self.listen(&uris, &mut ear).await;
            }
            self.wish.told.send_replace(Some(uris));
            self.openings.mark_unchanged();
            self.hear(ear).await;
        }
    }

    /// Receives updates until a new listening request is needed.
    async fn hear(&mut self, mut ear: Ear) {
        loop {
            tokio::select! {
                heard = ear.next() => match heard {
                    Heard::Changed(change) => self.changed(&change),
                    Heard::Lost => ear = self.deaf(),
                    Heard::Over => return,
                },
                uri = next_update(&mut self.news, &self.upstream.client) => self.updated(&uri),
                // After a reconnect, the server may be a different process or use a different revision.
                Ok(()) = self.openings.changed() => return,
                Ok(()) = self.wanted.changed() => self.want(&mut ear).await,
            }
        }
    }

    /// Listens for these resources, in place of the previous ones.
    async fn listen(&mut self, uris: &Uris, ear: &mut Ear) {
        let client = &self.upstream.client;
        let is_subscribed_to = client.is_subscribed_to();
        let told = uris.keys().filter(|_| !is_subscribed_to).cloned();
        let Unheard { error, is_refusal } = match listen(client, told).await {
            Ok(watch) => {
                if is_subscribed_to {
                    // The client remembers the subscriptions, and repeats them after a restart of the server.
                    subscribe_to(client, &Uris::new(), uris).await;
                }
                // Changes that the old stream has already received are not lost.
                while let Poll::Ready(Heard::Changed(change)) = poll_once(pin!(ear.next())).await {
                    self.changed(&change);
                }
                *ear = Ear::Open(watch);
                return;
            }
            Err(unheard) => unheard,
        };
        let what = match (is_refusal, matches!(ear, Ear::Open(_))) {
            (true, true) => "a mounted server does not send notifications of more resources",
            (true, false) => "a mounted server does not send notifications of these resources",
            (false, _) => "a mounted server could not be asked to send notifications",
        };
        if self.failures == 0 {
            tracing::warn!(server = &*self.upstream.name, %error, "{what}");
        }
        if !is_refusal {
            *ear = self.deaf();
        } else if !matches!(ear, Ear::Open(_)) {
            *ear = Ear::Mute;
        }
        // If the server refused but an old stream is open, that stream stays in use, and only the additional resources
        // have no updates.
    }

    /// Schedules the next attempt to listen, with a backoff that grows as long as the server does not report a change.
    fn deaf(&mut self) -> Ear {
        self.failures = self.failures.saturating_add(1);
        Ear::Deaf(Instant::now() + backoff(self.failures - 1, None))
    }

    /// Handles a change of the subscribed resources.
    async fn want(&mut self, ear: &mut Ear) {
        let uris = self.wanted.borrow_and_update().clone();
        let before = self.wish.told.borrow().clone().unwrap_or_default();
        let client = &self.upstream.client;
        // If only the URIs that clients of the gateway use have changed, the server needs no new request.
        if !uris.keys().eq(before.keys()) {
            let is_subscribed_to = client.is_subscribed_to() && matches!(ear, Ear::Open(_));
            if is_subscribed_to {
                subscribe_to(client, &before, &uris).await;
            }
            if uris.is_empty() {
                *ear = Ear::Mute;
            } else if !is_subscribed_to {
                self.listen(&uris, ear).await;
            }
        }
        self.wish.told.send_replace(Some(uris));
    }

    fn changed(&mut self, change: &Change) {
        self.failures = 0;
        if let Change::Resource(uri) = change {
            self.updated(uri);
        }
    }

    /// Forwards the update of a resource to its subscribers, under the URIs that they use. A server may report a
    /// sub-resource of a subscribed resource; such a report counts as an update of the subscribed resource.
    fn updated(&self, uri: &str) {
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
async fn subscribe_to(client: &Client, before: &Uris, uris: &Uris) {
    for uri in uris.keys().filter(|uri| !before.contains_key(*uri)) {
        match timeout(MAX_WATCHING, client.subscribe(uri)).await {
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
        match timeout(MAX_WATCHING, client.unsubscribe(uri)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "unsubscribing from a resource failed"),
            Err(_) => return,
        }
    }
}

/// Waits for the next update of a resource, from a server with one subscription for each resource.
async fn next_update(news: &mut News, client: &Client) -> String {
    loop {
        match news.next().await {
            Some(Notification::ResourceUpdated(updated)) if client.is_subscribed_to() => return updated.uri,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}
