//! Are all callers notified of changes behind a gateway?

use serde_json::json;
use toolway::ProtocolVersion;
use toolway::client::Notification;
use toolway::client::{Change, NotificationReader};
use toolway::prelude::*;
use toolway::server::{ResourceEntry, ToolEntry};
use toolway::testing::connect;
use toolway::types::{Resource, ResourceTemplate};

use super::{Wire, in_front_of, through};
use crate::ports::Port;

fn tool(name: &str) -> ToolEntry {
    let said = name.to_owned();
    ToolEntry::from_fn(name, move || {
        let said = said.clone();
        async move { said }
    })
}

fn resource(uri: &str) -> ResourceEntry {
    ResourceEntry::define(Resource::new(uri, "it"), || async { "it" })
}

fn server() -> Server {
    Server::new("upstream", "1.0.0").tool(tool("first")).resource(resource("it://one")).build().unwrap()
}

/// Waits until the wanted change is reported.
async fn until(changes: &mut toolway::client::Watch, wanted: &Change) {
    while changes.next().await.as_ref() != Some(wanted) {}
}

#[tokio::test]
async fn what_comes_and_goes_behind_a_gateway_comes_and_goes_there() {
    let server = server();
    through(&server, async |caller| {
        let none: [&str; 0] = [];
        let mut changes = caller.watch(none).await.unwrap();
        assert_eq!(caller.tools().await.unwrap().len(), 1);
        server.add_tool(tool("second")).unwrap();
        until(&mut changes, &Change::Tools).await;
        let tools = caller.list_tools().all().await.unwrap();
        assert_eq!(tools.len(), 2);
        assert_eq!(caller.call("second", json!({})).await.unwrap().text().unwrap(), "second");
        server.remove_tool("second");
        until(&mut changes, &Change::Tools).await;
        assert_eq!(caller.list_tools().all().await.unwrap().len(), 1);
        assert!(caller.call("second", json!({})).await.is_err());
        server.add_resource(resource("it://two")).unwrap();
        until(&mut changes, &Change::Resources).await;
        assert_eq!(caller.resources().await.unwrap().len(), 2);
        server.remove_resource("it://two");
        until(&mut changes, &Change::Resources).await;
    })
    .await;
}

#[tokio::test]
async fn a_subscription_reaches_the_server_behind_before_it_is_confirmed() {
    let server = Server::new("upstream", "1.0.0")
        .resource(resource("it://one"))
        .resource(ResourceEntry::define(ResourceTemplate::new("family://{name}", "family"), || async {
            "it"
        }))
        .build()
        .unwrap();
    through(&server, async |caller| {
        let mut changes = caller.watch(["it://one", "family://ann", "nobody://lists/it"]).await.unwrap();
        for uri in ["it://one", "family://ann", "nobody://lists/it"] {
            server.resource_updated("it://other");
            server.resource_updated(uri);
            loop {
                match changes.next().await.unwrap() {
                    Change::Resource(updated) => break assert_eq!(updated, uri),
                    other => assert!(!matches!(other, Change::Tools | Change::Prompts), "{other:?}"),
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_behind_is_asked_for_what_somebody_wants_and_nothing_else() {
    async fn next(news: &mut NotificationReader) -> String {
        loop {
            if let Some(Notification::ResourceUpdated(updated)) = news.next().await {
                return updated.uri;
            }
        }
    }
    let server = server();
    in_front_of(&server, async |gateway, _| {
        // Two callers subscribe to the same resource, and one of them unsubscribes.
        let builder = || Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
        let one = builder().connect(&gateway).await.unwrap();
        let two = builder().connect(&gateway).await.unwrap();
        let (mut heard_by_one, mut heard_by_two) = (one.notifications(), two.notifications());
        one.subscribe("it://one").await.unwrap();
        two.subscribe("it://one").await.unwrap();
        server.resource_updated("it://one");
        assert_eq!(
            (next(&mut heard_by_one).await, next(&mut heard_by_two).await),
            ("it://one".into(), "it://one".into())
        );
        one.unsubscribe("it://one").await.unwrap();
        one.subscribe("it://two").await.unwrap();
        server.resource_updated("it://one");
        assert_eq!(next(&mut heard_by_two).await, "it://one");
        server.resource_updated("it://two");
        assert_eq!(next(&mut heard_by_one).await, "it://two");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_was_started_again_is_looked_at_again() {
    let before = Server::new("upstream", "1.0.0").tool(tool("before")).build().unwrap();
    let after = Server::new("upstream", "1.0.0").tool(tool("after")).build().unwrap();
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let port = Port::hold();
        let serving = tokio::spawn(before.http().serve(port.listen()));
        let upstream = Client::builder().protocol(version).connect_http(&port.url()).await.unwrap();
        let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
        let caller = connect(&gateway).await;
        let none: [&str; 0] = [];
        let mut changes = caller.watch(none).await.unwrap();
        assert_eq!(caller.call("before", json!({})).await.unwrap().text().unwrap(), "before");
        serving.abort();
        let _ = serving.await;
        let serving = tokio::spawn(after.http().serve(port.listen()));
        // A call of a tool that no longer exists makes the gateway notice.
        let lost = caller.call("before", json!({})).await;
        assert!(lost.is_err() || lost.is_ok_and(|result| result.is_error()));
        until(&mut changes, &Change::Tools).await;
        assert_eq!(caller.call("after", json!({})).await.unwrap().text().unwrap(), "after");
        serving.abort();
    }
}

#[tokio::test]
async fn a_gateway_that_is_dropped_lets_go_of_the_servers_behind_it() {
    let (gone, mut goes) = tokio::sync::mpsc::unbounded_channel::<()>();
    let server = Server::new("upstream", "1.0.0")
        .tool(tool("first"))
        .state(gone)
        .on_disconnect(
            |gone: State<tokio::sync::mpsc::UnboundedSender<()>>| async move { gone.send(()).unwrap() },
        )
        .build()
        .unwrap();
    let (upstream, _serving) =
        Wire::Pipe(ProtocolVersion::LATEST_HANDSHAKE).connect(Client::builder(), &server).await;
    let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
    let caller = connect(&gateway).await;
    assert_eq!(caller.tools().await.unwrap().len(), 1);
    drop((caller, gateway));
    goes.recv().await.unwrap();
}
