//! Is a whole hub offered, with its names?

use std::time::Duration;

use serde_json::json;
use toolway::client::{Answer, Change};
use toolway::prelude::*;
use toolway::server::{Completer, ResourceEntry, ToolEntry};
use toolway::testing::each_wire_as;
use toolway::types::{Resource, ResourceTemplate};
use toolway::{Form, Hub, ProtocolVersion};

#[derive(Form)]
struct Name {
    name: String,
}

/// Ask for a name.
#[tool]
async fn name(ctx: Ctx, me: State<&'static str>) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("Who?").await?;
    Ok(format!("{} {name}", *me))
}

/// Greet.
#[prompt]
fn greet(me: State<&'static str>) -> String {
    format!("Greet {}.", *me)
}

fn server(name: &'static str, tools: Vec<ToolEntry>) -> Server {
    let resource = |uri: &str| ResourceEntry::define(Resource::new(uri, "it"), move || async move { name });
    let family = format!("{name}://{{item}}");
    let family = ResourceEntry::define(ResourceTemplate::new(family, "family"), move || async move { name })
        .with_completer("item", Completer::list(["apple", "pear"]));
    Server::new(name, "1.0.0")
        .state(name)
        .tools(tools)
        .prompts(prompts![greet])
        .resources([resource("both://it"), resource(&format!("{name}-only://it")), family])
        .build()
        .unwrap()
}

fn caller() -> toolway::client::ClientBuilder {
    Client::builder().on_elicit(async |_| Answer::accept(json!({"name": "Ada"})))
}

#[tokio::test]
async fn the_servers_of_a_hub_are_offered_under_its_names() {
    let hub = Hub::new();
    let [one, two] = ["one", "two"].map(|who| server(who, tools![name]));
    hub.connect("first", &one).await.unwrap().connect("second", &two).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(&hub).build().unwrap();
    each_wire_as(caller(), &gateway, async |caller| {
        let tools = caller.tools().await.unwrap();
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["first__name", "second__name"]);
        if caller.protocol_version() >= ProtocolVersion::V2025_06_18 {
            let said = caller.call("second__name", json!({})).await.unwrap();
            assert_eq!(said.text().unwrap(), "two Ada");
        }
        let greeting = caller.get_prompt("first__greet", ()).await.unwrap();
        assert_eq!(greeting.messages[0].content.as_text(), Some("Greet one."));
        // A URI of only one server is kept; a URI that both have is made unique.
        let listed = caller.resources().await.unwrap();
        let uris: Vec<_> = listed.iter().map(|resource| &*resource.uri).collect();
        assert_eq!(
            uris,
            ["hub://first/both://it", "one-only://it", "hub://second/both://it", "two-only://it"]
        );
        for (uri, expected) in [
            ("hub://second/both://it", "two"),
            ("one-only://it", "one"),
            ("one://apple", "one"),
            ("hub://first/nowhere://listed", ""),
        ] {
            match caller.read_resource(uri).await {
                Ok(read) => {
                    assert_eq!((read.text(), &*read.contents[0].uri), (Some(expected), uri));
                }
                Err(error) => assert!(expected.is_empty() && error.code().is_some(), "{uri}: {error}"),
            }
        }
        assert!(caller.read_resource("both://it").await.is_err(), "nobody can tell whose it is");
        if caller.protocol_version() >= ProtocolVersion::V2025_03_26 {
            let found = caller.complete_resource("one://{item}", "item", "ap", ()).await.unwrap();
            assert_eq!(found.values, ["apple"]);
        }
    })
    .await;
}

