//! What adds elements to a server while it runs? Sources: values that have their own elements and know when these
//! change, such as a client of another server.
//!
//! A source runs in a task that ends with the server. The elements of sources come after the server's own, in the order
//! of the sources. If two elements have the same name, the first one is kept.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};
use toolway_protocol::Request;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::types::ReadResourceResult;
use toolway_protocol::uri_template::UriTemplate;

use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::ground::panic::catch_panic_async;
use crate::server::call::forwarded_call::RequestMeta;
use crate::server::call::layer::stack::LayerStack;
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::visibility::Visibility;
use crate::server::catalog::elements::Elements;
use crate::server::catalog::entry::{Entry, EntryOwner};
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::registry::Snapshot;
use crate::server::catalog::resource::{ReadFuture, ReadRequest, ResourceEntry};
use crate::server::catalog::tool::ToolEntry;
use crate::server::changes::interest::Interest;
use crate::server::changes::listeners::ListKind;
use crate::server::failure::errors::Failure;
use crate::server::{Inner, Server};

/// The maximum time that the first requests wait for the elements of the sources.
const SOURCES_READY_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time that a subscription waits until the sources have subscribed to the resource too.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A source of elements for a server.
pub(crate) trait Source: Send + Sync + 'static {
    /// Returns the capabilities that the server gets from this source, whatever elements the source has at the moment.
    fn capabilities(&self) -> ServerCapabilities;

    /// Works for a server until the future is dropped. Called once.
    fn run(self: Arc<Self>, offering: SourceHandle) -> BoxFuture<'static, ()>;

    /// Returns the canonical name of a resource that this source could read, whether it is offered or not. Several URIs
    /// may lead to the same resource. `None` if the resource does not belong to this source.
    fn canonical_uri(&self, uri: &str) -> Option<String>;

    /// Reads a resource that is not offered; `None` if it does not belong to this source.
    fn read(&self, reading: ReadRequest, scope: Scope) -> Option<ReadFuture>;
}

/// A source that was added to a builder.
pub(crate) struct SourceConfig {
    source: Arc<dyn Source>,
    /// The prefixes of names, the innermost first.
    prefixes: Vec<String>,
    layers: LayerStack,
    /// The scopes that all elements need.
    scopes: RequiredScopes,
}

impl SourceConfig {
    pub(crate) fn new(source: Arc<dyn Source>, scopes: RequiredScopes) -> Self {
        Self { source, prefixes: Vec::new(), layers: LayerStack::default(), scopes }
    }

    /// Adds a prefix to the names of tools and prompts, as with other elements.
    pub(crate) fn add_prefix(&mut self, prefix: &str) {
        self.prefixes.push(prefix.to_owned());
    }

    pub(crate) fn wrap_with(&mut self, layers: &LayerStack) {
        self.layers.wrap_with(layers);
    }

    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        self.source.capabilities()
    }
}

impl fmt::Debug for SourceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a source")
    }
}

/// The sources of a server.
#[derive(Default)]
pub(crate) struct Sources {
    all: Vec<RunningSource>,
    /// `true` if the elements of all sources are known. Read with every request, and almost always `true`.
    is_ready: AtomicBool,
}

struct RunningSource {
    config: SourceConfig,
    ready: watch::Sender<bool>,
    /// The last version of the [`WatchedResources`] of listeners for which this source has subscribed to the wanted
    /// resources.
    subscribed_version: watch::Sender<u64>,
    task: OnceLock<AbortHandle>,
    /// The elements that the source offered last.
    offered_elements: Mutex<Elements>,
}

impl Sources {
    pub(crate) fn new(added: Vec<SourceConfig>) -> Self {
        let is_settled = AtomicBool::new(added.is_empty());
        let attach = |added| RunningSource {
            config: added,
            ready: watch::Sender::new(false),
            subscribed_version: watch::Sender::new(0),
            task: OnceLock::new(),
            offered_elements: Mutex::default(),
        };
        Self { all: added.into_iter().map(attach).collect(), is_ready: is_settled }
    }

