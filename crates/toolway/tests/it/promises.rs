//! Does a server do what it declares, send only what it has declared, and never pass on text of others as its own?

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, mpsc};
use toolway::capability::{JsonObject, ServerCapabilities};
use toolway::client::Notification;
use toolway::client::NotificationReader;
use toolway::prelude::*;
use toolway::server::element::ToolHandler;
use toolway::server::parameter::{Arguments, Parameter, Scope};
use toolway::server::{Extension, Extensions, Headers, PromptEntry, ResourceEntry, ResourceError, ToolEntry};
use toolway::testing::{each_session, each_wire};
use toolway::types::{
    CacheScope, CallToolResult, LogLevel, Resource, ResourceTemplate, SubscriptionFilter, Tool,
};
use toolway::{BoxFuture, Era, ProtocolVersion, RawJson};

use crate::http::{post, read};
use crate::pipe::Talk;

fn hello() -> ToolEntry {
    ToolEntry::from_fn("hello", || async { "hello" })
}

fn note() -> ResourceEntry {
    ResourceEntry::define(Resource::new("note://it", "note"), || async { "note" })
}

fn family() -> ResourceEntry {
    ResourceEntry::define(ResourceTemplate::new("notes://{id}", "notes"), || async { "note" })
}

fn greet() -> PromptEntry {
    PromptEntry::define(toolway::types::Prompt::new("greet"), || async { "Greet." })
}

/// A request of the stateless era.
fn stateless(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn ping(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn value(json: &RawJson) -> Value {
    json.decode().unwrap()
}

#[tokio::test]
async fn a_list_that_has_lost_its_last_entry_is_empty_and_not_unknown() {
    let server = Server::new("emptied", "1.0.0")
        .tool(hello())
        .resources([note(), family()])
        .prompt(greet())
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert!(server.remove_tool("hello") && server.remove_prompt("greet"));
        assert!(server.remove_resource("note://it") && server.remove_resource("notes://{id}"));
        assert_eq!(client.list_tools().all().await.unwrap(), []);
        assert_eq!(client.prompts().await.unwrap(), []);
        assert_eq!(client.resources().await.unwrap(), []);
        assert_eq!(client.resource_templates().await.unwrap(), []);
        // A later client sees the same capabilities: entries may be added again, which is then announced.
        let now = server.capabilities();
        assert!(now.tools.is_some() && now.prompts.is_some() && now.resources.is_some(), "{now:?}");
        server.add_tool(hello()).unwrap();
        server.add_prompt(greet()).unwrap();
        server.add_resource(note()).unwrap();
        server.add_resource(family()).unwrap();
        assert_eq!(client.list_tools().all().await.unwrap().len(), 1);
    })
    .await;
}

/// Returns the notifications that arrived before the answer to a later request.
async fn news_so_far(client: &Client, news: &mut NotificationReader) -> Vec<Notification> {
    client.ping().await.unwrap();
    std::iter::from_fn(|| news.try_next()).collect()
}

/// A server that only declares notifications about prompts. When several lists change at the same time, prompts are
/// announced after tools and before resources.
fn of_prompts() -> Server {
    let yes = JsonObject::from_iter([("listChanged".to_owned(), json!(true))]);
    let declared = ServerCapabilities::new()
        .with_tools(JsonObject::new())
        .with_prompts(yes)
        .with_resources(JsonObject::new());
    let server = Server::new("quiet", "1.0.0").capabilities(declared);
    server.tool(hello()).prompt(greet()).resource(note()).build().unwrap()
}

/// The spec: only servers that declared `listChanged` send it.
#[tokio::test]
async fn a_conversation_hears_only_what_it_was_promised() {
    let server = of_prompts();
    each_session(&server, async |client| {
        let mut news = client.notifications();
        let refused = client.subscribe("note://it").await.unwrap_err();
        assert_eq!(refused.rpc().unwrap().code.0, -32601, "{refused}");
        server.tools_changed();
        server.resources_changed();
        server.resource_updated("note://it");
        server.prompts_changed();
        let first = news.next().await.unwrap();
        assert!(matches!(first, Notification::PromptsChanged(_)), "{first:?}");
        assert_eq!(news_so_far(&client, &mut news).await, []);
    })
    .await;
}

