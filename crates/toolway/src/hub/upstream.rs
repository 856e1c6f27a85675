//! What does a gateway need from a hub, and how does one client become a hub?
//!
//! A client that is mounted by itself is a hub with one server. Names and URIs of that server are not changed, the
//! application supplies the client, and the lists are also read at intervals if the server does not report changes.

use std::sync::Arc;
use std::time::Duration;

use super::breaker::{AttemptLimit, Breaker};
pub(crate) use super::follower::{Follower, WATCH_TIMEOUT, WatchError, WatchState, listen};
use super::handle::Hub;
use super::lists::{ListPolicy, Lists};
pub(crate) use super::member::Member;
use super::member::Phase;
use super::names::joined::Names;
use super::names::uris::Uris;
use super::shared::{HubGuard, Settings, Shared};
pub(crate) use super::snapshot::HubSnapshot;
use super::watch::HubWatch;
use crate::client::Client;

/// A server of a hub that was connected once.
#[derive(Clone)]
pub(crate) struct Upstream {
    /// The name of the server, unique in the hub.
    pub(crate) name: Arc<str>,
    pub(crate) client: Client,
}

impl Hub {
    /// Creates a hub with one server from an existing client. The hub follows the server once the caller runs the
    /// returned follower.
    pub(crate) fn from_client(name: &str, client: Client) -> (Self, Follower) {
        let (mut names, mut uris, mut lists) = (Names::default(), Uris::default(), Lists::default());
        names.is_single = true;
        uris.only_server = Some(name.to_owned());
        lists.policy = ListPolicy { poll_interval: Some(POLL_INTERVAL), retry_delay: Some(RETRY_DELAY) };
        let breaker = Arc::new(Breaker::new(AttemptLimit { number: usize::MAX, ..AttemptLimit::default() }));
        let (member, orders) =
            Member::new(name, client.target(), breaker, Phase::Connecting, lists, Some(client));
        let mut first = HubSnapshot::new(names, uris);
        first.insert(&member);
        let shared = Arc::new(Shared::new(Settings::default(), first));
        let follower = Follower::new(shared.clone(), member, None, orders);
        (Self(Arc::new(HubGuard(shared))), follower)
    }

    /// Returns whether the hub was created by [`from_client`](Self::from_client). Such a hub always has exactly one
    /// server.
    pub(crate) fn is_single(&self) -> bool {
        self.snapshot().uris.only_server.is_some()
    }
}

impl HubSnapshot {
    /// Returns the servers that were connected once, in order.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = Upstream> {
        self.members.iter().filter_map(|member| member.upstream())
    }

    /// Returns whether all connected servers were asked for their lists, successfully or not.
    pub(crate) fn has_queried_all(&self) -> bool {
        self.members.iter().all(|member| member.has_finished_first_attempt() || member.client().is_err())
    }
}

impl Member {
    pub(crate) fn upstream(&self) -> Option<Upstream> {
        Some(Upstream { name: self.name.clone(), client: self.client().ok()? })
    }
}

impl HubWatch {
    /// Waits until any part of the hub changes. Waits forever once the hub was dropped.
    pub(crate) async fn changed(&mut self) {
        let seen = self.seen;
        let changed = self.snapshots.wait_for(|snapshot| snapshot.versions != seen).await;
        match changed.map(|snapshot| snapshot.versions) {
            Ok(versions) => self.seen = versions,
            Err(_) => std::future::pending().await,
        }
    }
}

/// The interval for reading the lists of a server that does not report changes.
const POLL_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// The wait before a failed read of a list is retried.
const RETRY_DELAY: Duration = Duration::from_secs(5);
