//! What happens to the data and to steps when the server restarts, is full, or refuses?

use toolway_store::{Append, Outcome, Step, Store, StoreFailure};

use crate::proxy::{Mode, Proxy};
use crate::server::{Server, eventually, is_missing};
use crate::steps::{append, claim, connect, done, failure, get, log, patient, put, unnumbered};

#[tokio::test]
async fn data_survives_a_kill_with_an_append_only_file() {
    if is_missing() {
        return;
    }
    let mut server = Server::start_durable();
    let store = connect(server.url()).await;
    done(&store, &put("key", "value")).await;
    done(&store, &Step::new().then(append(1..=3))).await;
    server.kill();
    server.start_again();
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "value");
    done(&store, &Step::new().then(append(4..=4))).await;
    assert_eq!(log(&store).await.unwrap().last, 4);
}

#[tokio::test]
async fn an_empty_restart_is_noticed_and_the_secret_stays() {
    if is_missing() {
        return;
    }
    let mut server = Server::start(&[]);
    let store = connect(server.url()).await;
    done(&store, &put("key", "value")).await;
    done(&store, &Step::new().then(append(1..=3))).await;
    let losses = store.losses();
    done(&store, &put("other", "value")).await;
    assert_eq!(store.losses(), losses, "nothing is lost");
    server.kill();
    server.start_again();
    assert_eq!(get(&store, "key").await.unwrap(), None);
    assert_eq!(store.losses(), losses + 1, "it is known as soon as the data is missing");
    let next = Step::new().then(append(4..=4));
    assert_eq!(store.run("group", &next).await.unwrap(), Outcome::Behind { operation: 0, last: 0 });
    eventually("the secret is written again", async || {
        server.query::<bool>(&["EXISTS", "tw1:{c}secret"]).await
            && server.query::<bool>(&["EXISTS", "tw1:{c}format"]).await
    })
    .await;
    assert_eq!(connect(server.url()).await.secret(), store.secret());
}

#[tokio::test]
async fn stores_share_a_secret_unless_their_prefix_differs() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let (one, two) = tokio::join!(connect(server.url()), connect(server.url()));
    assert_eq!(one.secret(), two.secret());
    let other = patient(server.url()).prefix("other:").connect().await.unwrap();
    assert_ne!(one.secret(), other.secret());
    done(&one, &put("key", "value")).await;
    assert_eq!(get(&two, "key").await.unwrap().unwrap(), "value");
    assert_eq!(get(&other, "key").await.unwrap(), None);
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let store = connect(server.url()).await;
    let (): () = server.query(&["SCRIPT", "FLUSH"]).await;
    done(&store, &unnumbered()).await;
    assert_eq!(log(&store).await.unwrap().last, 1);
}

#[tokio::test]
async fn a_full_server_refuses_whole_steps_and_still_reads() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let store = connect(server.url()).await;
    done(&store, &put("key", "value")).await;
    let (): () = server.query(&["CONFIG", "SET", "maxmemory", "1"]).await;
    // The new time to live comes first in the step, and needs no memory; nothing of the step may be done.
    let renew = toolway_store::Operation::Renew { key: "key".into(), ttl: std::time::Duration::ZERO };
    let mut step = claim("id", "node");
    step.operations.insert(0, renew);
    assert_eq!(failure(&store, &step).await, StoreFailure::NotDone);
    assert_eq!(failure(&store, &Step::new().then(append(1..=1))).await, StoreFailure::NotDone);
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "value");
    let (): () = server.query(&["CONFIG", "SET", "maxmemory", "0"]).await;
    done(&store, &step).await;
    assert_eq!(get(&store, "key").await.unwrap(), None);
}

#[tokio::test]
async fn a_server_that_became_a_replica_answers_nothing() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let store = patient(server.url()).timeout(std::time::Duration::from_millis(500)).connect().await.unwrap();
    done(&store, &put("key", "value")).await;
    let (): () = server.query(&["REPLICAOF", "127.0.0.1", "1"]).await;
    // A replica could answer this, but perhaps with old data.
    let read = get(&store, "key").await.unwrap_err();
    assert_eq!(read.failure(), StoreFailure::NotDone);
    let refused = Step::new().when(toolway_store::Condition::Exists("absent".into()));
    assert_eq!(failure(&store, &refused).await, StoreFailure::NotDone);
    assert_eq!(failure(&store, &put("key", "new")).await, StoreFailure::NotDone);
    let (): () = server.query(&["REPLICAOF", "NO", "ONE"]).await;
    eventually("it is the primary again", async || get(&store, "key").await.is_ok()).await;
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "value");
}

#[tokio::test]
async fn a_server_that_is_busy_with_a_script_does_nothing_else() {
    if is_missing() {
        return;
    }
    let server = Server::start(&["--lua-time-limit", "5"]);
    let store = connect(server.url()).await;
    let mut connection = server.connection().await;
    let endless = tokio::spawn(async move {
        redis::cmd("EVAL").arg("while true do end").arg(0).query_async::<()>(&mut connection).await
    });
    eventually("the server is busy", async || {
        matches!(store.run("group", &put("key", "value")).await, Err(error) if error.failure() == StoreFailure::NotDone)
    })
    .await;
    let (): () = server.query(&["SCRIPT", "KILL"]).await;
    endless.await.unwrap().unwrap_err();
    done(&store, &put("key", "value")).await;
}

#[tokio::test]
async fn what_the_server_refuses_is_not_done() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let proxy = Proxy::start(server.port).await;
    let store = patient(proxy.url()).timeout(std::time::Duration::from_secs(1)).connect().await.unwrap();
    for error in [
        "LOADING Redis is loading the dataset in memory",
        "BUSY Redis is busy running a script",
        "OOM command not allowed",
        "MISCONF Errors writing to the AOF file",
        "NOREPLICAS Not enough good replicas to write",
        "READONLY You can't write against a read only replica.",
        "CLUSTERDOWN The cluster is down",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "MASTERDOWN Link with MASTER is down",
        "MOVED 1 127.0.0.1:1",
    ] {
        proxy.set(Mode::Answer(error));
        // Not even a step that must not be repeated has an unknown outcome.
        let result = store.run("group", &unnumbered()).await.unwrap_err();
        assert_eq!(result.failure(), StoreFailure::NotDone, "{error}: {result}");
        proxy.set(Mode::Pass);
        eventually("the store works again", async || get(&store, "key").await.is_ok()).await;
    }
    assert_eq!(log(&store).await, None);
    proxy.set(Mode::Answer("WRONGTYPE Operation against a key holding the wrong kind of value"));
    assert_eq!(failure(&store, &unnumbered()).await, StoreFailure::Broken);
}

#[tokio::test]
async fn data_of_another_program_is_broken() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let store = connect(server.url()).await;
    let (): () = server.query(&["SET", "tw1:{group}l/log", "text"]).await;
    assert_eq!(failure(&store, &Step::new().then(append(1..=1))).await, StoreFailure::Broken);
    let ended = Step::new().then(Append { log: "other".into(), ..append(1..=1) });
    done(&store, &ended).await;
}