#[tokio::test]
async fn a_capability_that_came_after_the_handshake_is_not_told_of() {
    let server = Server::new("growing", "1.0.0").tool(hello()).build().unwrap();
    let mut talk = Talk::start(&server);
    talk.send_json(initialize()).await;
    assert!(talk.receive().await["result"]["capabilities"].get("prompts").is_none());
    talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    talk.send_json(ping("ready")).await;
    assert_eq!(talk.receive().await["id"], "ready");
    server.add_prompt(greet()).unwrap();
    server.add_resource(note()).unwrap();
    server.tools_changed();
    assert_eq!(talk.receive().await["method"], "notifications/tools/list_changed");
    talk.send_json(ping("fence")).await;
    assert_eq!(talk.receive().await["id"], "fence");
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_stream_of_changes_is_acknowledged_for_what_is_promised_and_carries_nothing_else() {
    let server = of_prompts();
    let streams = Mutex::new(0);
    each_wire(&server, async |client| {
        if client.protocol_version().era() == Era::Handshake {
            return;
        }
        *streams.lock().unwrap() += 1;
        let mut news = client.notifications();
        let wanted = json!({
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["note://it"],
        });
        let listening = client.clone();
        let stream = tokio::spawn(async move {
            listening.request("subscriptions/listen", json!({"notifications": wanted})).await.map(drop)
        });
        let Some(Notification::SubscriptionAcknowledged(acknowledged)) = news.next().await else {
            panic!("an acknowledgement comes first");
        };
        let honoured = SubscriptionFilter::new().with_prompts_list_changed(true);
        assert_eq!(acknowledged.notifications, honoured);
        server.tools_changed();
        server.resources_changed();
        server.resource_updated("note://it");
        server.prompts_changed();
        let first = news.next().await.unwrap();
        assert!(matches!(first, Notification::PromptsChanged(_)), "{first:?}");
        // Once more: any other notification of the first time would arrive before this.
        server.prompts_changed();
        let second = news.next().await.unwrap();
        assert!(matches!(second, Notification::PromptsChanged(_)), "{second:?}");
        stream.abort();
    })
    .await;
    assert_eq!(*streams.lock().unwrap(), 3, "wires of the stateless era");
}

#[tokio::test]
async fn nobody_can_subscribe_who_could_not_be_told() {
    let server = Server::new("unopened", "1.0.0").resource(note()).build().unwrap();
    let mut talk = Talk::start(&server);
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "note://it"}});
    talk.send_json(subscribe.clone()).await;
    assert_eq!(talk.receive().await["error"]["code"], -32601, "there was no handshake");
    server.resource_updated("note://it");
    talk.send_json(ping("fence")).await;
    assert_eq!(talk.receive().await["id"], "fence");
    talk.send_json(initialize()).await;
    talk.receive().await;
    talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    talk.send_json(subscribe).await;
    assert_eq!(talk.receive().await["result"], json!({}));
    server.resource_updated("note://it");
    assert_eq!(talk.receive().await["params"]["uri"], "note://it");
}

/// 2025-11-25, lifecycle: before `initialized` the server should only send pings and log messages.
#[tokio::test]
async fn changes_are_kept_until_the_client_is_ready_and_told_then() {
    let server = Server::new("early", "1.0.0").tool(hello()).build().unwrap();
    let mut talk = Talk::start(&server);
    server.tools_changed();
    talk.send_json(initialize()).await;
    assert!(talk.receive().await["result"].is_object());
    server.tools_changed();
    talk.send_json(ping("fence")).await;
    assert_eq!(talk.receive().await["id"], "fence");
    talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(talk.receive().await["method"], "notifications/tools/list_changed");
    // One notification for both, and another for the next change.
    talk.send_json(ping("fence")).await;
    assert_eq!(talk.receive().await["id"], "fence");
    server.tools_changed();
    assert_eq!(talk.receive().await["method"], "notifications/tools/list_changed");
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_host_that_carries_single_messages_is_promised_no_news() {
    let server = Server::new("single", "1.0.0").tool(hello()).resource(note()).build().unwrap();
    let ask = async |frame: Value| -> Value {
        let answer = server.handle_json(frame.to_string(), Extensions::new()).await.unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    for opening in [stateless("server/discover", json!({})), initialize()] {
        let capabilities = ask(opening).await["result"]["capabilities"].clone();
        assert_eq!(capabilities["tools"], json!({}));
        assert_eq!(capabilities["resources"], json!({}));
    }
    let listen = stateless("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(ask(listen).await["error"]["code"], -32601);
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "note://it"}});
    assert_eq!(ask(subscribe).await["error"]["code"], -32601);
}

