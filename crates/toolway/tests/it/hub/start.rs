//! How are servers added and removed?

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use toolway::agent::{FailureKind, ToolCall};
use toolway::client::{Connector, Target, Transport};
use toolway::hub::config::Variables;
use toolway::hub::{Config, ServerKind, ServerState};
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::{BoxFuture, Chain, ErrorKind, ProtocolVersion};

use super::stage::{Gated, Web, child_path, echo, named, names, status, until_ready};

#[tokio::test]
async fn a_slow_server_does_not_hold_up_the_others() {
    let gate = Arc::new(Semaphore::new(0));
    let hub = Hub::new();
    hub.add("slow", Gated { gate: gate.clone(), server: echo("slow") }).unwrap();
    hub.connect("quick", &echo("quick")).await.unwrap();
    assert!(matches!(status(&hub, "slow").state, ServerState::Connecting));
    assert_eq!(names(&hub), ["quick__echo"]);
    assert_eq!(hub.call("quick__echo", json!({"value": "1"})).await.unwrap().text().unwrap(), "quick:1");
    // A tool of a server that was never reached is not unknown, but unavailable.
    let answers = hub.call_all([ToolCall::new("1", "slow__echo", json!({"value": "1"}))]).await;
    assert_eq!(answers[0].result.as_ref().unwrap_err().kind(), FailureKind::Unavailable);
    let error = hub.call("slow__echo", json!({"value": "1"})).await.unwrap_err();
    assert_eq!(error.to_string(), "the server `slow` is not connected yet");
    assert!(hub.route("slow__echo").is_none());
    gate.add_permits(1);
    until_ready(&hub, "slow").await;
    assert_eq!(names(&hub), ["slow__echo", "quick__echo"], "in the order in which they came");
    assert_eq!(hub.call("slow__echo", json!({"value": "1"})).await.unwrap().text().unwrap(), "slow:1");
}

/// If servers were started one by one, the second would not be asked before the first has answered.
#[tokio::test]
async fn servers_of_a_file_are_started_at_the_same_time() {
    // Accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (asked, mut was_asked) = tokio::sync::mpsc::unbounded_channel();
    let quick = Server::new("quick", "1.0.0")
        .on_request_end(move || {
            let _ = asked.send(());
            async {}
        })
        .tool(super::stage::named("say"))
        .build()
        .unwrap();
    let web = Web::start(&quick).await;
    let text = format!(
        r#"{{ "mcpServers": {{
            "silent": {{ "url": "http://{}/mcp" }},
            "off": {{ "command": "/no/such/program", "disabled": true }},
            "nowhere": {{ "command": "/no/such/program", "args": ["--token", "${{SECRET}}"] }},
            "lacking": {{ "command": "x", "env": {{ "A": "${{NO_SUCH}}" }} }},
            "quick": {{ "url": "{}" }}
        }} }}"#,
        silent.local_addr().unwrap(),
        web.url(),
    );
    let config = Config::parse(&text).unwrap();
    let variables = Variables::from_fn(|name| (name == "SECRET").then(|| "s3cret".to_owned()));
    let builder = Hub::builder().variables(variables).start_timeout(Duration::from_secs(3600));
    let starting = tokio::spawn(builder.from_config(config.clone()));
    was_asked.recv().await.unwrap();
    assert!(!starting.is_finished(), "the silent one is still waited for");
    drop(silent);
    let hub = starting.await.unwrap().unwrap();
    let shown: Vec<_> = hub.status().iter().map(ToString::to_string).collect();
    assert!(shown[0].starts_with("silent: unavailable for "), "{shown:?}");
    assert_eq!(shown[1], "off: disabled");
    assert!(shown[2].starts_with("nowhere: unavailable for "), "{shown:?}");
    assert!(shown[3].ends_with("mcpServers.lacking.env.A needs the variable `NO_SUCH`, which is not set: set it, or write `${NO_SUCH:-a default}`"), "{shown:?}");
    assert!(!shown[3].contains("next try"), "{shown:?}");
    assert_eq!(shown[4], "quick: ready, 1 tool");
    assert_eq!(names(&hub), ["quick__say"]);
    let everything = format!("{shown:?} {hub:?} {:?}", hub.status());
    assert!(!everything.contains("s3cret"), "{everything}");
    assert!(everything.contains("${SECRET}"), "{everything}");
    let error = hub.client("off").unwrap_err();
    assert_eq!(error.to_string(), "the server `off` is disabled by its configuration");
    hub.connect("off", &echo("on")).await.unwrap();
    assert!(status(&hub, "off").is_ready(), "it makes room");
}

