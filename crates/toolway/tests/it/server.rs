//! A server as a whole: how is it run, what does it declare, and which methods does it serve?

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolway::capability::{JsonObject, ServerCapabilities};
use toolway::prelude::*;
use toolway::server::{Extension, Extensions, ServerBuilder, ToolEntry};
use toolway::testing::{each_session, each_wire};
use toolway::types::Icon;
use toolway::{Era, ErrorKind, ProtocolVersion, RawJson};

use crate::listening::listen;

fn new() -> ServerBuilder {
    Server::new("app", "1.0.0")
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}

fn code<T: std::fmt::Debug>(outcome: toolway::Result<T>) -> i64 {
    outcome.unwrap_err().rpc().unwrap().code.0
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The readme.
#[resource(uri = "app://readme")]
fn readme() -> &'static str {
    "# App"
}

/// One gem.
#[resource(uri = "app://gems/{name}")]
fn gem(name: &str) -> String {
    format!("the gem {name}")
}

/// Greet a person.
#[prompt]
fn greet(name: &str) -> String {
    format!("Greet {name}.")
}

fn everything() -> ServerBuilder {
    new().tools(tools![add]).resources(resources![readme, gem]).prompts(prompts![greet])
}

/// Of this module.
#[tool]
fn here() -> &'static str {
    "here"
}

#[cfg(unix)]
#[tokio::test]
async fn one_line_serves_a_process_or_a_task() {
    use std::process::Stdio;
    // A program whose `main` is `Server::new(…).tools(…).serve_stdio().await`, as a child process.
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/stdio-fixture");
    for version in ProtocolVersion::ALL {
        let mut child = tokio::process::Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = Client::builder().protocol(version).connect_io(reader, writer).await.unwrap();
        assert_eq!(client.protocol_version(), version);
        assert_eq!(client.server_info().unwrap().name, "fixture");
        let tools = client.tools().await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["noisy", "flood", "breaks"]
        );
        let result = client.call("noisy", json!({})).await.unwrap();
        assert_eq!(result.first_text(), Some("child read 0 bytes"));
        drop(client);
        assert!(child.wait().await.unwrap().success(), "it ends when its parent hangs up");
    }

    // A task of this process, which a supervisor may end and restart.
    let server = Server::new("child", "1.0.0").tools(tools![here]).build().unwrap();
    let start = || {
        let (near, far) = tokio::io::duplex(1 << 16);
        let server = server.clone();
        let child = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            server.serve_io(reader, writer).await
        });
        (child, tokio::io::split(near))
    };
    let (first, (reader, writer)) = start();
    let client = Client::connect_io(reader, writer).await.unwrap();
    assert_eq!(client.call("here", json!({})).await.unwrap().first_text(), Some("here"));
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(client.call("here", json!({})).await.unwrap_err().kind(), ErrorKind::Transport);
    let (second, (reader, writer)) = start();
    let client = Client::connect_io(reader, writer).await.unwrap();
    assert_eq!(client.call("here", json!({})).await.unwrap().first_text(), Some("here"));
    drop(client);
    second.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_methods_of_the_protocol_are_served() {
    each_wire(&everything().build().unwrap(), async |client| {
        // Sends `ping`, or the request that replaced it.
        client.ping().await.unwrap();
        for (method, member) in [
            ("tools/list", "tools"),
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let result: Value = client.request(method, json!({})).await.unwrap().decode().unwrap();
            assert_eq!(result[member].as_array().map(Vec::len), Some(1), "{method}: {result}");
        }
        assert_eq!(text(&client, "add", json!({"a": 2, "b": 3})).await, "5");
        let prompt = client.get_prompt("greet", [("name", "Ada")]).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("Greet Ada."));
        assert_eq!(client.read_resource("app://readme").await.unwrap().text(), Some("# App"));
        assert_eq!(client.read_resource("app://gems/mcp").await.unwrap().text(), Some("the gem mcp"));
        let other: toolway::Result<RawJson> = client.request("tools/remove", json!({})).await;
        assert_eq!(code(other), -32601);
        // The stateless era has neither a handshake nor a ping.
        let is_stateless = client.protocol_version() >= ProtocolVersion::V2026_07_28;
        let ping = client.request("ping", json!({})).await;
        match ping {
            Ok(result) => assert_eq!((is_stateless, result.as_str()), (false, "{}")),
            Err(error) => assert_eq!((is_stateless, error.rpc().unwrap().code.0), (true, -32601)),
        }
    })
    .await;
    let opening = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening});
    let answer = crate::pipe::one_line(&everything().build().unwrap(), frame.to_string().as_bytes()).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer["result"]["serverInfo"], json!({"name": "app", "version": "1.0.0"}));
    for kind in ["tools", "resources", "prompts"] {
        assert_eq!(answer["result"]["capabilities"][kind]["listChanged"], true, "{kind}");
    }
}