/// The spec: progress notifications stop once the request is answered.
#[tokio::test]
async fn nothing_is_said_about_a_call_after_its_answer() {
    let late = Arc::new(Notify::new());
    let said = late.clone();
    let tool = ToolEntry::from_fn("talkative", move |ctx: Ctx| {
        let said = said.clone();
        async move {
            ctx.progress(1, 2, "in time").await;
            ctx.log().error("in time", Value::Null).await;
            tokio::spawn(async move {
                ctx.cancelled().await;
                ctx.progress(2, 2, "late").await;
                ctx.log().error("late", Value::Null).await;
                said.notify_one();
            });
            "done"
        }
    });
    let server = Server::new("talkative", "1.0.0").tool(tool).build().unwrap();
    each_wire(&server, async |client| {
        client.set_log_level(LogLevel::Error).await.unwrap();
        let mut news = client.notifications();
        client.call("talkative", json!({})).await.unwrap();
        late.notified().await;
        let heard = news_so_far(&client, &mut news).await;
        assert!(matches!(heard[..], [Notification::Progress(_), Notification::LogMessage(_)]), "{heard:?}");
    })
    .await;
}

#[tokio::test]
async fn what_is_read_on_the_way_says_nothing_about_keeping_the_answer() {
    let logo = |ctx: Ctx| async move {
        ctx.cache(Duration::from_secs(7), CacheScope::Public);
        "logo"
    };
    let profile = |ctx: Ctx| async move {
        let logo = ctx.read_resource("it://logo").await?;
        Ok::<_, ResourceError>(format!("alice, {}", logo.text().unwrap_or_default()))
    };
    let server = Server::new("kept", "1.0.0")
        .resource(ResourceEntry::define(Resource::new("it://logo", "logo"), logo))
        .resource(ResourceEntry::define(Resource::new("it://profile", "profile"), profile))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let hints = async |uri: &str| {
            let result = value(&client.request("resources/read", json!({"uri": uri})).await.unwrap());
            (result["ttlMs"].clone(), result["cacheScope"].clone())
        };
        let (logo, profile) = match client.protocol_version().era() {
            Era::Stateless => ((json!(7000), json!("public")), (json!(0), json!("private"))),
            // This era has no caching.
            Era::Handshake => Default::default(),
        };
        assert_eq!(hints("it://logo").await, logo);
        assert_eq!(hints("it://profile").await, profile);
    })
    .await;
}

/// 2026-07-28, caching: all pages of a list have the same `cacheScope`.
#[tokio::test]
async fn all_pages_of_a_list_are_for_the_same_readers() {
    let other = ResourceEntry::define(Resource::new("note://other", "other"), || async { "other" });
    let server = Server::new("pages", "1.0.0")
        .page_size(1)
        .resources([note(), other])
        .list_resources(|ctx: Ctx| async move {
            ctx.cache(Duration::from_secs(9), CacheScope::Public);
            vec![Resource::new("note://listed", "listed")]
        })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let mut scopes = Vec::new();
        let mut params = json!({});
        loop {
            let page = value(&client.request("resources/list", params).await.unwrap());
            scopes.push(page["cacheScope"].clone());
            match page.get("nextCursor") {
                Some(next) => params = json!({"cursor": next}),
                None => break,
            }
        }
        let expected = match client.protocol_version().era() {
            Era::Stateless => json!("private"),
            Era::Handshake => Value::Null,
        };
        assert_eq!(scopes, [expected.clone(), expected]);
    })
    .await;
}

/// JSON-RPC 2.0, 4.1: not even "invalid params".
#[tokio::test]
async fn a_host_that_carries_single_messages_gets_no_answer_to_a_notification() {
    let server = Server::new("single", "1.0.0").build().unwrap();
    for params in ["7", "null", "[]", r#"{"_meta":7}"#, r#"{"a":1,"a":2}"#, "{}"] {
        for method in ["notifications/progress", "notifications/initialized", "tools/call", "no/such"] {
            let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            assert_eq!(server.handle_json(frame.as_str(), Extensions::new()).await, None, "{frame}");
        }
    }
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#;
    assert!(server.handle_json(frame, Extensions::new()).await.unwrap().contains("-32602"));
}