#[tokio::test]
async fn starting_does_not_wait_for_longer_than_was_said() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let text = format!(
        r#"{{ "servers": {{ "silent": {{ "url": "http://{}/" }} }} }}"#,
        silent.local_addr().unwrap()
    );
    let builder = Hub::builder().start_timeout(Duration::from_millis(1));
    let hub = builder.from_config(Config::parse(&text).unwrap()).await.unwrap();
    assert!(matches!(status(&hub, "silent").state, ServerState::Connecting));
}

#[tokio::test]
async fn a_file_names_children_with_their_variables() {
    let folder = std::env::temp_dir().join(format!("toolway-hub-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    let text = json!({"mcpServers": {
        "my server": {"command": child_path(), "args": ["child"], "env": {"TOKEN": "${THE_TOKEN}"}, "timeout": 20000},
    }});
    std::fs::write(&file, text.to_string()).unwrap();
    let variables = Variables::from_fn(|name| (name == "THE_TOKEN").then(|| "s3cret".to_owned()));
    let hub = Hub::builder().variables(variables).from_file(&file).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(status(&hub, "my server").is_ready(), "{hub:?}");
    // Characters that a name cannot contain are replaced.
    let tools = hub.tools();
    let echo = tools.iter().find(|tool| tool.name().ends_with("__echo")).unwrap().name();
    assert!(echo.starts_with("my-server-"), "{echo}");
    assert_eq!(hub.call(echo, json!({"value": "1"})).await.unwrap().text().unwrap(), "child:1");
    let variable = echo.replace("__echo", "__variable");
    assert_eq!(hub.call(&variable, json!({"name": "TOKEN"})).await.unwrap().text().unwrap(), "s3cret");
    hub.close_all().await;
    assert!(hub.status().is_empty());
    let error = Hub::from_file("/no/such/mcp.json").await.unwrap_err();
    assert!(error.to_string().starts_with("/no/such/mcp.json: cannot be read"), "{error}");
}

#[tokio::test]
async fn a_name_is_taken_once_and_a_failure_leaves_nothing() {
    let hub = Hub::new();
    hub.connect("a", &echo("a")).await.unwrap();
    let error = hub.connect("a", &echo("b")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    assert_eq!(error.to_string(), "there is a server `a` already: disconnect it, or take another name");
    assert!(hub.connect("", &echo("b")).await.is_err());
    let error = hub.connect("b", "/no/such/program").await.unwrap_err();
    assert!(Chain(&error).to_string().starts_with("failed to connect to `/no/such/program`"), "{error:?}");
    assert_eq!(hub.status().len(), 1, "{hub:?}");
    hub.connect("b", &echo("b")).await.unwrap();
    assert_eq!(names(&hub), ["a__echo", "b__echo"]);
    // A server that was added is kept.
    hub.add("c", "/no/such/program").unwrap();
    super::stage::until_gone(&hub, "c").await;
    let error = hub.client("c").unwrap_err();
    assert!(
        Chain(&error).to_string().starts_with("the server `c` is unavailable: failed to connect to"),
        "{error:?}"
    );
    hub.disconnect("c").await;
    assert_eq!(hub.status().len(), 2);
}

/// A connection that is never established, and reports when it is dropped.
struct Endless(Arc<Semaphore>);

impl Connector for Endless {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        struct Guard<'g>(&'g Semaphore);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.add_permits(1);
            }
        }
        Box::pin(async {
            let _guard = Guard(&self.0);
            std::future::pending().await
        })
    }

    fn name(&self) -> String {
        "nowhere".to_owned()
    }
}

#[tokio::test]
async fn connecting_can_be_given_up() {
    let given_up = Arc::new(Semaphore::new(0));
    let hub = Hub::new();
    let connecting = hub.connect("a", Target::new(Endless(given_up.clone())));
    assert!(tokio::time::timeout(Duration::from_millis(1), connecting).await.is_err());
    given_up.acquire().await.unwrap().forget();
    assert!(hub.status().is_empty());
    hub.connect("a", &echo("a")).await.unwrap();
}