#[tokio::test]
async fn servers_come_and_go_with_the_hub() {
    let hub = Hub::new();
    let [one, two] = ["one", "two"].map(|who| server(who, tools![name]));
    hub.connect("first", &one).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(hub.clone()).build().unwrap();
    let caller = caller().connect(&gateway).await.unwrap();
    let mut changes = caller.watch(["two-only://it"]).await.unwrap();
    let mut until = async |wanted: Change| while changes.next().await.unwrap() != wanted {};
    let names = async || -> Vec<String> {
        caller.list_tools().all().await.unwrap().into_iter().map(|tool| tool.name).collect()
    };
    assert_eq!(names().await, ["first__name"]);
    hub.connect("second", &two).await.unwrap();
    until(Change::Tools).await;
    assert_eq!(names().await, ["first__name", "second__name"]);
    // A subscription that was made before its server was connected reaches the server eventually.
    let telling = async {
        loop {
            two.resource_updated("two-only://it");
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = until(Change::Resource("two-only://it".to_owned())) => {}
        () = telling => {}
    }
    hub.disconnect("first").await;
    until(Change::Tools).await;
    assert_eq!(names().await, ["second__name"]);
    assert!(caller.call("first__name", json!({})).await.is_err());
}

#[tokio::test]
async fn questions_reach_the_caller_through_servers_of_both_eras() {
    let hub = Hub::builder();
    let hub = hub.client(Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE)).build().unwrap();
    hub.connect("old", &server("old", tools![name])).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(&hub).build().unwrap();
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let caller = caller().protocol(version).connect(&gateway).await.unwrap();
        let said = caller.call("old__name", json!({})).await.unwrap();
        assert_eq!(said.text().unwrap(), "old Ada");
    }
}

#[tokio::test]
async fn a_long_name_is_told_of_as_well_as_a_short_one() {
    let hub = Hub::new();
    let one = server("one", tools![name]);
    hub.connect("first", &one).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(&hub).build().unwrap();
    each_wire_as(caller(), &gateway, async |caller| {
        for names in [
            &["hub://first/one-only://it"][..],
            &["one-only://it"],
            &["hub://first/one-only://it", "one-only://it"],
        ] {
            let mut changes = caller.watch(names.iter().copied()).await.unwrap();
            one.resource_updated("one-only://it");
            let mut waiting: Vec<_> = names.iter().map(|name| Change::Resource((*name).to_owned())).collect();
            while !waiting.is_empty() {
                let change = changes.next().await.unwrap();
                waiting.retain(|wanted| *wanted != change);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_somebody_closed_is_not_kept() {
    let hub = Hub::new();
    hub.connect("first", &server("one", tools![name])).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(&hub).build().unwrap();
    let caller = caller().connect(&gateway).await.unwrap();
    assert_eq!(caller.call("first__name", json!({})).await.unwrap().text().unwrap(), "one Ada");
    let mut changes = hub.watch();
    hub.client("first").unwrap().close().await.unwrap();
    // Now the hub notices.
    hub.refresh().await;
    let told = async { while changes.next().await != Some(toolway::hub::HubChange::Servers) {} };
    tokio::time::timeout(Duration::from_secs(25), told).await.expect("the hub tells that it has another one");
    // The gateway is notified by the hub.
    let answered = async {
        loop {
            let said = caller.call("first__name", json!({})).await.unwrap();
            if !said.is_error() {
                break said.text().unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    let answered = tokio::time::timeout(Duration::from_secs(25), answered).await;
    assert_eq!(answered.expect("the client of now is asked"), "one Ada");
}

#[tokio::test]
async fn tools_of_a_client_are_listed_and_called_beside_those_of_a_mounted_hub() {
    let hub = Hub::new();
    let [one, two] = ["one", "two"]
        .map(|who| server(who, vec![ToolEntry::from_fn(format!("say_{who}"), move || async move { who })]));
    hub.connect("first", &one).await.unwrap();
    let other = Client::connect(&two).await.unwrap();
    let tools = other.as_tools().await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(&hub).tools(tools).build().unwrap();
    // Tools that were added to a running server stay when the mounted servers are listed again.
    let late = server("late", vec![ToolEntry::from_fn("say_late", || async { "late" })]);
    let late = Client::connect(&late).await.unwrap().as_tools().await.unwrap();
    for tool in late {
        gateway.add_tool(ToolEntry::from(tool)).unwrap();
    }
    each_wire_as(caller(), &gateway, async |caller| {
        let tools = caller.tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["say_two", "say_late", "first__say_one"]);
        for (tool, said) in [("say_two", "two"), ("say_late", "late"), ("first__say_one", "one")] {
            assert_eq!(caller.call(tool, json!({})).await.unwrap().text().unwrap(), said);
        }
    })
    .await;
}
