//! How do the elements of a hub become elements of a server?

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinSet};
use toolway_protocol::capability::{JsonObject, ServerCapabilities};

use super::caller_clients::CallerClients;
use super::edits::Edits;
use super::element;
use super::subscriptions::{UpstreamSubscriber, WantedByServer};
use super::upstreams::{UpstreamRef, Upstreams};
use crate::BoxFuture;
use crate::client::Client;
use crate::closest::closest;
use crate::ground::mutex::Mutex;
use crate::hub::{Follower, Hub, ServerStatus};
use crate::server::catalog::resource::ReadFuture;
use crate::server::parameter::Scope;
use crate::server::{ForwardedCall, ReadRequest, Source, SourceHandle};

/// A mounted hub.
pub(super) struct MountedHub {
    upstreams: Arc<Upstreams>,
    /// The task that follows the server of a single mounted client. `None` for a hub, and once the task was spawned.
    follower: Mutex<Option<Follower>>,
    /// `true` after the names in the edits were checked once: a name that no tool has is logged as a warning.
    has_checked_names: AtomicBool,
    /// The last warnings about the elements of the servers, and about a single mounted server. A warning that does not
    /// change is not logged again.
    warnings: Mutex<Warnings>,
}

#[derive(Default)]
struct Warnings {
    left_out: Vec<String>,
    is_unavailable: bool,
}

impl MountedHub {
    pub(super) fn new(
        hub: Hub,
        following: Option<Follower>,
        edits: Edits,
        caller_clients: Option<CallerClients>,
    ) -> Self {
        let upstreams = Arc::new(Upstreams { hub, edits, caller_clients, parking: Arc::default() });
        Self {
            upstreams,
            follower: Mutex::new(following),
            has_checked_names: AtomicBool::new(false),
            warnings: Mutex::default(),
        }
    }

    /// Offers all listed elements. Once all servers were asked for their lists, requests that wait for the elements
    /// continue.
    fn offer(&self, offering: &SourceHandle) {
        let Upstreams { hub, edits, .. } = &*self.upstreams;
        let snapshot = hub.snapshot();
        let left_out = offering.offer(element::entries(&self.upstreams, &snapshot));
        self.warn(left_out);
        if !snapshot.has_queried_all() {
            return;
        }
        offering.mark_ready();
        // A name in the edits that no tool has causes only a warning: it may be misspelt, or the tool may be added
        // later.
        if snapshot.upstreams().next().is_none() || self.has_checked_names.swap(true, Ordering::AcqRel) {
            return;
        }
        let tools = || snapshot.definitions.iter().map(|tool| &*tool.name);
        for name in edits.edited_tools().filter(|name| tools().all(|tool| tool != *name)) {
            let meant = closest(name, tools());
            let meant = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
            tracing::warn!("a mount renames or describes the tool `{name}`, which no server has{meant}");
        }
    }
}

impl MountedHub {
    /// Logs which elements are left out, and whether a single mounted server is unavailable, unless that was logged
    /// before.
    fn warn(&self, left_out: Vec<String>) {
        let mut warnings = self.warnings.lock();
        if left_out != warnings.left_out {
            for one in left_out.iter().take(MAX_WARNINGS) {
                tracing::warn!(
                    "{one} of a mounted server is left out: there is another one of the same name"
                );
            }
            if let more @ 1.. = left_out.len().saturating_sub(MAX_WARNINGS) {
                tracing::warn!("{more} more elements of mounted servers are left out for the same reason");
            }
            warnings.left_out = left_out;
        }
        let hub = &self.upstreams.hub;
        if !hub.is_single() {
            return;
        }
        let unavailable = hub.status().into_iter().find(ServerStatus::is_unavailable);
        let was_unavailable = std::mem::replace(&mut warnings.is_unavailable, unavailable.is_some());
        if let Some(status) = unavailable.filter(|_| !was_unavailable) {
            let (server, error) = (&status.name, &status.state);
            tracing::warn!(server, %error, "the lists of a mounted server could not be read");
        }
    }
}

/// The maximum number of elements that are left out and logged one by one.
const MAX_WARNINGS: usize = 10;

