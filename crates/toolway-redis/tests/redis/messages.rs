//! Do messages arrive, and is every gap reported?

use toolway_store::{Operation, Step, Store, Subscription};

use crate::proxy::{Mode, Proxy};
use crate::server::{PATIENCE, Server, eventually, is_missing};
use crate::steps::connect;

async fn next(subscription: &mut Box<dyn Subscription>) -> Option<bytes::Bytes> {
    tokio::time::timeout(PATIENCE, subscription.next()).await.expect("a message or a gap must arrive")
}

#[tokio::test]
async fn a_lost_connection_is_a_gap_for_every_subscription() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let proxy = Proxy::start(server.port).await;
    let (store, other) = (connect(proxy.url()).await, connect(server.url()).await);
    let mut first = store.subscribe("first").await.unwrap();
    let mut second = store.subscribe("second").await.unwrap();
    let mut again = store.subscribe("first").await.unwrap();
    other.publish("first", "before".into()).await.unwrap();
    for subscription in [&mut first, &mut again] {
        assert_eq!(next(subscription).await.unwrap(), "before");
    }
    proxy.cut();
    other.publish("first", "missed".into()).await.unwrap();
    for subscription in [&mut first, &mut second, &mut again] {
        assert_eq!(next(subscription).await, None);
    }
    // The gap is reported when the subscription works again, so nothing after it is missed.
    let tell = Operation::Publish { channel: "second".into(), message: "after".into() };
    other.run("group", &Step::new().then(tell)).await.unwrap();
    other.publish("first", "after".into()).await.unwrap();
    for subscription in [&mut first, &mut second, &mut again] {
        assert_eq!(next(subscription).await.unwrap(), "after");
    }
}

#[tokio::test]
async fn a_silent_connection_is_found_out() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let proxy = Proxy::start(server.port).await;
    let store = crate::steps::patient(proxy.url())
        .timeout(std::time::Duration::from_millis(300))
        .connect()
        .await
        .unwrap();
    let mut subscription = store.subscribe("channel").await.unwrap();
    proxy.set(Mode::Blackhole);
    // The task looks by itself: nothing else is sent. Once it has found out, the next connection may pass.
    eventually("the connection is given up", async || {
        let clients: String = server.query(&["CLIENT", "LIST", "TYPE", "pubsub"]).await;
        clients.trim().is_empty()
    })
    .await;
    proxy.set(Mode::Pass);
    assert_eq!(next(&mut subscription).await, None);
}

#[tokio::test]
async fn a_channel_without_subscribers_is_given_up() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let store = connect(server.url()).await;
    let count = async || {
        let (_, count): (String, u32) = server.query(&["PUBSUB", "NUMSUB", "tw1:channel"]).await;
        count
    };
    let one = store.subscribe("channel").await.unwrap();
    let two = store.subscribe("channel").await.unwrap();
    assert_eq!(count().await, 1, "one connection has one subscription to a channel");
    drop(one);
    drop(two);
    eventually("the channel has no subscriber", async || count().await == 0).await;
    drop(store);
    eventually("no connection is left", async || {
        let clients: String = server.query(&["CLIENT", "LIST"]).await;
        clients.lines().count() == 1
    })
    .await;
}
