//! Does the store find the node that has the keys?

use redis::Value;
use toolway_store::Store;

use crate::server::{Server, eventually, is_missing};
use crate::steps::{claim, connect, done, get, put};

/// The nodes of a Redis Cluster. The first ones are primaries.
pub(crate) struct Nodes {
    pub(crate) servers: Vec<Server>,
}

impl Nodes {
    /// Starts a cluster of primaries that share the slots.
    pub(crate) async fn start(primaries: u32) -> Self {
        let arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
        let servers: Vec<_> = (0..primaries).map(|_| Server::start(&arguments)).collect();
        let share = 16_384 / primaries;
        for (number, server) in (0..).zip(&servers) {
            let first = number * share;
            let last = if number + 1 == primaries { 16_383 } else { first + share - 1 };
            let slots: Vec<_> = (first..=last).map(|slot| slot.to_string()).collect();
            let words = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str));
            let (): () = server.query(&words.collect::<Vec<_>>()).await;
        }
        let nodes = Self { servers };
        for server in &nodes.servers[1..] {
            nodes.meet(server).await;
        }
        for server in &nodes.servers {
            nodes.wait(server, usize::try_from(primaries).unwrap()).await;
        }
        nodes
    }

    async fn meet(&self, server: &Server) {
        let port = self.servers[0].port.to_string();
        let (): () = server.query(&["CLUSTER", "MEET", "127.0.0.1", &port]).await;
    }

    /// Waits until a node knows the others.
    async fn wait(&self, server: &Server, count: usize) {
        eventually("a node of the cluster is ready", async || {
            let info: String = server.query(&["CLUSTER", "INFO"]).await;
            info.contains("cluster_state:ok") && info.contains(&format!("cluster_known_nodes:{count}"))
        })
        .await;
    }

    /// Adds a replica of the first primary.
    async fn add_replica(&mut self) {
        let replica = Server::start(&["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]);
        self.meet(&replica).await;
        self.wait(&replica, self.servers.len() + 1).await;
        let id = self.id(0).await;
        eventually("the replica knows its primary", async || {
            replica.try_query::<()>(&["CLUSTER", "REPLICATE", &id]).await.is_ok()
        })
        .await;
        for server in &self.servers {
            eventually("each primary knows the replica", async || {
                server.query::<String>(&["CLUSTER", "NODES"]).await.contains(" slave ")
            })
            .await;
        }
        self.servers.push(replica);
    }

    async fn id(&self, server: usize) -> String {
        self.servers[server].query(&["CLUSTER", "MYID"]).await
    }

    /// Returns the positions of the primary that has the keys of the tests, and of another one.
    async fn owner_and_other(&self, slot: &str) -> (usize, usize) {
        for (position, server) in self.servers.iter().enumerate() {
            let found: Value = server.query(&["CLUSTER", "COUNTKEYSINSLOT", slot]).await;
            if found != Value::Int(0) {
                return (position, (position + 1) % self.servers.len());
            }
        }
        panic!("no node has keys in slot {slot}");
    }

    async fn slot(&self) -> String {
        let slot: u16 = self.servers[0].query(&["CLUSTER", "KEYSLOT", "tw1:{group}v/key"]).await;
        slot.to_string()
    }

    pub(crate) fn url(&self) -> String {
        let addresses: Vec<_> =
            self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
        format!("redis+cluster://{}", addresses.join(","))
    }
}

#[tokio::test]
async fn a_slot_that_moves_is_followed_during_and_after_its_move() {
    if is_missing() {
        return;
    }
    let nodes = Nodes::start(3).await;
    let store = connect(nodes.url()).await;
    done(&store, &put("key", "before")).await;
    let slot = nodes.slot().await;
    let (from, to) = nodes.owner_and_other(&slot).await;
    let (from_id, to_id) = (nodes.id(from).await, nodes.id(to).await);
    let (): () = nodes.servers[to].query(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]).await;
    let (): () = nodes.servers[from].query(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]).await;
    // The value is still at the old node, and what is new goes to the new one.
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "before");
    done(&store, &put("new", "during")).await;
    let port = nodes.servers[to].port.to_string();
    let migrate = ["MIGRATE", "127.0.0.1", &port, "tw1:{group}v/key", "0", "5000"];
    let (): () = nodes.servers[from].query(&migrate).await;
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "before");
    let losses = store.losses();
    for server in [to, from] {
        let (): () = nodes.servers[server].query(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]).await;
    }
    assert_eq!(get(&store, "new").await.unwrap().unwrap(), "during");
    assert!(store.losses() > losses, "another node has the slot");
    done(&store, &claim("id", "after")).await;
}

#[tokio::test]
async fn a_replica_that_takes_over_is_followed() {
    if is_missing() {
        return;
    }
    let mut nodes = Nodes::start(3).await;
    nodes.add_replica().await;
    let store = connect(nodes.url()).await;
    let mut subscription = store.subscribe("channel").await.unwrap();
    let groups = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for group in groups {
        store.run(group, &put("key", group)).await.unwrap();
    }
    let replica = &nodes.servers[3];
    eventually("the replica is in step", async || {
        let info: String = replica.query(&["INFO", "replication"]).await;
        info.contains("master_link_status:up")
    })
    .await;
    let (): () = replica.query(&["CLUSTER", "FAILOVER"]).await;
    eventually("the replica is the primary", async || {
        let info: String = replica.query(&["INFO", "replication"]).await;
        info.contains("role:master")
    })
    .await;
    let losses = store.losses();
    nodes.servers[0].kill();
    for group in groups {
        eventually("the group can be used", async || store.run(group, &put("key", "after")).await.is_ok())
            .await;
    }
    assert!(store.losses() > losses, "another node has its slots");
    // Messages pass between any two nodes. The subscription may have been at the node that is gone.
    store.publish("channel", "hello".into()).await.unwrap();
    let next = async {
        loop {
            match subscription.next().await {
                Some(message) => return message,
                None => store.publish("channel", "hello".into()).await.unwrap(),
            }
        }
    };
    assert_eq!(tokio::time::timeout(crate::server::PATIENCE, next).await.unwrap(), "hello");
}
