//! Which server does a step go to?

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_store::Result;

#[cfg(feature = "cluster")]
use crate::cluster::Cluster;
use crate::connector::Connector;
use crate::link::{Counters, LinkState};
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
    counters: Counters,
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
        let counters = Counters::default();
        #[cfg(feature = "cluster")]
        if target.kind == TargetKind::Cluster {
            let cluster = Cluster::new(connector, target.addresses.clone(), confirmed, counters.clone());
            return Self {
                topology: Topology::Cluster(cluster),
                counters,
                #[cfg(feature = "sentinel")]
                _switches: None,
            };
        }
        let node = Arc::new(Node::new(connector, confirmed, &counters, || primary_place(target, sentinel)));
        Self {
            #[cfg(feature = "sentinel")]
            _switches: watch_switches(target, sentinel, &node),
            topology: Topology::Single(node),
            counters,
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
        self.counters.opened.subscribe()
    }

    /// Returns how many connections were lost. Each of them may have led to a server that is not the primary any more.
    pub(crate) fn losses(&self) -> u64 {
        self.counters.lost.load(Ordering::Acquire)
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