    /// Returns the source that could read a resource that is not offered, and the canonical name of the resource.
    /// `None` if no source claims the resource, or more than one.
    fn claim<'s>(&'s self, uri: &str) -> Option<(&'s RunningSource, String)> {
        let claim =
            |attached: &'s RunningSource| Some((attached, attached.config.source.canonical_uri(uri)?));
        let mut claims = self.all.iter().filter_map(claim);
        claims.next().filter(|_| claims.next().is_none())
    }

    /// Reads a resource that is not offered, if exactly one source claims it and the caller may see it.
    pub(crate) async fn read(
        &self,
        reading: &ReadRequest,
        scope: &Scope,
        allowed: Option<&Visibility>,
    ) -> Result<ReadResourceResult, Failure> {
        let claim = self.claim(&reading.uri);
        let is_seen = |(attached, name): &(&RunningSource, String)| {
            let scopes = &attached.config.scopes;
            allowed.is_none_or(|allowed| allowed.allows_unlisted(name) && allowed.allows_scopes(scopes))
        };
        let claim = claim.filter(is_seen);
        let claimed = claim
            .and_then(|(attached, _)| attached.config.source.read(reading.clone(), scope.with_states(None)));
        match claimed {
            Some(mut reading) => catch_panic_async(|| reading.as_mut()).await?.map_err(|error| error.0),
            None => Err(Failure::NotFound),
        }
    }

    /// Returns whether any source has layers.
    pub(crate) fn have_layers(&self) -> bool {
        self.all.iter().any(|attached| !attached.config.layers.is_empty())
    }

    /// Returns whether any source requires scopes.
    pub(crate) fn have_scopes(&self) -> bool {
        self.all.iter().any(|attached| !attached.config.scopes.is_empty())
    }

    /// Returns the scopes of each source that could read a resource, or could tell of its changes.
    pub(crate) fn scopes_for(&self, uri: &str) -> impl Iterator<Item = &RequiredScopes> {
        let claims = move |attached: &&RunningSource| attached.config.source.canonical_uri(uri).is_some();
        self.all.iter().filter(claims).map(|attached| &attached.config.scopes)
    }

    /// Returns the layers of the source that could read a resource that is not offered.
    pub(crate) fn layers_for(
        &self,
        snapshot: &Snapshot,
        request: &Request,
        allowed: Option<&Visibility>,
    ) -> Option<&LayerStack> {
        let Request::ReadResource(read) = request else { return None };
        if snapshot.entry_for(&read.uri).is_some_and(|entry| entry.handler.is_some())
            || allowed.is_some_and(|allowed| !allowed.allows_unlisted(&read.uri))
        {
            return None;
        }
        self.claim(&read.uri).map(|(attached, _)| &attached.config.layers)
    }
}

impl Drop for RunningSource {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl Server {
    /// Starts the sources, if a runtime is available.
    pub(crate) fn start_sources(&self) {
        let Ok(runtime) = Handle::try_current() else { return };
        for (place, attached) in self.inner.sources.all.iter().enumerate() {
            attached.task.get_or_init(|| {
                let offering = SourceHandle { server: Arc::downgrade(&self.inner), index: place };
                runtime.spawn(attached.config.source.clone().run(offering)).abort_handle()
            });
        }
    }

    /// Returns a future that a request must await until the elements of all sources are known. Almost always `None`.
    pub(crate) fn wait_for_sources(&self) -> Option<BoxFuture<'static, ()>> {
        let sources = &self.inner.sources;
        if sources.is_ready.load(Ordering::SeqCst) || Handle::try_current().is_err() {
            return None;
        }
        self.start_sources();
        let server = self.clone();
        Some(Box::pin(async move {
            let until = Instant::now() + SOURCES_READY_TIMEOUT;
            let sources = &server.inner.sources;
            for attached in &sources.all {
                let mut settled = attached.ready.subscribe();
                if timeout_at(until, settled.wait_for(|settled| *settled)).await.is_err() {
                    tracing::warn!(
                        "a source has not listed its elements yet: the server continues without them"
                    );
                }
            }
            sources.is_ready.store(true, Ordering::SeqCst);
        }))
    }

    pub(crate) fn has_sources(&self) -> bool {
        !self.inner.sources.all.is_empty()
    }

    /// Replaces the URI in a request for a resource by the canonical name of the resource. Layers and visibility checks
    /// decide by name, so they must not see another name.
    pub(crate) fn canonical_request(&self, mut request: Request) -> Request {
        if self.has_sources()
            && let Request::ReadResource(read) = &mut request
            && let Some(name) = self.canonical_uri(&self.inner.registry.load(), &read.uri)
        {
            read.uri = name;
        }
        request
    }

    /// Returns the canonical name of a resource that is not offered but that a source could read.
    fn canonical_uri(&self, snapshot: &Snapshot, uri: &str) -> Option<String> {
        match snapshot.entry_for(uri) {
            Some(_) => None,
            None => self.inner.sources.claim(uri).map(|(_, name)| name),
        }
    }