struct User(&'static str);

/// Say who calls.
#[tool]
fn whoami(user: Extension<User>) -> &'static str {
    user.0
}

#[tokio::test]
async fn a_text_goes_in_and_a_text_comes_out() {
    let server = everything().tools(tools![whoami]).build().unwrap();
    let ask = async |request: Value| -> Value {
        let answer = server.handle_json(request.to_string(), Extensions::new()).await.unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let call = |id: Value, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let answer = ask(call(json!("a-1"), "add", json!({"a": 2, "b": 3}))).await;
    let result = json!({"content": [{"type": "text", "text": "5"}]});
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "a-1", "result": result}));
    // A function: asking again changes nothing, and no handshake is needed.
    assert_eq!(ask(call(json!("a-1"), "add", json!({"a": 2, "b": 3}))).await, answer);
    // The caller's own values accompany the text, for this request only.
    let request = call(json!(2), "whoami", json!({})).to_string();
    let known = server.handle_json(&*request, Extensions::new().with(User("ada"))).await.unwrap();
    let known: Value = serde_json::from_str(&known).unwrap();
    assert_eq!(known["result"]["content"][0]["text"], "ada");
    let unknown = server.handle_json(&*request, Extensions::new()).await.unwrap();
    let unknown: Value = serde_json::from_str(&unknown).unwrap();
    assert_eq!(unknown["result"]["isError"], true, "{unknown}");
    // Errors are answers too.
    assert_eq!(ask(call(json!(3), "nothing", json!({}))).await["error"]["code"], -32602);
    let wrong = ask(json!({"jsonrpc": "2.0", "id": 4, "method": "no/such"})).await;
    assert_eq!((&wrong["id"], &wrong["error"]["code"]), (&json!(4), &json!(-32601)));
    let broken = server.handle_json("{oops", Extensions::new()).await.unwrap();
    let broken: Value = serde_json::from_str(&broken).unwrap();
    assert_eq!((&broken["id"], &broken["error"]["code"]), (&Value::Null, &json!(-32700)));
    // A message that needs no answer gets none.
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(server.handle_json(told, Extensions::new()).await, None);
    let stray = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    assert_eq!(server.handle_json(stray, Extensions::new()).await, None);
    // A request of the stateless era describes itself.
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut request = call(json!(5), "add", json!({"a": 1, "b": 1}));
    request["params"]["_meta"] = meta;
    let answer = ask(request).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["content"][0]["text"], "2");
}

#[tokio::test]
async fn name_version_and_instructions_reach_the_client() {
    let help = "Call `here` first.\n\nThen \"there\".";
    let server = Server::new("router", "0.3.4").instructions(help).tools(tools![here]).build().unwrap();
    each_wire(&server, async |client| {
        let info = client.server_info().unwrap();
        assert_eq!((info.name.as_str(), info.version.as_str()), ("router", "0.3.4"));
        assert_eq!(client.instructions().as_deref(), Some(help));
    })
    .await;
    let silent = Server::new("silent", "1").build().unwrap();
    each_wire(&silent, async |client| {
        assert_eq!(client.server_info().unwrap().version, "1");
        assert_eq!(client.instructions(), None);
    })
    .await;
    let error = Server::new("", "1").build().unwrap_err().to_string();
    assert!(error.contains("the server's name is empty"), "{error}");
}

