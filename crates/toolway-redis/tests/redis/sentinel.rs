//! Does the store follow the primary that Sentinel names?

use std::collections::HashMap;
use std::fmt::Write;

use toolway_store::Store;

use crate::server::{PATIENCE, Server, eventually, is_missing};
use crate::steps::{connect, done, get, patient, put};

/// A primary, a replica and three Sentinels that watch them.
struct Watched {
    primary: Server,
    replica: Server,
    sentinels: Vec<Server>,
}

impl Watched {
    async fn start() -> Self {
        let primary = Server::start(&["--repl-diskless-sync-delay", "0"]);
        let replica = Server::start(&["--replicaof", "127.0.0.1", &primary.port.to_string()]);
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
        for sentinel in &sentinels {
            eventually("a Sentinel knows the replica and the others", async || {
                let state: HashMap<String, String> = sentinel.query(&["SENTINEL", "MASTER", "main"]).await;
                state["num-slaves"] == "1" && state["num-other-sentinels"] == "2"
            })
            .await;
        }
        Self { primary, replica, sentinels }
    }

    fn url(&self, name: &str) -> String {
        let addresses: Vec<_> =
            self.sentinels.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
        format!("redis+sentinel://{}/{name}", addresses.join(","))
    }
}

#[tokio::test]
async fn the_store_follows_a_fail_over() {
    if is_missing() {
        return;
    }
    let mut watched = Watched::start().await;
    let store = connect(watched.url("main")).await;
    let mut subscription = store.subscribe("channel").await.unwrap();
    done(&store, &put("key", "value")).await;
    eventually("the replica has the value", async || {
        watched.replica.query::<bool>(&["EXISTS", "tw1:{group}v/key"]).await
    })
    .await;
    watched.primary.kill();
    eventually("the replica has taken over", async || store.run("group", &put("new", "value")).await.is_ok())
        .await;
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "value");
    let gap = tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap();
    assert_eq!(gap, None);
    store.publish("channel", "after".into()).await.unwrap();
    let message = tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap();
    assert_eq!(message.unwrap(), "after");
}

#[tokio::test]
async fn a_name_that_no_sentinel_knows_is_refused() {
    if is_missing() {
        return;
    }
    let watched = Watched::start().await;
    let error = patient(watched.url("other")).connect().await.unwrap_err();
    assert_eq!(error.setting(), "url");
    assert!(error.to_string().contains("watches no primary of this name"), "{error}");
    let error = connect_to_sentinel(&watched).await;
    assert!(error.to_string().contains("redis+sentinel://"), "{error}");
}

async fn connect_to_sentinel(watched: &Watched) -> toolway_redis::SetupError {
    patient(watched.sentinels[0].url()).connect().await.unwrap_err()
}
