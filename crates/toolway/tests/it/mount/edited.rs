//! Can mounted elements be renamed, described and left out, while everything else stays unchanged?

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolway::client::Answer;
use toolway::prelude::*;
use toolway::server::{Mount, ReadRequest, ResourceEntry, ToolEntry};
use toolway::testing::{connect, each_wire};
use toolway::types::{Resource, ResourceTemplate};
use toolway::{Form, Hub, ProtocolVersion};

use super::through_as;

#[derive(Form)]
struct Name {
    name: String,
}

/// Count, and ask in between.
#[tool]
async fn count(ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(1, 2, "half").await;
    let Name { name } = ctx.ask("Who?").await?;
    ctx.progress(2, 2, "whole").await;
    Ok(format!("counted for {name}"))
}

/// Do something dangerous.
#[tool(destructive)]
fn wipe() {}

/// Greet.
#[prompt]
fn greet() -> &'static str {
    "Hello"
}

/// Insult.
#[prompt]
fn insult() -> &'static str {
    "Go away"
}

fn server() -> Server {
    let resource =
        |uri: &'static str| ResourceEntry::define(Resource::new(uri, uri), move || async move { uri });
    let family = ResourceTemplate::new("file:///{+path}", "file");
    Server::new("app", "1.0.0")
        .tools(tools![count, wipe])
        .prompts(prompts![greet, insult])
        .resources([resource("file:///open"), resource("file:///secret/key")])
        .resource(ResourceEntry::define(family, |reading: ReadRequest| async move { reading.uri }))
        .build()
        .unwrap()
}

async fn names(caller: &Client) -> Vec<String> {
    caller.tools().await.unwrap().iter().map(|tool| tool.name.clone()).collect()
}

