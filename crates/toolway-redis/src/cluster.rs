//! Which node of a Redis Cluster has a slot?

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use toolway_store::Result;

use crate::backoff::draw;
use crate::connector::{Connector, OpenCause, OpenError};
use crate::keys::{OWN_GROUP, SLOTS, slot};
use crate::link::{Counters, LinkState, not_done};
use crate::locate::{Connected, Locator, Place};
use crate::node::Node;
use crate::task::Task;
use crate::url::Address;

/// The nodes of a Redis Cluster and their slots.
pub(crate) struct Cluster {
    shared: Arc<Shared>,
    _refresh: Task,
}

struct Shared {
    connector: Connector,
    confirmed: usize,
    counters: Counters,
    map: Mutex<Map>,
    /// The nodes to ask for the slots, and to subscribe at.
    addresses: Arc<Mutex<Vec<Address>>>,
    /// Wakes the task that asks for the slots.
    doubt: Notify,
    /// Counts how often the slots were read.
    reads: watch::Sender<u64>,
}

#[derive(Default)]
struct Map {
    /// First slot, last slot, node.
    ranges: Vec<(u16, u16, Address)>,
    nodes: HashMap<Address, Arc<Node>>,
}

impl Cluster {
    /// The cluster that these nodes belong to.
    pub(crate) fn new(
        connector: &Connector,
        seeds: Vec<Address>,
        confirmed: usize,
        counters: Counters,
    ) -> Self {
        let shared = Arc::new(Shared {
            connector: connector.clone(),
            confirmed,
            counters,
            map: Mutex::default(),
            addresses: Arc::new(Mutex::new(seeds)),
            doubt: Notify::new(),
            reads: watch::Sender::new(0),
        });
        let refresh = Task::spawn(keep_slots(shared.clone()));
        Self { shared, _refresh: refresh }
    }

    /// Returns the addresses of the nodes, which change with the cluster. The first one publishes messages.
    pub(crate) fn addresses(&self) -> Arc<Mutex<Vec<Address>>> {
        self.shared.addresses.clone()
    }

    /// Waits until the node of a slot is known.
    pub(crate) async fn node_of(&self, slot: u16, deadline: Instant) -> Result<Arc<Node>> {
        let mut reads = self.shared.reads.subscribe();
        loop {
            if let Some(node) = lock(&self.shared.map).node_of(slot) {
                return Ok(node);
            }
            self.shared.doubt.notify_one();
            if tokio::time::timeout_at(deadline, reads.changed()).await.is_err() {
                return Err(not_done(format!("no node of the Redis Cluster is known to have slot {slot}")));
            }
        }
    }

    /// Returns the node with this address.
    pub(crate) fn node_at(&self, address: &Address) -> Arc<Node> {
        self.shared.node_at(&mut lock(&self.shared.map), address)
    }

    /// Notes that a slot has moved to another node.
    pub(crate) fn moved(&self, slot: u16, address: &Address) {
        let mut map = lock(&self.shared.map);
        self.shared.node_at(&mut map, address);
        map.ranges.insert(0, (slot, slot, address.clone()));
        self.shared.counters.lost.fetch_add(1, Ordering::AcqRel);
        drop(map);
        self.shared.doubt.notify_one();
    }

    /// Notes that a node has failed: another one may have its slots now.
    pub(crate) fn doubt(&self) {
        self.shared.doubt.notify_one();
    }
}

impl Map {
    fn node_of(&self, slot: u16) -> Option<Arc<Node>> {
        let (_, _, address) = self.ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&slot))?;
        self.nodes.get(address).cloned()
    }
}

impl Shared {
    fn node_at(&self, map: &mut Map, address: &Address) -> Arc<Node> {
        let new = || {
            let place = || Place::Node(address.clone());
            Arc::new(Node::new(&self.connector, self.confirmed, &self.counters, place))
        };
        map.nodes.entry(address.clone()).or_insert_with(new).clone()
    }