#[tokio::test]
async fn calls_under_way_end_when_their_server_is_disconnected_and_others_do_not() {
    let entered = Arc::new(Semaphore::new(0));
    let leave = Arc::new(Semaphore::new(0));
    let gated = |name: &'static str| {
        let (entered, leave) = (entered.clone(), leave.clone());
        let wait = ToolEntry::from_fn("wait", move || {
            let (entered, leave) = (entered.clone(), leave.clone());
            async move {
                entered.add_permits(1);
                leave.acquire().await.unwrap().forget();
                "done"
            }
        });
        Server::new(name, "1.0.0").tool(wait).build().unwrap()
    };
    let (gone, stays) = (Web::start(&gated("gone")).await, Web::start(&gated("stays")).await);
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let hub = Hub::builder().client(builder).build().unwrap();
    hub.connect("gone", gone.url()).await.unwrap().connect("stays", stays.url()).await.unwrap();
    let tools = hub.tools();
    let calls = ["gone__wait", "stays__wait"].map(|name| ToolCall::new(name, name, json!({})));
    let running = tokio::spawn({
        let hub = hub.clone();
        async move { hub.call_all(calls).await }
    });
    entered.acquire_many(2).await.unwrap().forget();
    hub.disconnect("gone").await;
    hub.disconnect("gone").await;
    hub.connect("new", &echo("new")).await.unwrap();
    assert_eq!(names(&hub), ["stays__wait", "new__echo"]);
    leave.add_permits(2);
    let answers = running.await.unwrap();
    assert_eq!(answers[1].result.as_ref().unwrap().text(), "done");
    // Its answer may have been in transit; otherwise it is unavailable.
    if let Err(failure) = &answers[0].result {
        assert_eq!(failure.kind(), FailureKind::Unavailable, "{failure:?}");
    }
    // A caller that still has the old list learns that the server is gone.
    let late = tools.call(ToolCall::new("1", "gone__wait", json!({}))).await;
    assert_eq!(late.result.unwrap_err().kind(), FailureKind::Unavailable);
    let unknown = hub.call_all([ToolCall::new("1", "gone__wait", json!({}))]).await;
    assert_eq!(unknown[0].result.as_ref().unwrap_err().kind(), FailureKind::Unknown);
}

#[tokio::test]
async fn a_client_that_somebody_closes_is_replaced() {
    let hub = Hub::new();
    hub.connect("a", &echo("a")).await.unwrap();
    hub.client("a").unwrap().close().await.unwrap();
    // The hub notices with the next call that fails.
    let said = async || hub.call("a__echo", json!({"value": "1"})).await;
    while said().await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(status(&hub, "a").is_ready());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_last_clone_ends_the_children() {
    let hub = Hub::new();
    hub.connect("a", super::stage::child("a"))
        .await
        .unwrap()
        .connect("b", super::stage::child("b"))
        .await
        .unwrap();
    let (clone, kept, tools) = (hub.clone(), hub.client("a").unwrap(), hub.tools());
    let mut processes = Vec::new();
    for name in ["a__pid", "b__pid"] {
        let pid: u32 = hub.call(name, json!({})).await.unwrap().decode().unwrap();
        processes.push(std::path::PathBuf::from(format!("/proc/{pid}")));
    }
    drop(hub);
    assert_eq!(clone.call("a__echo", json!({"value": "1"})).await.unwrap().text().unwrap(), "a:1");
    assert!(processes.iter().all(|process| process.exists()));
    let mut changes = clone.watch();
    drop(clone);
    while changes.next().await.is_some() {}
    while processes.iter().any(|process| process.exists()) {
        tokio::task::yield_now().await;
    }
    assert!(kept.ping().await.is_err(), "they end for everybody");
    let late = tools.call(ToolCall::new("1", "b__pid", json!({}))).await;
    assert_eq!(late.result.unwrap_err().kind(), FailureKind::Unavailable);
}

/// A server that becomes ready wakes those that wait for another one, whose lists may be incomplete at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_has_waited_for_a_server_sees_what_it_has() {
    let tool = |number| ToolEntry::from_fn(format!("tool_{number}"), |_: serde_json::Value| async { "here" });
    let server = Server::new("many", "1.0.0").tools((0..200).map(tool)).build().unwrap();
    for _ in 0..20 {
        let hub = Hub::new();
        let connected = async |name: &str| {
            hub.connect(name, &server).await.unwrap();
            assert!(
                hub.tools().get(&format!("{name}__tool_199")).is_some(),
                "{name} is there without its tools"
            );
        };
        tokio::join!(connected("a"), connected("b"), connected("c"), connected("d"));
    }
}

