//! Are clients notified if a running server gets or loses tools, prompts and resources?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::ErrorKind;
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::server::{PromptEntry, ToolEntry};
use toolway::testing::{each_session, each_wire};

use crate::listening::{Listening, TOLD, listen};
use crate::pipe::Talk;
use crate::raw_http::{Raw, initialize};
use crate::sessions::REVISIONS;

const NOTHING: [(&str, &str); 0] = [];

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}

fn code<T: std::fmt::Debug>(outcome: toolway::Result<T>) -> i64 {
    outcome.unwrap_err().rpc().unwrap().code.0
}

#[tool]
fn hammer() {}

#[prompt]
fn ask() -> &'static str {
    "Ask."
}

#[resource("app://gem")]
fn gem() -> &'static str {
    "a gem"
}

fn server() -> Server {
    let server = Server::new("live", "1.0.0").tools(tools![hammer]).prompts(prompts![ask]);
    server.resources(resources![gem]).build().unwrap()
}

#[tokio::test]
async fn a_server_tells_by_hand_that_its_lists_have_changed() {
    let server = server();
    let told = AtomicUsize::new(0);
    each_wire(&server, async |client| {
        let Some(mut listening) = listen(&client, &[]).await else { return };
        told.fetch_add(1, Ordering::SeqCst);
        server.prompts_changed();
        assert!(matches!(listening.heard().await, Notification::PromptsChanged(_)));
        server.resources_changed();
        assert!(matches!(listening.heard().await, Notification::ResourcesChanged(_)));
        server.tools_changed();
        assert!(matches!(listening.heard().await, Notification::ToolsChanged(_)));
    })
    .await;
    assert!(told.into_inner() >= TOLD);
}

#[tokio::test]
async fn a_long_list_is_complete_and_changes_with_the_server() {
    let entry = |number: usize| {
        let name = format!("tool_{number}");
        ToolEntry::from_fn(name, || async { "done" }).with_description("A description. ".repeat(20))
    };
    // Longer than what is copied into each reply.
    let server = Server::new("long", "1.0.0").tools((0..100).map(entry)).build().unwrap();
    each_wire(&server, async |client| {
        let names = async || -> Vec<String> {
            client.list_tools().all().await.unwrap().into_iter().map(|tool| tool.name).collect()
        };
        let before = names().await;
        assert_eq!(before.len(), 100);
        assert_eq!(names().await, before);
        server.add_tool(entry(100)).unwrap();
        let after = names().await;
        assert_eq!((after.len(), &*after[100]), (101, "tool_100"));
        assert!(server.remove_tool("tool_100"));
        assert_eq!(names().await, before);
    })
    .await;
}

#[tokio::test]
async fn news_are_lines_on_a_pipe_and_events_over_http() {
    let server = server();
    let tell = [
        (Server::tools_changed as fn(&Server), "notifications/tools/list_changed"),
        (Server::prompts_changed, "notifications/prompts/list_changed"),
        (Server::resources_changed, "notifications/resources/list_changed"),
    ];
    for version in REVISIONS {
        let mut talk = Talk::start(&server);
        talk.send_json(initialize(version)).await;
        talk.receive().await;
        talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        let mut stream = Raw::open(&server.http(), version).await.stream(None).await;
        for (tell, method) in tell {
            tell(&server);
            let expected = json!({"jsonrpc": "2.0", "method": method, "params": {}});
            assert_eq!(talk.receive().await, expected);
            assert_eq!(stream.message().await, Some(expected));
        }
        assert!(stream.last.is_some(), "events can be come back to");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Whom {
    /// Whom to greet.
    name: String,
}

#[tokio::test]
async fn a_tool_can_be_added_to_a_running_server() {
    // It has no tools at first.
    let server = Server::new("live", "1.0.0").build().unwrap();
    assert_eq!(code(toolway::testing::connect(&server).await.tools().await), -32601);
    let was_there = std::cell::Cell::new(false);
    each_wire(&server, async |client| {
        // A server that has had tools keeps the method, and its list is empty.
        if was_there.replace(true) {
            assert_eq!(client.tools().await.unwrap(), []);
        }
        let greeting = Arc::new("hello".to_owned());
        let tool = ToolEntry::from_fn("greet", move |whom: Whom| {
            let greeting = greeting.clone();
            async move { format!("{greeting} {}", whom.name) }
        });
        server.add_tool(tool.with_description("Greet a person.")).unwrap();
        let tools = client.list_tools().all().await.unwrap();
        assert_eq!(tools.len(), 1);
        assert_eq!((&*tools[0].name, tools[0].description()), ("greet", "Greet a person."));
        let schema: Value = tools[0].input_schema.decode().unwrap();
        assert_eq!(schema["properties"]["name"], json!({"type": "string", "description": "Whom to greet."}));
        assert_eq!(text(&client, "greet", json!({"name": "Ada"})).await, "hello Ada");
        // A second one with the same name changes nothing.
        let error = server.add_tool(ToolEntry::from_fn("greet", || async { "other" })).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains("two tools have the name `greet`"), "{error}");
        assert_eq!(text(&client, "greet", json!({"name": "Ada"})).await, "hello Ada");
        assert!(server.remove_tool("greet"));
        assert!(!server.remove_tool("greet"));
        assert_eq!(code(client.call("greet", json!({"name": "Ada"})).await), -32602);
    })
    .await;
    // Connected clients are notified.
    let server = self::server();
    each_session(&server, async |client| {
        let mut news = client.notifications();
        server.add_tool(ToolEntry::from_fn("late", || async { "late" })).unwrap();
        assert!(matches!(news.next().await, Some(Notification::ToolsChanged(_))));
        assert_eq!(text(&client, "late", json!({})).await, "late");
        server.remove_tool("late");
        assert!(matches!(news.next().await, Some(Notification::ToolsChanged(_))));
    })
    .await;
}

/// Returns a new name, so that every wire adds its own tool.
fn fresh() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("fresh_{}", COUNT.fetch_add(1, Ordering::SeqCst))
}