    /// Returns whether a listener with this visibility may be notified of a resource.
    pub(crate) fn may_notify(&self, uri: &str, allowed: &Visibility) -> bool {
        let snapshot = self.inner.registry.load();
        match self.canonical_uri(&snapshot, uri) {
            None if snapshot.entry_for(uri).is_some() => allowed.allows_uri(&snapshot, uri),
            // More than one source may tell of it, or none.
            None => {
                let mut claims = self.inner.sources.scopes_for(uri);
                allowed.allows_uri(&snapshot, uri) && claims.all(|scopes| allowed.allows_scopes(scopes))
            }
            Some(name) if snapshot.entry_for(&name).is_some() => allowed.allows_uri(&snapshot, &name),
            // The server's own `read_resource` handlers take precedence over the sources.
            Some(name) if !self.inner.read_handlers.is_empty() => allowed.allows_uri(&snapshot, &name),
            Some(name) => {
                let mut claims = self.inner.sources.scopes_for(&name);
                allowed.allows_unlisted(&name) && claims.all(|scopes| allowed.allows_scopes(scopes))
            }
        }
    }

    /// Adds the `_meta` of the request, which only forwarded calls need.
    pub(crate) fn add_meta(&self, arrival: &mut Arrival, params: &Params) {
        if self.has_sources() {
            arrival.extensions.insert(RequestMeta(params.meta()));
        }
    }

    /// Waits until the sources have subscribed to all resources that listeners want, or until the time limit.
    pub(crate) async fn wait_for_subscriptions(&self) {
        let Some(interest) = self.inner.changes.interest.as_ref() else { return };
        let version = interest.version();
        let until = Instant::now() + SUBSCRIBE_TIMEOUT;
        for attached in &self.inner.sources.all {
            let mut followed = attached.subscribed_version.subscribe();
            if timeout_at(until, followed.wait_for(|seen| *seen >= version)).await.is_err() {
                tracing::warn!("a source has not applied a subscription yet");
            }
        }
    }
}

/// The interface of a source to its server.
#[derive(Clone)]
pub(crate) struct SourceHandle {
    server: Weak<Inner>,
    index: usize,
}

impl SourceHandle {
    fn server(&self) -> Option<Server> {
        self.server.upgrade().map(|inner| Server { inner })
    }

    /// Replaces the elements that the source offered before, and notifies the clients that listen. Returns the elements
    /// that are left out because their name, URI or template conflicts with another element.
    pub(crate) fn offer(&self, mut elements: Elements) -> Vec<String> {
        let Some(server) = self.server() else { return Vec::new() };
        let inner = &server.inner;
        let attached = &inner.sources.all[self.index];
        for prefix in &attached.config.prefixes {
            elements.add_prefix(prefix);
        }
        elements.wrap_with(&attached.config.layers);
        elements.origins_mut().for_each(|origin| origin.scopes.add(attached.config.scopes.iter()));
        elements.mark_offered();
        *attached.offered_elements.lock() = elements;
        let before = inner.registry.load_full();
        let changed = inner.registry.change(&inner.states, |all| {
            all.remove_offered();
            let mut left_out = Vec::new();
            // Add the elements of all sources: an element that this source no longer offers may exist in another
            // source.
            for (place, attached) in inner.sources.all.iter().enumerate() {
                let others = all.add_unique(attached.offered_elements.lock().clone());
                if place == self.index {
                    left_out = others;
                }
            }
            left_out
        });
        let left_out = match changed {
            Ok(left_out) => left_out,
            Err(mistakes) => {
                tracing::error!(mistakes = mistakes.join("; "), "the elements of a source cannot be added");
                return Vec::new();
            }
        };
        // Until all sources are settled, clients have not seen a list that could have changed.
        if inner.sources.is_ready.load(Ordering::SeqCst) {
            for list in differences(&before, &inner.registry.load()) {
                inner.changes.announce_list(list);
            }
        }
        left_out
    }

    /// Reports that the elements of this source are known.
    pub(crate) fn mark_ready(&self) {
        if let Some(server) = self.server() {
            server.inner.sources.all[self.index].ready.send_replace(true);
        }
    }

    /// Reports that the contents of a resource changed.
    pub(crate) fn resource_updated(&self, uri: &str) {
        if let Some(server) = self.server() {
            server.resource_updated(uri);
        }
    }

    /// Returns the resources that listeners want to be notified of.
    pub(crate) fn watched_resources(&self) -> WatchedResources {
        let interest = self.server().and_then(|server| server.inner.changes.interest.clone());
        WatchedResources {
            changes: interest
                .map_or_else(|| watch::Sender::new(0).subscribe(), |interest| interest.version.subscribe()),
            source: self.clone(),
        }
    }
}

/// The resources that listeners want to be notified of.
#[derive(Clone)]
pub(crate) struct WatchedResources {
    changes: watch::Receiver<u64>,
    source: SourceHandle,
}

impl WatchedResources {
    /// Returns the current resources and their version.
    pub(crate) fn current(&mut self) -> (BTreeSet<String>, u64) {
        self.changes.mark_unchanged();
        let server = self.source.server();
        let interest = server.as_ref().and_then(|server| server.inner.changes.interest.as_ref());
        interest.map(|interest| interest.current()).unwrap_or_default()
    }