    /// Reads the slots and forgets nodes that have none.
    async fn read(&self) -> Result<(), OpenError> {
        let ranges = read_slots(&self.connector, &self.addresses).await?;
        let mut map = lock(&self.map);
        for (_, _, address) in &ranges {
            self.node_at(&mut map, address);
        }
        map.nodes.retain(|address, _| ranges.iter().any(|(_, _, node)| node == address));
        if map.ranges != ranges {
            // The new primary of a slot may not have everything that the former one had.
            self.counters.lost.fetch_add(u64::from(!map.ranges.is_empty()), Ordering::AcqRel);
            tracing::debug!(nodes = map.nodes.len(), "the slots of the Redis Cluster have changed");
        }
        map.ranges = ranges;
        Ok(())
    }

    fn has_lost_node(&self) -> bool {
        let map = lock(&self.map);
        let is_lost = |node: &Arc<Node>| !matches!(*node.steps.states().borrow(), LinkState::Up(_));
        map.ranges.is_empty() || map.nodes.values().any(is_lost)
    }
}

/// Reads the slots when there is a doubt, often while a node is lost, and from time to time.
async fn keep_slots(shared: Arc<Shared>) {
    loop {
        if let Err(error) = shared.read().await {
            tracing::debug!(%error, "could not read the slots of the Redis Cluster");
        }
        shared.reads.send_modify(|reads| *reads += 1);
        let pause = if shared.has_lost_node() { draw(OFTEN / 2, OFTEN) } else { SELDOM };
        _ = tokio::time::timeout(pause, shared.doubt.notified()).await;
        tokio::time::sleep(draw(Duration::ZERO, BETWEEN)).await;
    }
}

/// Asks any node which slots the nodes have.
pub(crate) async fn read_slots(
    connector: &Connector,
    addresses: &Arc<Mutex<Vec<Address>>>,
) -> Result<Vec<(u16, u16, Address)>, OpenError> {
    let locator = Locator { connector: connector.clone(), place: Place::AnyNode(addresses.clone()) };
    let Connected { address: asked, mut opened, .. } = locator.connect().await?;
    let reply = opened.query(redis::cmd("CLUSTER").arg("SLOTS"), connector.timeout).await;
    let reply = reply.map_err(|cause| OpenError::new(&asked, cause))?;
    let ranges = parse_slots(&reply, &asked);
    if ranges.is_empty() {
        return Err(OpenError::new(&asked, OpenCause::NoNode));
    }
    // The nodes with slots are asked the next time, and those that were known before, in case the cluster was moved.
    let mut known = lock(addresses);
    for (_, _, address) in &ranges {
        if !known.contains(address) {
            known.push(address.clone());
        }
    }
    if known.len() > MOST_ADDRESSES {
        known.retain(|address| ranges.iter().any(|(_, _, node)| node == address));
    }
    // Messages are published and received at the same node, so that they need not pass between nodes.
    let home = slot(OWN_GROUP);
    let is_home = |(first, last, _): &&(u16, u16, Address)| (*first..=*last).contains(&home);
    if let Some((_, _, home)) = ranges.iter().find(is_home)
        && let Some(position) = known.iter().position(|address| address == home)
    {
        known.swap(0, position);
    }
    Ok(ranges)
}

fn parse_slots(reply: &Value, asked: &Address) -> Vec<(u16, u16, Address)> {
    let Value::Array(ranges) = reply else { return Vec::new() };
    let parse = |range: &Value| {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = &parts[..] else {
            return None;
        };
        let host = match primary.first()? {
            // A node that does not know its own host leaves it out.
            Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
            _ => asked.host.clone(),
        };
        let Value::Int(port) = primary.get(1)? else { return None };
        let address = Address { host, port: (*port).try_into().ok()? };
        Some(((*first).try_into().ok()?, (*last).try_into().ok().filter(|last| *last < SLOTS)?, address))
    };
    ranges.iter().filter_map(parse).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time between two reads of the slots while a node is lost.
const OFTEN: Duration = Duration::from_millis(250);
/// The time between two reads of the slots while nothing is wrong.
const SELDOM: Duration = Duration::from_secs(30);
/// The longest time that a read of the slots is delayed, so that many doubts are one read.
const BETWEEN: Duration = Duration::from_millis(20);
const MOST_ADDRESSES: usize = 100;