/// Lets a resource be updated, which comes after every list that has changed.
#[resource(uri = "fence://here")]
fn fence() -> &'static str {
    "fence"
}

/// Checks that nothing else was sent: the fence comes next.
async fn nothing_more(server: &Server, listening: &mut Listening) {
    server.resource_updated("fence://here");
    assert_eq!(listening.updated().await, "fence://here");
}

#[tokio::test]
async fn everybody_hears_that_a_tool_was_added_or_removed() {
    let server =
        Server::new("live", "1.0.0").tools(tools![hammer]).resources(resources![fence]).build().unwrap();
    let told = AtomicUsize::new(0);
    each_wire(&server, async |client| {
        let Some(mut listening) = listen(&client, &["fence://here"]).await else { return };
        told.fetch_add(1, Ordering::SeqCst);
        let name = fresh();
        let tool = ToolEntry::from_fn(&name, || async { "new" });
        server.add_tool(tool.clone()).unwrap();
        assert!(matches!(listening.heard().await, Notification::ToolsChanged(_)));
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["hammer", &name]);
        assert_eq!(client.call(&name, json!({})).await.unwrap().first_text(), Some("new"));
        // A failed change is not announced.
        let error = server.add_tool(tool).unwrap_err().to_string();
        assert!(error.contains(&format!("two tools have the name `{name}`")), "{error}");
        assert!(!server.remove_tool("nowhere"));
        nothing_more(&server, &mut listening).await;

        assert!(server.remove_tool(&name));
        assert!(matches!(listening.heard().await, Notification::ToolsChanged(_)));
        assert_eq!(client.call(&name, json!({})).await.unwrap_err().rpc().unwrap().code.0, -32602);
        assert_eq!(client.tools().await.unwrap().len(), 1);
        nothing_more(&server, &mut listening).await;
    })
    .await;
    assert!(told.into_inner() >= TOLD);
}

#[tokio::test]
async fn everybody_hears_that_a_prompt_was_added_or_removed() {
    let server =
        Server::new("live", "1.0.0").prompts(prompts![ask]).resources(resources![fence]).build().unwrap();
    let told = AtomicUsize::new(0);
    each_wire(&server, async |client| {
        let Some(mut listening) = listen(&client, &["fence://here"]).await else { return };
        told.fetch_add(1, Ordering::SeqCst);
        let name = fresh();
        let prompt = PromptEntry::define(toolway::types::Prompt::new(&name), || async { "new" });
        server.add_prompt(prompt.clone()).unwrap();
        assert!(matches!(listening.heard().await, Notification::PromptsChanged(_)));
        let names: Vec<_> = client.prompts().await.unwrap().into_iter().map(|prompt| prompt.name).collect();
        assert_eq!(names, ["ask", &name]);
        let filled = client.get_prompt(&name, NOTHING).await.unwrap();
        assert_eq!(filled.messages[0].content.as_text(), Some("new"));
        let error = server.add_prompt(prompt).unwrap_err().to_string();
        assert!(error.contains(&format!("two prompts have the name `{name}`")), "{error}");
        assert!(!server.remove_prompt("nowhere"));
        nothing_more(&server, &mut listening).await;

        assert!(server.remove_prompt(&name));
        assert!(matches!(listening.heard().await, Notification::PromptsChanged(_)));
        assert_eq!(client.get_prompt(&name, NOTHING).await.unwrap_err().rpc().unwrap().code.0, -32602);
        assert_eq!(client.prompts().await.unwrap().len(), 1);
        nothing_more(&server, &mut listening).await;
    })
    .await;
    assert!(told.into_inner() >= TOLD);
}