struct Settings {
    greeting: &'static str,
}

/// Greet with what the server was given.
#[tool]
fn hello(settings: State<Settings>) -> &'static str {
    settings.greeting
}

#[tokio::test]
async fn a_server_has_a_name_a_version_and_everything_else_that_was_said() {
    let icon = Icon::new("https://app.example/icon.png").with_mime_type("image/png");
    let server = Server::new("app", "2.1.0")
        .title("The App")
        .description("Does things.")
        .website("https://app.example")
        .icon(icon.clone())
        .instructions("Call `hello` first.")
        .state(Settings { greeting: "good day" })
        .tools(tools![hello])
        .resources(resources![readme, gem])
        .prompts(prompts![greet])
        .build()
        .unwrap();
    assert_eq!(server.info().name, "app");
    assert_eq!(server.instructions(), Some("Call `hello` first."));
    assert_eq!(server.state::<Settings>().unwrap().greeting, "good day");
    assert!(server.state::<User>().is_none());
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        let info = client.server_info().unwrap();
        assert_eq!((&*info.name, &*info.version), ("app", "2.1.0"));
        let title = (version >= ProtocolVersion::V2025_06_18).then_some("The App");
        assert_eq!(info.title.as_deref(), title);
        let knows_more = version >= ProtocolVersion::V2025_11_25;
        assert_eq!(info.description.as_deref(), knows_more.then_some("Does things."));
        assert_eq!(info.website_url.as_deref(), knows_more.then_some("https://app.example"));
        assert_eq!(info.icons, knows_more.then(|| vec![icon.clone()]));
        assert_eq!(client.instructions().as_deref(), Some("Call `hello` first."));
        assert_eq!(client.tools().await.unwrap()[0].name, "hello");
        assert_eq!(client.resources().await.unwrap()[0].uri, "app://readme");
        assert_eq!(client.resource_templates().await.unwrap()[0].uri_template, "app://gems/{name}");
        assert_eq!(client.prompts().await.unwrap()[0].name, "greet");
        assert_eq!(text(&client, "hello", json!({})).await, "good day");
    })
    .await;
    // Only a name and a version are required.
    each_wire(&Server::new("bare", "0").build().unwrap(), async |client| {
        let info = client.server_info().unwrap();
        assert_eq!((&*info.name, &*info.version, &info.title), ("bare", "0", &None));
        assert_eq!(client.instructions(), None);
    })
    .await;
    // State that a handler needs and that is missing is reported before the first call.
    let error = Server::new("app", "1").tools(tools![hello]).build().unwrap_err().to_string();
    assert!(error.contains("tool `hello`: it takes `State<"), "{error}");
}

fn settings(value: Value) -> Option<JsonObject> {
    value.as_object().cloned()
}

#[prompt]
fn completed(#[arg(complete = ["x"])] value: String) -> String {
    value
}

#[resource(uri = "plain://one")]
fn one() -> &'static str {
    "one"
}

