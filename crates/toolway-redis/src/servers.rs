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
use crate::sentinel::Sentinels;
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
    _watches: Vec<Task>,
}

enum Topology {
    Single(Arc<Node>, Place),
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
                _watches: Vec::new(),
            };
        }
        let place = primary_place(target, sentinel, &counters);
        let node = Arc::new(Node::new(connector, confirmed, &counters, || place.clone()));
        Self {
            #[cfg(feature = "sentinel")]
            _watches: match &place {
                Place::Sentinel(sentinels) => sentinels.watch(),
                _ => Vec::new(),
            },
            topology: Topology::Single(node, place),
            counters,
        }
    }

    /// Returns whether the servers refuse by themselves what belongs to another one.
    pub(crate) fn redirects(&self) -> bool {
        !matches!(self.topology, Topology::Single(..))
    }

    /// Returns the server of a group.
    pub(crate) async fn node_of(&self, group: &str, deadline: Instant) -> Result<Arc<Node>> {
        match &self.topology {
            Topology::Single(node, _) => {
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
            Topology::Single(..) => {
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
            Topology::Single(..) => _ = (group, address),
            #[cfg(feature = "cluster")]
            Topology::Cluster(cluster) => cluster.moved(crate::keys::slot(group), address),
        }
    }

    /// Notes that a server has failed.
    pub(crate) fn doubt(&self) {
        match &self.topology {
            Topology::Single(..) => {}
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
        connector: &Connector,
    ) -> (Locator, Option<watch::Receiver<LinkState>>) {
        let (place, states) = match &self.topology {
            Topology::Single(node, place) => (place.clone(), Some(node.steps.states())),
            #[cfg(feature = "cluster")]
            Topology::Cluster(cluster) => (Place::FirstNode(cluster.addresses()), None),
        };
        (Locator { connector: connector.clone(), place }, states)
    }
}

/// Returns where the primary of a target is, if it is not a Redis Cluster.
pub(crate) fn primary_place(target: &Target, sentinel: &Connector, counters: &Counters) -> Place {
    match &target.kind {
        #[cfg(feature = "sentinel")]
        TargetKind::Sentinel { name } => {
            let (addresses, name) = (target.addresses.clone(), name.clone());
            Place::Sentinel(Sentinels::new(addresses, name, sentinel.clone(), counters.lost.clone()))
        }
        _ => {
            _ = (sentinel, counters);
            Place::Primary(target.addresses[0].clone())
        }
    }
}