#[tokio::test]
async fn a_renamed_tool_keeps_its_progress_and_its_questions() {
    let asked = Client::builder().on_elicit(async |_| Answer::accept(json!({"name": "Ada"})));
    let mount = |gateway: toolway::server::ServerBuilder, upstream: Client| {
        gateway.mount(Mount::of(upstream).rename("count", "tally").describe("count", "Tally up."))
    };
    through_as(asked, &server(), mount, async |caller| {
        let tools = caller.tools().await.unwrap();
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["tally", "wipe"]);
        assert_eq!(tools[0].description(), "Tally up.");
        assert_eq!(tools[1].description(), "Do something dangerous.");
        assert!(caller.call("count", json!({})).await.is_err(), "the old name is gone");
        if caller.protocol_version() < ProtocolVersion::V2025_06_18 {
            return;
        }
        let seen = Arc::new(Mutex::new(0));
        let noted = seen.clone();
        let call = caller.call("tally", json!({})).on_progress(move |_| *noted.lock().unwrap() += 1);
        let said = call.await.unwrap();
        // A server of an older revision cannot ask.
        if !said.is_error() {
            assert_eq!(said.text().unwrap(), "counted for Ada");
            assert_eq!(*seen.lock().unwrap(), 2);
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_filtered_is_neither_listed_nor_called_nor_read() {
    let hub = Hub::new();
    hub.connect("one", &server()).await.unwrap().connect("two", &server()).await.unwrap();
    let mount = Mount::of(&hub)
        .filter(|tool| tool.annotations.as_ref().is_none_or(|hints| hints.destructive_hint != Some(true)))
        .filter(|tool| tool.name.starts_with("one__"))
        .filter_prompts(|prompt| !prompt.name.contains("insult"))
        .filter_resources(|server, uri| server == "one" && !uri.starts_with("file:///secret"));
    let gateway = Server::new("gateway", "1.0.0").mount(mount).build().unwrap();
    each_wire(&gateway, async |caller| {
        assert_eq!(names(&caller).await, ["one__count"]);
        for hidden in ["one__wipe", "two__count"] {
            let error = caller.call(hidden, json!({})).await.unwrap_err();
            assert_eq!(error.code(), Some(toolway::Code::INVALID_PARAMS), "{hidden}");
        }
        let prompts = caller.prompts().await.unwrap();
        assert_eq!(
            prompts.iter().map(|prompt| &*prompt.name).collect::<Vec<_>>(),
            ["one__greet", "two__greet"]
        );
        assert!(caller.get_prompt("one__insult", ()).await.is_err());
        let listed = caller.resources().await.unwrap();
        let uris: Vec<_> = listed.iter().map(|resource| &*resource.uri).collect();
        assert_eq!(uris, ["hub://one/file:///open"]);
        assert_eq!(caller.resource_templates().await.unwrap().len(), 1);
        for (uri, is_read) in [
            ("hub://one/file:///open", true),
            ("hub://one/file:///other", true),
            // Hidden: through the template, by its URI at its own server, and at a server that offers nothing.
            ("hub://one/file:///secret/key", false),
            ("hub://one/file:///secret/other", false),
            ("file:///secret/key", false),
            ("hub://two/file:///open", false),
        ] {
            assert_eq!(caller.read_resource(uri).await.is_ok(), is_read, "{uri}");
        }
    })
    .await;
}

#[tokio::test]
async fn names_that_cannot_be_are_mistakes_and_names_that_are_taken_are_left_out() {
    let client = Client::connect(&server()).await.unwrap();
    let told = |mount: Mount| Server::new("gateway", "1.0.0").mount(mount).build().unwrap_err().to_string();
    let wrong = told(Mount::of(&client).rename("count", "one two"));
    assert!(wrong.contains(r#"`rename("count", "one two")`: its name holds ' '"#), "{wrong}");
    let twice = told(Mount::of(&client).rename("count", "one").rename("count", "two"));
    assert!(twice.contains("this tool is renamed twice"), "{twice}");
    let both = told(Mount::of(&client).rename("count", "one").rename("wipe", "one"));
    assert!(both.contains("the tool `count` is given the same name"), "{both}");

    // Two may swap names, since both are renamed at once.
    let swapped = Mount::of(&client).rename("count", "wipe").rename("wipe", "count");
    let gateway = Server::new("gateway", "1.0.0").mount(swapped).build().unwrap();
    let caller = connect(&gateway).await;
    assert_eq!(names(&caller).await, ["wipe", "count"]);
    assert_eq!(caller.call("count", json!({})).await.unwrap().content.len(), 0);

    // The gateway's own tools come first, then those that are listed first.
    let own = || ToolEntry::from_fn("own", || async { "mine" }).with_description("Say whose it is.");
    let taken = Mount::of(&client).rename("wipe", "own").rename_with(|name| format!("late {name}"));
    let caller = connect(&Server::new("gateway", "1.0.0").tool(own()).mount(taken).build().unwrap()).await;
    assert_eq!(names(&caller).await, ["own"], "one name is taken, and the other cannot be");
    assert_eq!(caller.call("own", json!({})).await.unwrap().text().unwrap(), "mine");

    // A name that no tool has yet is not a mistake.
    let later = Mount::of(&client).rename("missing", "found").describe("missing", "Found.");
    let caller = connect(&Server::new("gateway", "1.0.0").mount(later).build().unwrap()).await;
    assert_eq!(names(&caller).await, ["count", "wipe"]);
}

#[tokio::test]
async fn tools_that_come_later_are_changed_as_well() {
    let server = server();
    let client = Client::connect(&server).await.unwrap();
    let mount = Mount::of(client)
        .rename_with(|name| format!("my_{name}"))
        .rename("late", "early")
        .filter(|tool| tool.name != "hidden");
    let gateway = Server::new("gateway", "1.0.0").mount(mount).build().unwrap();
    let caller = connect(&gateway).await;
    assert_eq!(names(&caller).await, ["my_count", "my_wipe"]);
    let mut watch = caller.watch([""; 0]).await.unwrap();
    for name in ["hidden", "late"] {
        server.add_tool(ToolEntry::from_fn(name, || async { "here" }).with_description("Come.")).unwrap();
    }
    while names(&caller).await.len() < 3 {
        assert!(watch.next().await.is_some());
    }
    assert_eq!(names(&caller).await, ["my_count", "my_wipe", "early"]);
    assert_eq!(caller.call("early", json!({})).await.unwrap().text().unwrap(), "here");
}

#[tokio::test]
async fn a_filter_that_panics_leaves_out_what_it_was_asked_about() {
    let client = Client::connect(&server()).await.unwrap();
    let mount = Mount::of(client)
        .filter(|tool| tool.name == "count" || panic!("never seen {}", tool.name))
        .filter_resources(|_, uri| !uri.contains("secret") || panic!("a secret"));
    let gateway = Server::new("gateway", "1.0.0").mount(mount).build().unwrap();
    each_wire(&gateway, async |caller| {
        assert_eq!(names(&caller).await, ["count"]);
        assert!(caller.read_resource("file:///open").await.is_ok());
        assert!(caller.read_resource("file:///secret/key").await.is_err());
    })
    .await;
}
