//! Which server does a step go to?

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_store::Result;

#[cfg(feature = "cluster")]
use crate::cluster::Cluster;
use crate::connector::Connector;
use crate::link::LinkState;
use crate::locate::{Locator, Place};
use crate::node::Node;
#[cfg(feature = "sentinel")]
use crate::switch::watch_switches;
#[cfg(feature = "sentinel")]
use crate::task::Task;
#[cfg(any(feature = "cluster", feature = "sentinel"))]
use crate::url::TargetKind;
use crate::url::{Address, Target};

/// The servers of a store.
pub(crate) struct Servers {
    topology: Topology,
    /// Counts the connections that were opened.
    is_up: Arc<watch::Sender<u64>>,
    #[cfg(feature = "sentinel")]
    _switches: Option<Task>,
}

enum Topology {
    Single(Arc<Node>),
    #[cfg(feature = "cluster")]
    Cluster(Cluster),
}

impl Servers {
    /// The servers of a target. `confirmed` is the number of connections for steps that wait for replicas.
    pub(crate) fn new(
        target: &Target,
        connector: &Connector,
        sentinel: &Connector,
        confirmed: usize,
    ) -> Self {
        let is_up = Arc::new(watch::Sender::new(0));
        #[cfg(feature = "cluster")]
        if target.kind == TargetKind::Cluster {
            let cluster = Cluster::new(connector, target.addresses.clone(), confirmed, is_up.clone());
            return Self {
                topology: Topology::Cluster(cluster),
                is_up,
                #[cfg(feature = "sentinel")]
                _switches: None,
            };
        }
        let node = Arc::new(Node::new(connector, confirmed, &is_up, || primary_place(target, sentinel)));
        Self {
            #[cfg(feature = "sentinel")]
            _switches: watch_switches(target, sentinel, &node),
            topology: Topology::Single(node),
            is_up,
        }
    }

    /// Returns whether the servers refuse by themselves what belongs to another one.
    pub(crate) fn redirects(&self) -> bool {
        !matches!(self.topology, Topology::Single(_))
    }

    /// Returns the server of a group.
    pub(crate) async fn node_of(&self, group: &str, deadline: Instant) -> Result<Arc<Node>> {
        match &self.topology {
            Topology::Single(node) => {
                _ = (group, deadline);
                Ok(node.clone())
            }
            #[cfg(feature = "cluster")]
            Topology::Cluster(cluster) => cluster.node_of(crate::keys::slot(group), deadline).await,
        }
    }

    /// Returns the server that another one has named for one step.
    pub(crate) fn node_at(&self, address: &Address) -> Option<Arc<Node>> {
        match &self.topology {
            Topology::Single(_) => {
                _ = address;
                None
            }
            #[cfg(feature = "cluster")]
            Topology::Cluster(cluster) => Some(cluster.node_at(address)),
        }
    }

    /// Notes that a group has moved to another server.
    pub(crate) fn moved(&self, group: &str, address: &Address) {
        match &self.topology {
            Topology::Single(_) => _ = (group, address),
            #[cfg(feature = "cluster")]
            Topology::Cluster(cluster) => cluster.moved(crate::keys::slot(group), address),
        }
    }

    /// Notes that a server has failed.
    pub(crate) fn doubt(&self) {
        match &self.topology {
            Topology::Single(_) => {}
            #[cfg(feature = "cluster")]
            Topology::Cluster(cluster) => cluster.doubt(),
        }
    }

    /// Returns a counter that changes with each connection that is opened.
    pub(crate) fn connections(&self) -> watch::Receiver<u64> {
        self.is_up.subscribe()
    }

    /// Returns the way to a server that delivers messages, and the states of the link that it must agree with.
    pub(crate) fn for_messages(
        &self,
        target: &Target,
        connector: &Connector,
        sentinel: &Connector,
    ) -> (Locator, Option<watch::Receiver<LinkState>>) {
        let (place, states) = match &self.topology {
            Topology::Single(node) => (primary_place(target, sentinel), Some(node.steps.states())),
            #[cfg(feature = "cluster")]
            Topology::Cluster(cluster) => {
                _ = sentinel;
                (Place::FirstNode(cluster.addresses()), None)
            }
        };
        (Locator { connector: connector.clone(), place }, states)
    }
}

/// Returns where the primary of a target is, if it is not a Redis Cluster.
pub(crate) fn primary_place(target: &Target, sentinel: &Connector) -> Place {
    match &target.kind {
        #[cfg(feature = "sentinel")]
        TargetKind::Sentinel { name } => Place::Sentinel {
            sentinels: target.addresses.clone(),
            name: name.clone(),
            connector: sentinel.clone(),
        },
        _ => {
            _ = sentinel;
            Place::Primary(target.addresses[0].clone())
        }
    }
}
