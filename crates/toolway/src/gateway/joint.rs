//! What have the mounted servers listed, and whose is a URI?

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use toolway_protocol::Request;
use toolway_protocol::capability::{ServerCapabilities, Settings};
use toolway_protocol::request::ReadResource;

use super::edits::Edits;
use super::element;
use super::follow::{Finding, Follow, follow};
use super::parked::Parkings;
use super::upstream::{Listed, Naming, Upstream, Upstreams};
use crate::closest::closest;
use crate::server::{Elements, Offering, Passing, ReadFuture, Reading, Running, Scope, Source};

/// The servers of one mount.
pub(super) struct Joint {
    upstreams: Arc<dyn Upstreams>,
    pub(super) common: Arc<Common>,
}

/// What everybody who passes calls on shares.
pub(super) struct Common {
    state: Mutex<State>,
    /// The changes of the author.
    pub(super) edits: Edits,
    /// Calls whose callers are being asked.
    pub(super) parkings: Arc<Parkings>,
}

struct State {
    naming: Box<dyn Naming>,
    /// In the order in which they are offered.
    servers: Vec<Known>,
    /// Set once the log was told of edits that match no tool.
    is_looked_through: bool,
}

struct Known {
    upstream: Upstream,
    listed: Listed,
    /// Whether it was asked what it has, whatever came of that.
    is_asked: bool,
}

impl Joint {
    pub(super) fn new(upstreams: Arc<dyn Upstreams>, edits: Edits) -> Self {
        let state = State { naming: upstreams.naming(), servers: Vec::new(), is_looked_through: false };
        let common = Common { state: Mutex::new(state), edits, parkings: Arc::default() };
        Self { upstreams, common: Arc::new(common) }
    }
}

impl Source for Joint {
    fn capabilities(&self) -> ServerCapabilities {
        let mut all = ServerCapabilities::new();
        for upstream in self.upstreams.now() {
            let can = upstream.client.server_capabilities();
            let says = |settings: &Option<Settings>, what: &str| {
                settings.as_ref().is_some_and(|settings| settings.get(what) == Some(&true.into()))
            };
            let changing = || Settings::from_iter([("listChanged".to_owned(), true.into())]);
            if can.tools.is_some() {
                all.tools = Some(changing());
            }
            if can.prompts.is_some() {
                all.prompts = Some(changing());
            }
            if can.resources.is_some() {
                let settings = all.resources.get_or_insert_with(changing);
                if says(&can.resources, "subscribe") {
                    settings.insert("subscribe".to_owned(), true.into());
                }
            }
            if can.completions.is_some() {
                all.completions.get_or_insert_default();
            }
        }
        if self.upstreams.may_grow() {
            let settings = |names: &[&str]| -> Settings {
                names.iter().map(|name| ((*name).to_owned(), true.into())).collect()
            };
            all.tools.get_or_insert_with(|| settings(&["listChanged"]));
            all.prompts.get_or_insert_with(|| settings(&["listChanged"]));
            all.resources = Some(settings(&["listChanged", "subscribe"]));
        }
        all
    }

    fn run(self: Arc<Self>, offering: Offering) -> Running<()> {
        Box::pin(async move { keep(&*self.upstreams, &self.common, offering).await })
    }

    fn name_of(&self, uri: &str) -> Option<String> {
        let (upstream, original) = self.common.route(uri)?;
        upstream.client.server_capabilities().resources?;
        self.common.uri(&upstream.name, &original)
    }

    fn read(&self, reading: Reading, scope: Scope) -> Option<ReadFuture> {
        let (upstream, uri) = self.common.route(&reading.uri)?;
        upstream.client.server_capabilities().resources?;
        let passing = Passing::new(&scope)?;
        let common = self.common.clone();
        Some(Box::pin(async move { element::read(&common, &upstream, uri, passing).await }))
    }
}

