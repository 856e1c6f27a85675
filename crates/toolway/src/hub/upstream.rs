//! What does a gateway ask of a hub, and how is one client a hub?
//!
//! A client that is mounted by itself is a hub of one server. Its names and URIs are kept as they are, its client is that of
//! the application, and what it has is read again also where the server says nothing.

use std::sync::Arc;
use std::time::Duration;

use super::breaker::{Attempts, Breaker};
pub(crate) use super::follower::{Ear, Follower, MAX_WATCHING, Unheard, listen};
use super::handle::Hub;
use super::lists::{Lists, Pace};
pub(crate) use super::member::Member;
use super::member::Phase;
use super::names::joined::Names;
use super::names::uris::Uris;
use super::shared::{Owner, Settings, Shared};
pub(crate) use super::snapshot::Snapshot;
use super::watch::HubWatch;
use crate::client::Client;

/// A server of a hub that was reached once.
#[derive(Clone)]
pub(crate) struct Upstream {
    /// What it is called; no two have the same name.
    pub(crate) name: Arc<str>,
    pub(crate) client: Client,
}

impl Hub {
    /// A hub of one server, whose client is there already. It is looked after from when the task runs.
    pub(crate) fn alone(name: &str, client: Client) -> (Self, Follower) {
        let (mut names, mut uris, mut lists) = (Names::default(), Uris::default(), Lists::default());
        names.is_alone = true;
        uris.alone = Some(name.to_owned());
        lists.pace =
            Pace { between: Duration::ZERO, unasked: Some(LOOK_AGAIN), retry: Some(RETRY), most: usize::MAX };
        let breaker = Arc::new(Breaker::new(Attempts { number: usize::MAX, ..Attempts::default() }));
        let (member, orders) =
            Member::new(name, client.target(), breaker, Phase::Connecting, lists, Some(client));
        let mut first = Snapshot::new(names, uris);
        first.insert(&member);
        let shared = Arc::new(Shared::new(Settings::default(), first));
        let follower = Follower::new(shared.clone(), member, None, orders);
        (Self(Arc::new(Owner(shared))), follower)
    }

    /// Whether it is a hub of one server that was [brought along](Self::alone), and stays one.
    pub(crate) fn is_alone(&self) -> bool {
        self.snapshot().uris.alone.is_some()
    }
}

impl Snapshot {
    /// The servers that were reached, in their order.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = Upstream> {
        self.members.iter().filter_map(|member| member.upstream())
    }

    /// Whether all servers that were reached have been asked what they have, whatever came of that.
    pub(crate) fn is_settled(&self) -> bool {
        self.members.iter().all(|member| member.is_settled() || member.client().is_err())
    }
}

impl Member {
    pub(crate) fn upstream(&self) -> Option<Upstream> {
        Some(Upstream { name: self.name.clone(), client: self.client().ok()? })
    }
}

impl HubWatch {
    /// Waits until anything is not as it was; for ever, once the hub is gone.
    pub(crate) async fn changed(&mut self) {
        let seen = self.seen;
        let changed = self.snapshots.wait_for(|snapshot| snapshot.versions != seen).await;
        match changed.map(|snapshot| snapshot.versions) {
            Ok(versions) => self.seen = versions,
            Err(_) => std::future::pending().await,
        }
    }
}

/// How often a server is looked at that does not tell of changes.
const LOOK_AGAIN: Duration = Duration::from_secs(5 * 60);

/// When a list is read again that could not be read.
const RETRY: Duration = Duration::from_secs(5);
