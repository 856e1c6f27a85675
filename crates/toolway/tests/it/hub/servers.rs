//! What can an application do with many servers at once?

use std::sync::Arc;

use serde_json::json;
use toolway::agent;
use toolway::agent::{AgentTool, FailureKind, ToolCall, ToolSet};
use toolway::hub::config::Variables;
use toolway::hub::{Config, Names, ServerKind};
use toolway::prelude::*;
use toolway::server::{PromptEntry, ResourceEntry, ToolEntry};
use toolway::testing::each_wire;
use toolway::types::{Resource, Tool};

use super::stage::{Web, child, echo, named, names, status, until_gone, until_ready};

#[tokio::test]
async fn each_tool_of_a_server_is_one_of_a_model() {
    let add = Tool::new("add", json!({"type": "object", "properties": {"a": {"type": "number"}}}))
        .with_description("Add.");
    let add = ToolEntry::define(add, |_: serde_json::Value| async { "5" });
    let server = Server::new("calc", "1.0.0").tool(add).tool(named("today")).build().unwrap();
    each_wire(&server, async |client| {
        let tools = client.as_tools().await.unwrap();
        let all: Vec<_> = tools.iter().map(toolway::agent::AgentTool::name).collect();
        assert_eq!(all, ["add", "today"]);
        let add = tools.get("add").unwrap();
        assert_eq!(add.description(), "Add.");
        assert!(add.input_schema().as_str().contains(r#""a""#));
        assert_eq!(add.call(json!({"a": 2}).into()).await.unwrap().text(), "5");
        // They can be combined with other tools in one list.
        let here =
            agent::native_tool("here", "", json!({"type": "object"}), async |_: serde_json::Value| "here");
        let mut mixed = ToolSet::new().with(here);
        mixed.extend(&tools);
        assert_eq!(mixed.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_server_is_connected_and_stored_and_the_next_one_follows() {
    let hub = Hub::new();
    let web = Web::start(&echo("web")).await;
    hub.connect("here", &echo("here")).await.unwrap().connect("web", web.url()).await.unwrap();
    assert!(hub.status().iter().all(toolway::hub::ServerStatus::is_ready), "{hub:?}");
    assert_eq!(hub.client("web").unwrap().server_info().unwrap().name, "web", "it was introduced");
    assert!(hub.connect("here", &echo("again")).await.is_err(), "a name is taken once");
    assert!(hub.connect("nowhere", "http://127.0.0.1:1/mcp").await.is_err());
    assert_eq!(hub.status().len(), 2);
}

#[tokio::test]
async fn a_server_is_disconnected_and_forgotten_and_an_unknown_one_is_no_matter() {
    let hub = Hub::new();
    hub.connect("a", child("a")).await.unwrap().connect("b", &echo("b")).await.unwrap();
    let client = hub.client("a").unwrap();
    hub.disconnect("a").await;
    assert!(client.ping().await.is_err(), "it is closed");
    assert!(hub.client("a").is_err());
    assert_eq!(names(&hub), ["b__echo"]);
    hub.disconnect("a").await;
    hub.disconnect("never").await;
    hub.connect("a", &echo("a")).await.unwrap();
    assert_eq!(hub.tools().len(), 2);
}

#[tokio::test]
async fn tools_of_all_servers_are_one_list_with_their_servers_before_their_names() {
    let hub = Hub::new();
    let files = Server::new("f", "1").tool(named("read")).tool(named("write")).build().unwrap();
    hub.connect("files", &files).await.unwrap().connect("mails", &echo("mails")).await.unwrap();
    assert_eq!(names(&hub), ["files__read", "files__write", "mails__echo"]);
    let definitions: Vec<_> = hub.tool_definitions().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(definitions, names(&hub));
    assert_eq!(hub.call("files__write", json!({})).await.unwrap().text().unwrap(), "write");
}

#[tokio::test]
async fn an_unknown_client_is_an_error_that_knows_the_others() {
    let hub = Hub::new();
    assert_eq!(hub.client("x").unwrap_err().to_string(), "no such server: `x` (there are no servers)");
    hub.connect("files", &echo("files")).await.unwrap().connect("mails", &echo("mails")).await.unwrap();
    hub.client("files").unwrap().ping().await.unwrap();
    let error = hub.client("file").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no such server: `file`, did you mean `files`? (there are `files`, `mails`)"
    );
}

#[tokio::test]
async fn a_name_leads_to_the_client_that_has_the_tool() {
    let hub = Hub::new();
    hub.connect("a", &echo("a")).await.unwrap().connect("b", &echo("b")).await.unwrap();
    for name in ["a", "b"] {
        let (client, tool) = hub.route(&format!("{name}__echo")).unwrap();
        assert_eq!(client.server_info().unwrap().name, name);
        let said = client.call(tool, json!({"value": "1"})).await.unwrap().text().unwrap();
        assert_eq!(said, format!("{name}:1"));
    }
    assert!(hub.route("a__other").is_none() && hub.route("c__echo").is_none() && hub.route("echo").is_none());
}

#[tokio::test]
async fn a_server_that_is_gone_is_a_tool_that_is_unavailable() {
    let mut web = Web::start(&echo("web")).await;
    let client = Client::builder().retries(0).connect(web.url()).await.unwrap();
    let tools = client.as_tools().await.unwrap();
    web.kill().await;
    let call = || ToolCall::new("1", "echo", json!({"value": "1"}));
    let failure = tools.call(call()).await.result.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Unavailable);
    let text = "the tool `echo` is unavailable right now; go on without it or try again later";
    assert_eq!(failure.for_model(), text, "and nothing of where it is");
    assert!(format!("{failure:?}").contains("failed to connect to http://"), "{failure:?}");
    web.start_again(&echo("web")).await;
    assert_eq!(tools.call(call()).await.result.unwrap().text(), "web:1");
    client.close().await.unwrap();
    assert_eq!(tools.call(call()).await.result.unwrap_err().kind(), FailureKind::Unavailable);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_was_dropped_is_connected_again_when_it_is_wanted() {
    let hub = Hub::new();
    hub.connect("child", child("child")).await.unwrap();
    let pid = async || hub.call("child__pid", json!({})).await.unwrap().decode::<i32>().unwrap();
    let first = pid().await;
    super::stage::kill(first);
    hub.client("child").unwrap().ping().await.unwrap();
    assert_ne!(pid().await, first);
    hub.close_all().await;
}

#[tokio::test]
async fn closing_all_closes_all() {
    let web = Web::start(&echo("web")).await;
    let hub = Hub::new();
    hub.connect("here", &echo("here")).await.unwrap().connect("web", web.url()).await.unwrap();
    hub.connect("child", child("child")).await.unwrap();
    let clients = ["here", "web", "child"].map(|name| hub.client(name).unwrap());
    hub.close_all().await;
    assert!(hub.status().is_empty() && hub.tools().is_empty());
    for client in clients {
        assert!(client.ping().await.is_err());
    }
    // The server can be connected again, and dropping the hub closes it as well.
    hub.connect("child", child("child")).await.unwrap();
    let client = hub.client("child").unwrap();
    let mut changes = hub.watch();
    drop(hub);
    while changes.next().await.is_some() {}
    while client.ping().await.is_ok() {}
}

/// If they ran one after the other, the first would wait forever.
#[tokio::test]
async fn calls_of_several_servers_run_at_the_same_time_and_are_joined_by_their_ids() {
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    let meeting = |name: &'static str| {
        let barrier = barrier.clone();
        let meet = ToolEntry::from_fn("meet", move || {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                name
            }
        });
        Server::new(name, "1.0.0").tool(meet).build().unwrap()
    };
    let webs = [Web::start(&meeting("a")).await, Web::start(&meeting("b")).await];
    let hub = Hub::new();
    hub.connect("a", webs[0].url()).await.unwrap().connect("b", webs[1].url()).await.unwrap();
    hub.connect("c", &meeting("c")).await.unwrap();
    let calls =
        ["b", "c", "a"].map(|name| ToolCall::new(format!("id-{name}"), format!("{name}__meet"), json!({})));
    let answers = hub.call_all(calls).await;
    for (answer, name) in answers.iter().zip(["b", "c", "a"]) {
        assert_eq!(answer.id, format!("id-{name}"));
        assert_eq!(answer.result.as_ref().unwrap().text(), name);
    }
}

/// The criteria of the plan that concern many servers: a pipe, HTTP, an agent, and a restart.
#[tokio::test]
async fn a_file_of_servers_serves_an_agent_through_a_restart() {
    let mut web = Web::start(&echo("web")).await;
    let text = json!({"mcpServers": {
        "child": {"command": super::stage::child_path(), "args": ["child"]},
        "web": {"type": "http", "url": web.url()},
    }});
    let builder = Hub::builder().client(Client::builder().retries(0));
    let hub = builder.from_config(Config::parse(&text.to_string()).unwrap()).await.unwrap();
    let here = agent::native_tool("here", "", json!({"type": "object"}), async |_: serde_json::Value| "here");
    let mut tools = ToolSet::new().with(here);
    tools.extend(&hub.tools());
    let calls = || {
        let call = |name: &str| ToolCall::new(name, name, json!({"value": "1"}));
        ["child__echo", "here", "web__echo"].map(call)
    };
    let answers = tools.call_all(calls()).await;
    let said: Vec<_> = answers.iter().map(|answer| answer.result.as_ref().unwrap().text()).collect();
    assert_eq!(said, ["child:1", "here", "web:1"]);
    web.kill().await;
    let answers = tools.call_all(calls()).await;
    let went_well: Vec<_> = answers.iter().map(|answer| answer.result.is_ok()).collect();
    assert_eq!(went_well, [true, true, false]);
    until_gone(&hub, "web").await;
    web.start_again(&echo("web")).await;
    until_ready(&hub, "web").await;
    let answers = tools.call_all(calls()).await;
    assert!(answers.iter().all(|answer| answer.result.is_ok()), "{answers:?}");
    hub.close_all().await;
}

#[tokio::test]
async fn resources_are_there_as_well_as_tools() {
    let offer = |name: &'static str, uri: &str| {
        let resource = Resource::new(uri, name);
        let resource = ResourceEntry::define(resource, move || async move { name });
        let prompt = PromptEntry::define(toolway::types::Prompt::new("hello"), move || async move { name });
        Server::new(name, "1.0.0").resource(resource).prompt(prompt).build().unwrap()
    };
    let hub = Hub::new();
    hub.connect("a", &offer("a", "a://1")).await.unwrap().connect("b", &offer("b", "b://1")).await.unwrap();
    hub.connect("c", &offer("c", "b://1")).await.unwrap();
    let uris: Vec<_> = hub.resources().iter().map(|resource| resource.uri.clone()).collect();
    assert_eq!(uris, ["a://1", "hub://b/b://1", "hub://c/b://1"], "no server takes the place of another");
    for (uri, name) in uris.iter().zip(["a", "b", "c"]) {
        assert_eq!(hub.read_resource(uri).await.unwrap().text(), Some(name));
        let prompt = hub.get_prompt(&format!("{name}__hello"), ()).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some(name));
    }
    assert!(status(&hub, "a").to_string().ends_with("ready, 1 prompt, 1 resource"), "{hub:?}");
}

#[test]
fn several_servers_are_a_list_of_commands() {
    let config = Config::parse(
        r#"[
          { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"] },
          { "command": "python", "args": ["/srv/math.py"], "transport": "stdio" },
          { "url": "http://localhost:8000/mcp", "transport": "streamable_http" }
        ]"#,
    )
    .unwrap();
    let names: Vec<_> = config.servers.iter().map(|server| &*server.name).collect();
    assert_eq!(names, ["server-filesystem", "math", "localhost"], "in their order, each with a name");
    let ServerKind::Command { program, args, .. } = config.servers[0].resolve(&Variables::default()).unwrap()
    else {
        panic!("a command")
    };
    assert_eq!(program, "npx");
    assert_eq!(args, ["-y", "@modelcontextprotocol/server-filesystem", "/data"]);
    let ServerKind::Url { url, .. } = config.servers[2].resolve(&Variables::default()).unwrap() else {
        panic!("a URL")
    };
    assert_eq!(url, "http://localhost:8000/mcp");
    // The names are valid for tools.
    let tools: Names = names.iter().map(|name| (*name, "run")).collect();
    assert_eq!(tools.name("math", "run"), Some("math__run"));
}
