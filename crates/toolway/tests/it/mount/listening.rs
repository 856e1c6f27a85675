//! Are changes noticed if a server does not report them properly, and is a caller unaffected by the subscriptions of
//! others?

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use toolway::client::{Change, Connector, Inbox, OutgoingMessage, Target, Transport, Watch};
use toolway::prelude::*;
use toolway::server::{ResourceEntry, ToolEntry};
use toolway::testing::connect;
use toolway::types::Resource;
use toolway::{BoxFuture, ProtocolVersion, RpcError};
use toolway_protocol::Message;

/// A server in this process whose subscription stream behaves in a certain way.
struct Listened {
    server: Server,
    manner: Manner,
}

#[derive(Clone)]
enum Manner {
    /// It never confirms the subscription.
    Silent,
    /// It confirms, and ends the stream when notified.
    Until(Arc<Notify>),
}

impl Connector for Listened {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        Box::pin(async {
            let inner = self.server.connect().await?;
            Ok(Box::new(Line { inner, manner: self.manner.clone() }) as Box<dyn Transport>)
        })
    }

    fn name(&self) -> String {
        "a server that tells little".to_owned()
    }
}

struct Line {
    inner: Box<dyn Transport>,
    manner: Manner,
}

impl Transport for Line {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
        if outgoing.method.name() != "subscriptions/listen" {
            return self.inner.send(outgoing);
        }
        match &self.manner {
            Manner::Silent => Box::pin(std::future::pending()),
            Manner::Until(enough) => Box::pin(async move {
                tokio::select! {
                    outcome = self.inner.send(outgoing) => outcome,
                    () = enough.notified() => Err(RpcError::invalid_request("enough").into()),
                }
            }),
        }
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.inner.set_inbox(inbox);
    }

    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        self.inner.cancels_by_dropping(version)
    }
}

fn tool(name: &str) -> ToolEntry {
    ToolEntry::from_fn(name, || async { "it" })
}

fn server() -> Server {
    let one = ResourceEntry::define(Resource::new("it://one", "it"), || async { "it" });
    Server::new("upstream", "1.0.0").tool(tool("first")).resource(one).build().unwrap()
}

async fn gateway(server: &Server, manner: Manner) -> Server {
    let upstream = Target::new(Listened { server: server.clone(), manner });
    let upstream = Client::builder().protocol(ProtocolVersion::LATEST).connect(upstream).await.unwrap();
    Server::new("gateway", "1.0.0").mount(upstream).build().unwrap()
}

/// Waits until a change is reported; the clock of these tests runs as fast as it can.
async fn until(changes: &mut Watch, wanted: Change) {
    let told = async { while changes.next().await.as_ref() != Some(&wanted) {} };
    let outcome = timeout(Duration::from_secs(3600), told).await;
    assert!(outcome.is_ok(), "{wanted:?} was never told");
}

const NONE: [&str; 0] = [];

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_say_whether_it_tells_of_changes_is_listed() {
    let server = server();
    let gateway = gateway(&server, Manner::Silent).await;
    let caller = connect(&gateway).await;
    assert_eq!(caller.tools().await.unwrap().len(), 1);
    // A subscription does not change that.
    let mut changes = caller.watch(["it://one"]).await.unwrap();
    server.add_tool(tool("second")).unwrap();
    until(&mut changes, Change::Tools).await;
    assert_eq!(caller.list_tools().all().await.unwrap().len(), 2, "it is looked at now and then");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_told_enough_is_asked_again() {
    let server = server();
    let enough = Arc::new(Notify::new());
    let gateway = gateway(&server, Manner::Until(enough.clone())).await;
    let caller = connect(&gateway).await;
    let mut changes = caller.watch(["it://one"]).await.unwrap();
    for round in 0..3 {
        enough.notify_one();
        // A change at any time is noticed.
        server.add_tool(tool(&format!("unheard-{round}"))).unwrap();
        until(&mut changes, Change::Tools).await;
        assert_eq!(caller.list_tools().all().await.unwrap().len(), round + 2);
    }
    let telling = async {
        loop {
            server.resource_updated("it://one");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = until(&mut changes, Change::Resource("it://one".to_owned())) => {}
        () = telling => {}
    }
}

#[tokio::test(start_paused = true)]
async fn one_who_wants_to_hear_of_too_much_takes_nothing_from_others() {
    let server = server();
    let upstream = Client::builder().protocol(ProtocolVersion::LATEST).connect(&server).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
    let [one, two] = [connect(&gateway).await, connect(&gateway).await];
    let mut heard_by_one = one.watch(["it://one"]).await.unwrap();
    // As much as one caller may subscribe to; the server behind does not accept one more.
    let many = two.watch((0..1000).map(|number| format!("it://many/{number}"))).await.unwrap();
    server.add_tool(tool("second")).unwrap();
    until(&mut heard_by_one, Change::Tools).await;
    server.resource_updated("it://one");
    until(&mut heard_by_one, Change::Resource("it://one".to_owned())).await;
    // When that ends, all changes are received again.
    drop(many);
    let mut heard_by_two = two.watch(["it://many/1"]).await.unwrap();
    let telling = async {
        loop {
            server.resource_updated("it://many/1");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = until(&mut heard_by_two, Change::Resource("it://many/1".to_owned())) => {}
        () = telling => {}
    }
}

#[tokio::test(start_paused = true)]
async fn what_changes_while_others_begin_to_listen_is_not_lost() {
    let server = server();
    let upstream = Client::builder().protocol(ProtocolVersion::LATEST).connect(&server).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
    let (caller, other) = (connect(&gateway).await, connect(&gateway).await);
    let mut changes = caller.watch(NONE).await.unwrap();
    for round in 0..60 {
        let wish = other.watch([format!("it://{round}")]);
        let change = async {
            // At another moment in each round.
            for _ in 0..round % 20 {
                tokio::task::yield_now().await;
            }
            server.add_tool(tool(&format!("tool-{round}"))).unwrap();
        };
        let (watch, ()) = tokio::join!(wish, change);
        until(&mut changes, Change::Tools).await;
        assert_eq!(caller.list_tools().all().await.unwrap().len(), round + 2);
        drop(watch);
    }
}