impl Source for MountedHub {
    fn capabilities(&self) -> ServerCapabilities {
        let hub = &self.upstreams.hub;
        let can: Vec<_> = hub.snapshot().upstreams().map(|one| one.client.server_capabilities()).collect();
        // A server that is added to a hub later may have any capability.
        let may = |has: fn(&ServerCapabilities) -> bool| !hub.is_single() || can.iter().any(has);
        let with = |names: &[&str]| -> JsonObject {
            names.iter().map(|name| ((*name).to_owned(), true.into())).collect()
        };
        let subscribes = |can: &ServerCapabilities| {
            can.resources.as_ref().is_some_and(|settings| settings.get("subscribe") == Some(&true.into()))
        };
        let mut all = ServerCapabilities::new();
        all.tools = may(|can| can.tools.is_some()).then(|| with(&["listChanged"]));
        all.prompts = may(|can| can.prompts.is_some()).then(|| with(&["listChanged"]));
        all.resources = if may(subscribes) {
            Some(with(&["listChanged", "subscribe"]))
        } else {
            may(|can| can.resources.is_some()).then(|| with(&["listChanged"]))
        };
        all.completions = can.iter().any(|can| can.completions.is_some()).then(JsonObject::default);
        all
    }

    fn run(self: Arc<Self>, offering: SourceHandle) -> BoxFuture<'static, ()> {
        Box::pin(async move { serve_mount(&self, offering).await })
    }

    fn canonical_uri(&self, uri: &str) -> Option<String> {
        let (upstream, original) = self.upstreams.route(uri)?;
        upstream.client.server_capabilities().resources?;
        self.upstreams.uri(&upstream.name, &original)
    }

    fn read(&self, reading: ReadRequest, scope: Scope) -> Option<ReadFuture> {
        let (upstream, uri) = self.upstreams.route(&reading.uri)?;
        upstream.client.server_capabilities().resources?;
        let passing = ForwardedCall::new(&scope);
        let upstream = UpstreamRef { upstreams: self.upstreams.clone(), upstream };
        Some(Box::pin(async move { element::read(&upstream, uri, passing).await }))
    }
}

/// Offers the elements of the hub, and subscribes to the resources that clients subscribe to.
async fn serve_mount(mounted: &MountedHub, offering: SourceHandle) {
    let upstreams = &mounted.upstreams;
    let mut changes = upstreams.hub.watch();
    let mut keeping = SubscriberTasks::new(offering.clone());
    let mut wanted = offering.watched_resources();
    let following = mounted.follower.lock().take();
    let mut following = following.map(Follower::run);
    loop {
        keeping.update_tasks(upstreams);
        mounted.offer(&offering);
        // The follower starts only now, because `update_tasks` must first tell the client to pass questions on.
        if let Some(following) = following.take() {
            keeping.tasks.spawn(following);
        }
        loop {
            let (uris, version) = wanted.current();
            let is_told = keeping.wanted.set(upstreams.group_by_server(uris));
            let is_told = async {
                is_told.await;
                wanted.mark_subscribed(version);
                std::future::pending::<()>().await;
            };
            let mut wishes = wanted.clone();
            tokio::select! {
                () = is_told => {}
                () = wishes.changed() => {}
                () = changes.changed() => break,
            }
        }
    }
}

/// The tasks that subscribe to resources of the servers.
struct SubscriberTasks {
    offering: SourceHandle,
    tasks: JoinSet<()>,
    subscriptions: HashMap<Arc<str>, (Client, AbortHandle)>,
    wanted: WantedByServer,
}

impl SubscriberTasks {
    fn new(offering: SourceHandle) -> Self {
        let (tasks, subscriptions) = (JoinSet::new(), HashMap::new());
        Self { offering, tasks, subscriptions, wanted: WantedByServer::default() }
    }

    /// Starts a task for each new server, and aborts the tasks of servers that were removed or have a new client.
    fn update_tasks(&mut self, upstreams: &Upstreams) {
        let now: Vec<_> = upstreams.hub.snapshot().upstreams().collect();
        while self.tasks.try_join_next().is_some() {}
        self.subscriptions.retain(|name, (client, task)| {
            let is_there = now
                .iter()
                .any(|upstream| upstream.name == *name && upstream.client.shares_connection_with(client));
            if !is_there {
                task.abort();
                self.wanted.remove(name);
            }
            is_there
        });
        for upstream in now {
            if self.subscriptions.contains_key(&upstream.name) {
                continue;
            }
            upstream.client.forward_questions();
            let (name, client) = (upstream.name.clone(), upstream.client.clone());
            let task =
                UpstreamSubscriber::new(upstream, self.offering.clone(), self.wanted.for_server(&name));
            self.subscriptions.insert(name, (client, self.tasks.spawn(task.run())));
        }
    }
}