/// Follows each server, as long as it is there.
async fn keep(upstreams: &dyn Upstreams, common: &Arc<Common>, offering: Offering) {
    let mut keeping = Keeping {
        common: common.clone(),
        offering: offering.clone(),
        tasks: JoinSet::new(),
        followed: HashMap::new(),
        interest: Interest::default(),
    };
    let mut wanted = offering.wanted();
    loop {
        // Before anything is looked at, so that nothing is missed.
        let mut changed = upstreams.changed();
        keeping.follow(upstreams);
        loop {
            let (uris, version) = wanted.now();
            let is_followed = keeping.interest.set(common.by_server(uris));
            let is_followed = async {
                is_followed.await;
                wanted.followed(version);
                std::future::pending::<()>().await;
            };
            let mut wishes = wanted.clone();
            tokio::select! {
                () = is_followed => {}
                () = wishes.changed() => {}
                () = &mut changed => break,
            }
        }
    }
}

/// Those who follow the servers.
struct Keeping {
    common: Arc<Common>,
    offering: Offering,
    tasks: JoinSet<()>,
    followed: HashMap<Arc<str>, (Upstream, AbortHandle)>,
    interest: Interest,
}

impl Keeping {
    /// Follows the servers that there are now, and no others.
    fn follow(&mut self, upstreams: &dyn Upstreams) {
        let Self { common, offering, tasks, followed, interest } = self;
        let now = upstreams.now();
        while tasks.try_join_next().is_some() {}
        followed.retain(|name, (known, task)| {
            let is_there =
                now.iter().any(|upstream| upstream.name == *name && upstream.client.is_same(&known.client));
            if !is_there {
                task.abort();
                interest.forget(name);
            }
            is_there
        });
        common.set(&now);
        for upstream in &now {
            let listed = upstreams.listed(&upstream.name);
            if !followed.contains_key(&upstream.name) {
                let lists = if listed.is_some() { Finding::Elsewhere } else { Finding::Here };
                let task = follow(Follow {
                    upstream: upstream.clone(),
                    common: common.clone(),
                    offering: offering.clone(),
                    wanted: interest.of(&upstream.name),
                    lists,
                });
                followed.insert(upstream.name.clone(), (upstream.clone(), tasks.spawn(task)));
            }
            if let Some(listed) = listed {
                common.take(upstream, listed);
            }
        }
        common.offer(offering);
    }
}

/// Which resources of each server are to be heard of, and whether it was told so.
#[derive(Default)]
struct Interest(Mutex<HashMap<Arc<str>, Arc<Wish>>>);

/// What is wanted of one server, and what it was told of that.
pub(super) struct Wish {
    pub(super) wanted: watch::Sender<Arc<Uris>>,
    pub(super) told: watch::Sender<Option<Arc<Uris>>>,
}

/// Resources of a server, by their URIs there, each with the URIs by which it is wanted here: it may have several.
pub(super) type Uris = BTreeMap<String, BTreeSet<String>>;

impl Interest {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Wish>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, server: &Arc<str>) -> Arc<Wish> {
        let wish = || Arc::new(Wish { wanted: watch::Sender::default(), told: watch::Sender::new(None) });
        self.lock().entry(server.clone()).or_insert_with(wish).clone()
    }

    fn forget(&self, server: &Arc<str>) {
        self.lock().remove(server);
    }

    /// Wants this, and waits until every server has been told.
    fn set(&self, mut by_server: BTreeMap<Arc<str>, Uris>) -> impl Future<Output = ()> + use<> {
        let wishes: Vec<_> =
            self.lock().iter().map(|(server, wish)| (server.clone(), wish.clone())).collect();
        for (server, wish) in &wishes {
            let uris = by_server.remove(server).unwrap_or_default();
            wish.wanted.send_if_modified(|wanted| {
                let is_new = **wanted != uris;
                if is_new {
                    *wanted = Arc::new(uris);
                }
                is_new
            });
        }
        async move {
            for (_, wish) in &wishes {
                let uris = wish.wanted.borrow().clone();
                let mut told = wish.told.subscribe();
                // Whoever tells the server may have gone, and then there is nothing to wait for.
                let _ = told.wait_for(|told| told.as_ref().is_some_and(|told| *told == uris)).await;
            }
        }
    }
}

impl Common {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose a URI is, and what it is there. A resource that the author does not offer has no route.
    pub(super) fn route(&self, uri: &str) -> Option<(Upstream, String)> {
        self.find(uri).filter(|(upstream, original)| self.edits.offers_resource(&upstream.name, original))
    }