    /// Waits until the wanted resources change.
    pub(crate) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Reports that the source has subscribed to the resources of this version.
    pub(crate) fn mark_subscribed(&self, version: u64) {
        if let Some(server) = self.source.server() {
            let followed = &server.inner.sources.all[self.source.index].subscribed_version;
            followed.send_if_modified(|seen| std::mem::replace(seen, version.max(*seen)) < version);
        }
    }
}

impl Elements {
    /// Keeps the elements that the author has added, including those of other servers.
    fn remove_offered(&mut self) {
        fn keep(entries: &mut Vec<impl Entry>) {
            entries.retain(|entry| entry.origin().owner != EntryOwner::Other { is_from_source: true });
        }
        keep(&mut self.tools);
        keep(&mut self.prompts);
        keep(&mut self.resources);
    }

    /// Marks all elements as offered by a source.
    fn mark_offered(&mut self) {
        self.origins_mut().for_each(|origin| origin.owner = EntryOwner::Other { is_from_source: true });
    }

    /// Adds the elements whose name, URI or template is still free, and returns the others as text.
    fn add_unique(&mut self, others: Self) -> Vec<String> {
        let mut left_out = Vec::new();
        add_unique(&mut self.tools, others.tools, &mut left_out, |tool| !tool.key().is_empty());
        add_unique(&mut self.prompts, others.prompts, &mut left_out, |prompt| !prompt.key().is_empty());
        let templates = self.resources.iter().filter_map(ResourceEntry::template);
        let mut shapes: HashSet<_> = templates.map(UriTemplate::shape).collect();
        add_unique(&mut self.resources, others.resources, &mut left_out, |resource| {
            resource.template().is_none_or(|template| shapes.insert(template.shape()))
        });
        left_out
    }
}

/// Adds the entries whose key is free and that `is_free` accepts. The others are added to `left_out`.
fn add_unique<E: Entry>(
    known: &mut Vec<E>,
    others: Vec<E>,
    left_out: &mut Vec<String>,
    mut is_free: impl FnMut(&E) -> bool,
) {
    let mut taken: HashSet<String> = known.iter().map(|entry| entry.key().to_owned()).collect();
    for other in others {
        if is_free(&other) && taken.insert(other.key().to_owned()) {
            known.push(other);
        } else {
            left_out.push(format!("the {} `{}`", E::KIND, other.key()));
        }
    }
}

/// Returns the lists in which two snapshots differ.
fn differences(before: &Snapshot, after: &Snapshot) -> impl Iterator<Item = ListKind> + use<> {
    fn differ<E, D: PartialEq>(before: &[E], after: &[E], definition: fn(&E) -> &D) -> bool {
        before.iter().map(definition).ne(after.iter().map(definition))
    }
    let (before, after) = (&before.elements, &after.elements);
    let tools = differ(&before.tools, &after.tools, ToolEntry::definition);
    let prompts = differ(&before.prompts, &after.prompts, PromptEntry::definition);
    let resources = differ(&before.resources, &after.resources, ResourceEntry::definition);
    [(tools, ListKind::Tools), (prompts, ListKind::Prompts), (resources, ListKind::Resources)]
        .into_iter()
        .filter(|(differ, _)| *differ)
        .map(|(_, list)| list)
}

impl Interest {
    /// Returns the wanted resources, and how often this set has changed so far.
    fn current(&self) -> (BTreeSet<String>, u64) {
        let counts = self.counts.lock();
        (counts.keys().cloned().collect(), *self.version.borrow())
    }

    /// Returns how often the set of wanted resources has changed so far.
    fn version(&self) -> u64 {
        *self.version.borrow()
    }
}

impl Visibility {
    /// Returns whether the caller may read a resource that is not offered, but that a server behind this one may have.
    /// The resource may match a hidden template of that server. Therefore, if templates are limited, the resource must
    /// be allowed by name.
    fn allows_unlisted(&self, uri: &str) -> bool {
        self.resources.allows(uri) && (self.templates.is_all() || !self.resources.is_all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_want_is_wanted_until_neither_does() {
        let interest = Interest::default();
        interest.add("a://b");
        interest.add("a://b");
        interest.add("c://d");
        assert_eq!(interest.current(), (BTreeSet::from(["a://b".to_owned(), "c://d".to_owned()]), 2));
        interest.remove("a://b");
        interest.remove("nobody://ever");
        assert_eq!(interest.version(), 2);
        interest.remove("a://b");
        assert_eq!(interest.current(), (BTreeSet::from(["c://d".to_owned()]), 3));
    }
}