#[tokio::test]
async fn a_server_that_was_merged_twice_finds_its_values_on_the_way_out() {
    struct Inner(&'static str);
    struct Middle(&'static str);
    struct Outer(&'static str);
    let inner = Server::new("inner", "1.0.0").state(Inner("inner")).tool(ToolEntry::from_fn(
        "whose",
        |inner: State<Inner>, middle: State<Middle>, outer: State<Outer>| async move {
            format!("{} {} {}", inner.0, middle.0, outer.0)
        },
    ));
    let middle = Server::new("middle", "1.0.0").state(Inner("not this")).state(Middle("middle")).merge(inner);
    let outer = Server::new("outer", "1.0.0").state(Middle("nor this")).state(Outer("outer")).merge(middle);
    each_wire(&outer.build().unwrap(), async |client| {
        let result = client.call("whose", json!({})).await.unwrap();
        assert_eq!(result.first_text(), Some("inner middle outer"));
    })
    .await;
}

#[tokio::test]
async fn a_strict_server_stays_strict_inside_another_and_makes_no_other_strict() {
    /// Double a number.
    #[tool]
    fn double(n: i64) -> i64 {
        2 * n
    }
    let strict = |name| Server::new(name, "1.0.0").strict();
    let server = Server::new("outer", "1.0.0")
        .tools(tools![double as "lenient"])
        .merge(strict("merged").tools(tools![double as "merged"]))
        .nest("nested", strict("nested").tools(tools![double]))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for (tool, is_strict) in [("lenient", false), ("merged", true), ("nested_double", true)] {
            let result = client.call(tool, json!({"n": "4"})).await.unwrap();
            assert_eq!(result.is_error == Some(true), is_strict, "{tool}: {result:?}");
            let result = client.call(tool, json!({"n": 4})).await.unwrap();
            assert_eq!(result.first_text(), Some("8"), "{tool}");
        }
    })
    .await;
}

/// Sends a message, so that an answer over HTTP is an event stream, and answers with JSON of several lines.
struct Pretty;

impl ToolHandler for Pretty {
    fn definition(&self) -> Tool {
        Tool::new("pretty", json!({"type": "object"}))
    }

    fn call(&self, _: Arguments, scope: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        Box::pin(async move {
            Ctx::from_scope(&scope).unwrap().progress(1, 2, "begun").await;
            let structured = RawJson::parse("{\n  \"a\": 1,\r\n\r\n  \"b\": 2\r}").unwrap();
            Ok(CallToolResult::text("pretty").with_structured_content(structured))
        })
    }
}

#[tokio::test]
async fn line_breaks_inside_json_do_not_break_the_answer() {
    let server = Server::new("pretty", "1.0.0").tool(ToolEntry::new(Pretty)).build().unwrap();
    each_wire(&server, async |client| {
        let mut news = client.notifications();
        let result = value(&client.request("tools/call", json!({"name": "pretty"})).await.unwrap());
        assert_eq!(result["content"][0]["text"], "pretty");
        let result = client.call("pretty", json!({})).await.unwrap();
        assert_eq!(result.first_text(), Some("pretty"));
        assert!(matches!(news.try_next(), Some(Notification::Progress(_))));
    })
    .await;
    // Every line of the stream belongs to an event, for any parser.
    let mut call = stateless("tools/call", json!({"name": "pretty"}));
    call["params"]["_meta"]["progressToken"] = json!(7);
    let response = server.http().handle(dressed(&call, "pretty")).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    let lines: Vec<_> = body.split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
    assert!(lines.iter().all(|line| line.starts_with("data:") || line.starts_with("event:")), "{body}");
    let last: Value = serde_json::from_str(lines.last().unwrap().strip_prefix("data:").unwrap()).unwrap();
    assert_eq!(last["result"]["structuredContent"], json!({"a": 1, "b": 2}));
}

/// A POST of the stateless era.
fn dressed(body: &Value, name: &str) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = post(body);
    let method = body["method"].as_str().unwrap();
    for (header, value) in
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)]
    {
        request.headers_mut().insert(header, value.parse().unwrap());
    }
    request
}

/// The protocol's code and its `uri` are for the resource that a client requested; this client did not request one.
#[tokio::test]
async fn a_resource_that_a_method_did_not_find_is_not_the_method_itself() {
    let find = |ctx: Ctx| async move {
        let read = ctx.read_resource("note://lost").await?;
        Ok::<_, ResourceError>(read.text().unwrap_or_default().to_owned())
    };
    let server = Server::new("lost", "1.0.0").resource(note()).method("acme/find", find).build().unwrap();
    each_wire(&server, async |client| {
        let error = client.request("acme/find", json!({})).await.unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!((rpc.code.0, &*rpc.message), (-32603, "no such resource"));
        assert!(rpc.data.is_none(), "{rpc:?}");
    })
    .await;
}