#[tokio::test]
async fn capabilities_follow_from_what_there_is() {
    let build = |server: toolway::server::ServerBuilder| server.build().unwrap();
    let empty = build(Server::new("empty", "1.0.0"));
    let tools = build(Server::new("tools", "1.0.0").tools(tools![here]));
    let prompts = build(Server::new("prompts", "1.0.0").prompts(prompts![greet]));
    let completed = build(Server::new("completed", "1.0.0").prompts(prompts![completed]));
    let resources = build(Server::new("resources", "1.0.0").resources(resources![one]));
    let reader = build(Server::new("reader", "1.0.0").read_resource(|| async { "any" }));
    for (server, names) in [
        (&empty, &[][..]),
        (&tools, &["tools"]),
        (&prompts, &["prompts"]),
        (&completed, &["prompts", "completions"]),
        (&resources, &["resources"]),
        (&reader, &["resources"]),
    ] {
        each_wire(server, async |client| {
            let ServerCapabilities { tools, prompts, resources, completions, logging, .. } =
                &client.server_capabilities();
            let mut found = Vec::new();
            for (name, settings) in [
                ("tools", tools),
                ("prompts", prompts),
                ("resources", resources),
                ("completions", completions),
            ] {
                found.extend(settings.as_ref().map(|_| name));
            }
            // Before 2025-03-26 the capability for completions did not exist.
            let names: Vec<_> = names
                .iter()
                .filter(|name| {
                    **name != "completions" || client.protocol_version() >= ProtocolVersion::V2025_03_26
                })
                .copied()
                .collect();
            assert_eq!(found, names);
            assert!(logging.is_some(), "every handler may log");
            // Methods that are not declared do not exist, and declared ones do.
            let unknown = |error: &toolway::Error| error.rpc().unwrap().code.0 == -32601;
            assert_eq!(client.tools().await.is_err_and(|error| unknown(&error)), tools.is_none());
            assert_eq!(client.prompts().await.is_err_and(|error| unknown(&error)), prompts.is_none());
            assert_eq!(client.resources().await.is_err_and(|error| unknown(&error)), resources.is_none());
            // A server declares only what this wire can do, and does only what it has declared.
            let promised =
                resources.as_ref().is_some_and(|settings| settings.get("subscribe") == Some(&json!(true)));
            match client.protocol_version().era() {
                Era::Handshake => assert_eq!(client.subscribe("plain://one").await.is_ok(), promised),
                Era::Stateless => assert_eq!(promised, resources.is_some()),
            }
            let can_tell = listen(&client, &[]).await.is_some();
            assert!(!promised || can_tell);
        })
        .await;
    }
    // If the server can send notifications unasked, it declares that.
    each_session(&tools, async |client| {
        assert_eq!(client.server_capabilities().tools, settings(json!({"listChanged": true})));
    })
    .await;
    each_session(&resources, async |client| {
        let expected = settings(json!({"listChanged": true, "subscribe": true}));
        assert_eq!(client.server_capabilities().resources, expected);
    })
    .await;

    // The author may declare more than there is yet, and less than there could be.
    let declared = ServerCapabilities::new()
        .with_tools(settings(json!({"listChanged": false})).unwrap())
        .with_prompts(JsonObject::new())
        .with_experimental(BTreeMap::from([("acme".to_owned(), json!({"x": 1}))]));
    let server = build(Server::new("declared", "1.0.0").tools(tools![here]).capabilities(declared));
    each_wire(&server, async |client| {
        let capabilities = client.server_capabilities();
        // Where notifications cannot be sent, they need not be declared.
        assert_ne!(capabilities.tools.as_ref().unwrap().get("listChanged"), Some(&json!(true)));
        assert_eq!(capabilities.prompts, Some(JsonObject::new()));
        assert_eq!(capabilities.experimental.as_ref().unwrap()["acme"], json!({"x": 1}));
        assert!(capabilities.resources.is_none() && capabilities.completions.is_none());
        assert_eq!(client.prompts().await.unwrap(), []);
        assert_eq!(client.tools().await.unwrap().len(), 1);
    })
    .await;
    each_session(&server, async |client| {
        assert_eq!(client.server_capabilities().tools, settings(json!({"listChanged": false})));
    })
    .await;
    // Elements that are added later count for clients that connect then.
    assert!(empty.capabilities().tools.is_none());
    empty.add_tool(ToolEntry::of::<here>()).unwrap();
    each_wire(&empty, async |client| assert!(client.server_capabilities().tools.is_some())).await;
}

#[tokio::test]
async fn a_ping_is_answered_with_nothing() {
    let server = Server::new("ping", "1.0.0").build().unwrap();
    each_wire(&server, async |client| {
        client.ping().await.unwrap();
        let answer = client.request("ping", json!({})).await;
        if client.protocol_version() < ProtocolVersion::V2026_07_28 {
            assert_eq!(answer.unwrap().as_str(), "{}");
        } else {
            // The stateless era uses discovery instead.
            assert_eq!(answer.unwrap_err().rpc().unwrap().code.0, -32601);
        }
    })
    .await;
}