    /// The same, offered or not.
    pub(super) fn find(&self, uri: &str) -> Option<(Upstream, String)> {
        let state = self.lock();
        let (server, original) = state.naming.route(uri)?;
        let known = state.servers.iter().find(|known| known.upstream.name == server)?;
        Some((known.upstream.clone(), original.to_owned()))
    }

    /// What a resource of a server is called here.
    pub(super) fn uri(&self, server: &str, uri: &str) -> Option<String> {
        self.lock().naming.uri(server, uri)
    }

    /// Who speaks to the log, as it is called here.
    pub(super) fn logger(&self, server: &str, logger: Option<String>) -> Option<String> {
        match (self.lock().naming.logger(server), logger) {
            (Some(prefix), Some(logger)) => Some(format!("{prefix}/{logger}")),
            (prefix, logger) => prefix.or(logger),
        }
    }

    /// Which resources of which server these are.
    fn by_server(&self, uris: BTreeSet<String>) -> BTreeMap<Arc<str>, Uris> {
        let mut by_server: BTreeMap<Arc<str>, Uris> = BTreeMap::new();
        for uri in uris {
            if let Some((upstream, original)) = self.route(&uri) {
                by_server.entry(upstream.name).or_default().entry(original).or_default().insert(uri);
            }
        }
        by_server
    }

    /// These are the servers of now, in this order. What is known of them stays.
    fn set(&self, upstreams: &[Upstream]) {
        let mut state = self.lock();
        let State { naming, servers, .. } = &mut *state;
        let mut before = std::mem::take(servers);
        for upstream in upstreams {
            let known = before.iter().position(|known| known.upstream.name == upstream.name);
            let known = known.map(|place| before.swap_remove(place));
            let (listed, is_asked) =
                known.map_or_else(Default::default, |known| (known.listed, known.is_asked));
            servers.push(Known { upstream: upstream.clone(), listed, is_asked });
        }
        for gone in before {
            naming.remove(&gone.upstream.name);
        }
    }

    /// A server has listed this.
    fn take(&self, upstream: &Upstream, listed: Listed) {
        let mut state = self.lock();
        let State { naming, servers, .. } = &mut *state;
        if let Some(known) = servers.iter_mut().find(|known| known.upstream.name == upstream.name) {
            naming.set(&upstream.name, &listed);
            known.listed = listed;
            known.is_asked = true;
        }
    }

    /// A server was asked what it has, and this is known of it now.
    pub(super) fn listed(self: &Arc<Self>, upstream: &Upstream, listed: Listed, offering: &Offering) {
        self.take(upstream, listed);
        self.offer(offering);
    }

    /// Offers everything that is listed: one server may change what elements of another are called. The lock is held, so that
    /// nothing older takes the place of something newer. When all servers were asked, the first requests need not wait any
    /// longer.
    fn offer(self: &Arc<Self>, offering: &Offering) {
        let mut state = self.lock();
        let mut elements = Elements::new();
        for Known { upstream, listed, .. } in &state.servers {
            elements = element::entries(elements, self, upstream, listed, &*state.naming, &self.edits);
        }
        for left_out in offering.offer(elements) {
            tracing::warn!(
                "{left_out} of a mounted server is left out: there is another one of the same name"
            );
        }
        if state.servers.iter().all(|known| known.is_asked) {
            offering.settled();
            self.look_through(&mut state);
        }
    }

    /// Warns once of edits that match no tool: the name may be misspelt, or the tool may come later.
    fn look_through(&self, state: &mut State) {
        if state.servers.is_empty() || std::mem::replace(&mut state.is_looked_through, true) {
            return;
        }
        let listed = |known: &Known| -> Vec<String> {
            let server = &*known.upstream.name;
            let tools = known.listed.tools.iter();
            tools.filter_map(|tool| state.naming.tool(server, &tool.name)).collect()
        };
        let tools: Vec<String> = state.servers.iter().flat_map(listed).collect();
        for name in self.edits.names().filter(|name| tools.iter().all(|tool| tool != name)) {
            let meant = closest(name, tools.iter().map(String::as_str));
            let meant = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
            tracing::warn!("a mount renames or describes the tool `{name}`, which no server has{meant}");
        }
    }
}

/// A wish to read a resource.
pub(super) fn reading(uri: &str) -> Request {
    Request::ReadResource(ReadResource::new(uri))
}
