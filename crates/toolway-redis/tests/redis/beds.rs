//! How does a test get servers that replicate each other?

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use crate::proxy::{Mode, Proxy};
use crate::server::{Server, eventually, eventually_within};

/// A primary, and a replica that gets its data through a proxy.
pub(crate) struct Pair {
    pub(crate) primary: Server,
    pub(crate) proxy: Proxy,
    pub(crate) replica: Server,
}

impl Pair {
    pub(crate) async fn start() -> Self {
        let primary = Server::start(&REPLICATED);
        let proxy = Proxy::start(primary.port).await;
        let replica = start_replica(proxy.port);
        let pair = Self { primary, proxy, replica };
        pair.wait_until_in_step().await;
        pair
    }

    /// Kills the primary, and makes the replica the primary, without what it lacks. The former primary becomes a replica.
    pub(crate) async fn promote(&mut self) {
        self.primary.kill();
        let (): () = self.replica.query(&["REPLICAOF", "NO", "ONE"]).await;
        std::mem::swap(&mut self.primary, &mut self.replica);
        self.proxy.set(Mode::Pass);
        self.proxy.lead_to(self.primary.port);
        self.replica.start_again_as_replica_of(self.proxy.port);
    }

    /// Waits until the replica gets changes as they happen.
    pub(crate) async fn wait_until_in_step(&self) {
        wait_until_in_step(&self.primary, &self.replica).await;
    }
}

/// A primary, a replica and three Sentinels that watch them.
pub(crate) struct Watched {
    pub(crate) primary: Server,
    pub(crate) replica: Server,
    pub(crate) sentinels: Vec<Server>,
}

impl Watched {
    pub(crate) async fn start() -> Self {
        let primary = Server::start(&REPLICATED);
        let replica = start_replica(primary.port);
        let sentinels: Vec<_> = (0..3)
            .map(|_| {
                Server::start_as(|directory| {
                    let mut config = String::new();
                    writeln!(config, "sentinel monitor main 127.0.0.1 {} 2", primary.port).unwrap();
                    config.push_str("sentinel down-after-milliseconds main 1000\n");
                    config.push_str("sentinel failover-timeout main 5000\n");
                    let path = directory.join("sentinel.conf");
                    std::fs::write(&path, config).unwrap();
                    vec![path.display().to_string(), "--sentinel".to_owned()]
                })
            })
            .collect();
        let watched = Self { primary, replica, sentinels };
        watched.wait_until_known().await;
        watched
    }

    /// Waits until each Sentinel knows the replica and the other Sentinels.
    async fn wait_until_known(&self) {
        for sentinel in &self.sentinels {
            eventually_within(SENTINEL_PATIENCE, "a Sentinel knows the replica and the others", async || {
                let state: HashMap<String, String> = sentinel.query(&["SENTINEL", "MASTER", "main"]).await;
                state["num-slaves"] == "1" && state["num-other-sentinels"] == "2"
            })
            .await;
        }
    }

    /// Kills the primary, and waits until the Sentinels have made the replica the primary. The former primary becomes a
    /// replica.
    pub(crate) async fn fail_over(&mut self) {
        self.primary.kill();
        let port = self.replica.port.to_string();
        for sentinel in &self.sentinels {
            eventually_within(SENTINEL_PATIENCE, "the replica has taken over", async || {
                let query = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"];
                sentinel.query::<Vec<String>>(&query).await[1] == port
            })
            .await;
        }
        std::mem::swap(&mut self.primary, &mut self.replica);
        self.replica.start_again_as_replica_of(self.primary.port);
    }

    /// Waits until the next fail-over loses nothing that was confirmed.
    pub(crate) async fn wait_until_in_step(&self) {
        wait_until_in_step(&self.primary, &self.replica).await;
        self.wait_until_known().await;
    }

    pub(crate) fn url(&self, name: &str) -> String {
        let addresses: Vec<_> =
            self.sentinels.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
        format!("redis+sentinel://{}/{name}", addresses.join(","))
    }
}

fn start_replica(port: u16) -> Server {
    let port = port.to_string();
    Server::start(&[REPLICATED[0], REPLICATED[1], "--replicaof", "127.0.0.1", &port])
}

/// Waits until the replica has everything that the primary has now. The primary calls it online before it has.
async fn wait_until_in_step(primary: &Server, replica: &Server) {
    let needed = number(&replication(primary).await, "master_repl_offset");
    eventually("the replica is in step", async || {
        let info = replication(replica).await;
        info.contains("master_link_status:up") && number(&info, "slave_repl_offset") >= needed
    })
    .await;
}

async fn replication(server: &Server) -> String {
    server.query(&["INFO", "replication"]).await
}

/// Returns a number of the text, or 0.
fn number(info: &str, name: &str) -> u64 {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(known, _)| *known == name).and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

/// A replica may come at any time, and is not kept waiting.
const REPLICATED: [&str; 2] = ["--repl-diskless-sync-delay", "0"];
/// The time limit of what Sentinels decide. One that has stood still for 2 s, as on a busy machine, does nothing for the next 30 s,
/// and a vote without a winner is repeated after 10 s.
const SENTINEL_PATIENCE: Duration = Duration::from_secs(100);