#[tokio::test]
async fn a_server_that_is_taken_out_while_it_is_connected_to_is_an_error() {
    for all in [false, true] {
        let hub = Hub::new();
        let gate = Arc::new(Semaphore::new(0));
        let mut connecting = pin!(hub.connect("slow", Gated { gate, server: echo("slow") }));
        assert!(timeout(Duration::ZERO, &mut connecting).await.is_err(), "it waits");
        if all {
            hub.close_all().await;
        } else {
            hub.disconnect("slow").await;
        }
        let outcome = timeout(Duration::from_secs(25), connecting).await.expect("nobody waits for ever");
        let error = outcome.map(drop).unwrap_err();
        assert!(error.to_string().contains("`slow` was disconnected"), "{error}");
        assert!(hub.status().is_empty());
    }
}

#[tokio::test]
async fn tools_that_a_file_switches_off_are_not_offered() {
    let all = ["a", "b", "c", "d"];
    let server = Server::new("web", "1.0.0").tools(all.map(named)).build().unwrap();
    let web = Web::start(&server).await;
    for (members, expected) in [
        (json!({"disabledTools": ["b"]}), &["a", "c", "d"][..]),
        (json!({"excludeTools": ["b", "gone"], "disabledTools": ["c"]}), &["a", "d"]),
        (json!({"includeTools": ["b", "c"]}), &["b", "c"]),
        (json!({"enabledTools": ["b", "c"], "excludeTools": ["c"]}), &["b"]),
        (json!({"enabledTools": []}), &[]),
        (json!({"disabledTools": [], "includeTools": null, "autoApprove": ["b"]}), &all),
    ] {
        let mut entry = members;
        entry["url"] = web.url().into();
        let config = Config::parse(&json!({"mcpServers": {"web": entry}}).to_string()).unwrap();
        let hub = Hub::from_config(config).await.unwrap();
        let expected: Vec<_> = expected.iter().map(|tool| format!("web__{tool}")).collect();
        assert_eq!(names(&hub), expected, "{entry}");
        hub.refresh().await;
        assert_eq!(names(&hub), expected, "{entry}");
        let answers =
            hub.call_all(all.map(|tool| ToolCall::new(tool, format!("web__{tool}"), json!({})))).await;
        let called = answers.iter().filter(|answer| answer.result.is_ok()).count();
        assert_eq!(called, expected.len(), "what is not offered cannot be called");
    }
    let error =
        Config::parse(r#"{"mcpServers": {"a": {"command": "a", "disabledTools": "b"}}}"#).unwrap_err();
    assert_eq!(error.to_string(), "1:56: mcpServers.a.disabledTools must be a list; found a string");
}

#[tokio::test]
async fn a_server_that_is_switched_off_may_be_described_wrongly() {
    let folder = tempdir();
    let file = folder.join("mcp.json");
    let text = r#"{ "mcpServers": {
        "off": { "comand": "x", "disabled": true },
        "also off": { "command": ["x", "y"], "env": [], "timeout": -1, "enabled": false }
    } }"#;
    std::fs::write(&file, text).unwrap();
    let hub = Hub::from_file(&file).await.unwrap();
    let shown: Vec<_> = hub.status().iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["off: disabled", "also off: disabled"]);
    // Using it anyway reports what is wrong.
    let config = Config::from_file(&file).unwrap();
    let error = config.servers[0].resolve(&Variables::default()).unwrap_err().to_string();
    assert!(error.contains("mcpServers.off has neither `command` nor `url`"), "{error}");
    assert_eq!(config.servers[1].resolve(&Variables::default()).unwrap_err().mistakes().len(), 3);
    // Entries that are not disabled must be valid, and so must names.
    assert!(Config::parse(r#"{"mcpServers": {"on": {"comand": "x"}}}"#).is_err());
    assert!(Config::parse(r#"{"mcpServers": {"a": {"disabled": true}, "a": {"disabled": true}}}"#).is_err());
    assert!(Config::parse(r#"{"mcpServers": {"a": {"disabled": "perhaps"}}}"#).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempdir() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("toolway-hub-start-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_variable_that_is_null_is_one_that_is_not_there() {
    let text = r#"{"mcpServers": {
        "a": {"command": "a", "env": {"X": null, "Y": "y"}},
        "b": {"url": "https://b.example", "headers": {"X": null, "Y": "y"}}
    }}"#;
    for server in Config::parse(text).unwrap().servers {
        let (ServerKind::Command { env: named, .. } | ServerKind::Url { headers: named, .. }) =
            server.resolve(&Variables::default()).unwrap()
        else {
            unreachable!("there are two kinds")
        };
        assert_eq!(named, [("Y".to_owned(), "y".to_owned())]);
    }
}