#[tokio::test]
async fn messages_whose_author_gave_meta_are_heard_on_every_wire() {
    let (sender, heard) = mpsc::unbounded_channel();
    let heard = tokio::sync::Mutex::new(heard);
    let server = Server::new("meta", "1.0.0")
        .notification("acme/news", move |params: Value| {
            sender.send(params).unwrap();
            ready(())
        })
        .method("acme/echo", |params: Value| async move { Json(json!({"sent": params})) })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let params = json!({"_meta": {"acme/trace": 1}, "x": 1});
        client.notify("acme/news", params.clone()).await.unwrap();
        assert_eq!(heard.lock().await.recv().await, Some(json!({"x": 1})));
        let echo = value(&client.request("acme/echo", params).await.unwrap());
        assert_eq!(echo["sent"], json!({"x": 1}));
    })
    .await;
}

#[tokio::test]
async fn a_message_has_one_meta_and_the_caller_cannot_write_what_the_protocol_writes() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        let mut lines = BufReader::new(reader).lines();
        let mut frames = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(id) = message.get("id") {
                let result = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}});
                let reply = json!({"jsonrpc": "2.0", "id": id, "result": result});
                writer.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
            }
            frames.push(line);
        }
        frames
    });
    let (reader, writer) = tokio::io::split(near);
    let client = Client::builder().protocol(ProtocolVersion::LATEST);
    let client = client.connect_io(reader, writer).await.unwrap();
    let version = "io.modelcontextprotocol/protocolVersion";
    let params = json!({"x": 1, "_meta": {"acme/trace": 7, version: "1999-01-01"}});
    client.request("acme/echo", params.clone()).await.unwrap();
    client.notify("acme/news", params).await.unwrap();
    drop(client);
    let frames = server.await.unwrap();
    assert_eq!(frames.len(), 3, "{frames:?}");
    for frame in &frames[1..] {
        assert_eq!(frame.matches("\"_meta\"").count(), 1, "{frame}");
        assert_eq!(frame.matches(version).count(), 1, "{frame}");
        let message: Value = serde_json::from_str(frame).unwrap();
        assert_eq!(message["params"]["x"], 1, "{frame}");
        assert_eq!(message["params"]["_meta"]["acme/trace"], 7, "{frame}");
        assert_eq!(message["params"]["_meta"][version], "2026-07-28", "{frame}");
    }
}

/// A POST to the tool in each era.
fn posts(tool: &str) -> [http::Request<http_body_util::Full<bytes::Bytes>>; 2] {
    let params = json!({"name": tool});
    let handshake = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    [post(&handshake), dressed(&stateless("tools/call", params), tool)]
}

#[tokio::test]
async fn values_that_a_web_application_attached_reach_the_handler() {
    struct User(&'static str);
    let who = ToolEntry::from_fn("who", |user: Extension<User>| async move { user.0 });
    let service = Server::new("web", "1.0.0").tool(who).http().unwrap().sessionless();
    for mut request in posts("who") {
        request.extensions_mut().insert(Extensions::new().with(User("alice")));
        let (status, answer) = read(service.handle(request).await).await;
        assert_eq!(status, 200);
        assert_eq!(answer["result"]["content"][0]["text"], "alice", "{answer}");
    }
    // Values of one request do not reach the next.
    for request in posts("who") {
        let (_, answer) = read(service.handle(request).await).await;
        assert_ne!(answer["result"]["content"][0]["text"], "alice", "{answer}");
    }
}

#[tokio::test]
async fn headers_are_shown_by_name_only() {
    let show = ToolEntry::from_fn("show", |headers: Headers| async move {
        assert_eq!(headers.text("authorization"), Some("Bearer swordfish"));
        format!("{headers:?} {headers:#?}")
    });
    let service = Server::new("web", "1.0.0").tool(show).http().unwrap().sessionless();
    for mut request in posts("show") {
        request.headers_mut().insert("authorization", "Bearer swordfish".parse().unwrap());
        let (_, answer) = read(service.handle(request).await).await;
        let shown = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(shown.contains("authorization"), "{answer}");
        assert!(!shown.contains("swordfish") && !shown.contains("localhost"), "{answer}");
    }
}
