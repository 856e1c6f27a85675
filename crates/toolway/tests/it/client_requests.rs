//! What does a client ask, and how does a server answer it?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolway::agent::{ToolFailure, ToolSet};
use toolway::client::{OutgoingMessage, Transport};
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::testing::{each_session, each_wire};
use toolway::types::{Tool, ToolAnnotations};
use toolway::{BoxFuture, Code, ErrorKind, ProtocolVersion, RawJson, agent};
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Message, ParsedFrame, parse};

/// The sum.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> Json<Sum> {
    Json(Sum { sum: a + b })
}

/// Fail.
#[tool]
fn fail() -> Result<String, ToolError> {
    Err(ToolError::new("there is no more paper"))
}

/// The rules.
#[resource("house://rules")]
fn rules() -> &'static str {
    "be kind"
}

/// Greet a person.
#[prompt]
fn greet(whom: String) -> String {
    format!("Greet {whom}.")
}

fn server() -> Server {
    Server::new("office", "2.1.0")
        .instructions("Add with `add`.")
        .tools(tools![add, fail])
        .resources(resources![rules])
        .prompts(prompts![greet])
        .build()
        .unwrap()
}

/// Gives scripted answers, and records the messages it was sent.
#[derive(Clone, Default)]
struct Scripted {
    sent: Arc<Mutex<Vec<Value>>>,
    answers: Arc<Mutex<Vec<Value>>>,
}

impl Scripted {
    fn answering(answers: impl IntoIterator<Item = Value>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }

    fn sent(&self) -> Vec<Value> {
        self.sent.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
        self.sent.lock().unwrap().push(serde_json::from_slice(&outgoing.frame).unwrap());
        let Some(id) = outgoing.id else { return Box::pin(std::future::ready(Ok(None))) };
        let mut answer = self.answers.lock().unwrap().remove(0);
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = json!(id.to_string().parse::<i64>().unwrap());
        let Ok(ParsedFrame::One(message)) = parse(&answer.to_string().into_bytes().into(), Limits::default())
        else {
            panic!("{answer}")
        };
        Box::pin(std::future::ready(Ok(Some(message))))
    }
}

fn opened() -> Value {
    json!({"result": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "old", "version": "3"}, "instructions": "Be brief.",
    }})
}

async fn scripted(answers: impl IntoIterator<Item = Value>) -> (Client, Scripted) {
    let scripted = Scripted::answering([opened()].into_iter().chain(answers));
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE).info("me", "7");
    (builder.connect(scripted.clone()).await.unwrap(), scripted)
}

#[tokio::test]
async fn opening_says_who_we_are_and_gives_back_who_the_server_is() {
    let (client, scripted) = scripted([]).await;
    let opening = &scripted.sent()[0];
    assert_eq!(opening["method"], "initialize");
    assert_eq!(opening["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(opening["params"]["clientInfo"], json!({"name": "me", "version": "7"}));
    assert_eq!(opening["params"]["capabilities"], json!({}));
    let info = client.server_info().unwrap();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("old", "3"));
    assert_eq!(client.instructions().as_deref(), Some("Be brief."));
    assert!(client.server_capabilities().logging.is_some());
}

#[tokio::test]
async fn tools_are_listed_with_their_types() {
    let listed = json!({"result": {"tools": [
        {"name": "bare", "inputSchema": {}},
        {"name": "full", "description": "All of it.", "inputSchema": {"type": "object", "x": 1}},
    ]}});
    let (client, _) = scripted([listed]).await;
    let tools = client.tools().await.unwrap();
    assert_eq!((tools[0].name.as_str(), tools[0].description()), ("bare", ""));
    assert_eq!(tools[0].input_schema.as_str(), "{}");
    assert_eq!(tools.get("full").unwrap().description(), "All of it.");
    assert_eq!(tools[1].input_schema.decode::<Value>().unwrap(), json!({"type": "object", "x": 1}));
}

#[tokio::test]
async fn tools_are_listed_once() {
    let listed = json!({"result": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}});
    // A second list request would find no answer.
    let (client, scripted) = scripted([listed]).await;
    assert_eq!(client.tools().await.unwrap().len(), 1);
    assert_eq!(client.clone().tools().await.unwrap().len(), 1);
    assert_eq!(scripted.sent().len(), 3, "initialize, initialized, tools/list");
}

#[tokio::test]
async fn a_call_gives_content_and_says_whether_it_failed() {
    each_wire(&server(), async |client| {
        let sum = client.call("add", json!({"a": 2, "b": 3})).await.unwrap();
        assert_eq!((sum.is_error(), sum.decode::<Sum>().unwrap().sum), (false, 5));
        let failed = client.call("fail", json!({})).await.unwrap();
        assert!(failed.is_error());
        assert_eq!(failed.first_text(), Some("there is no more paper"));
    })
    .await;
    let (client, _) = scripted([json!({"result": {"content": []}})]).await;
    assert!(!client.call("t", json!({})).await.unwrap().is_error(), "what says nothing has not failed");
}

#[tokio::test]
async fn every_request_is_json_rpc_with_an_id_of_its_own() {
    let empty = || json!({"result": {"content": []}});
    let (client, scripted) = scripted([empty(), empty(), empty()]).await;
    for number in 0..3 {
        client.call("t", json!({"n": number})).await.unwrap();
    }
    let sent = scripted.sent();
    let calls: Vec<_> = sent.iter().filter(|frame| frame["method"] == "tools/call").collect();
    let ids: std::collections::HashSet<_> = sent.iter().filter_map(|frame| frame["id"].as_i64()).collect();
    assert_eq!((calls.len(), ids.len()), (3, 4));
    for (number, call) in calls.iter().enumerate() {
        assert_eq!((&call["jsonrpc"], &call["params"]["name"]), (&json!("2.0"), &json!("t")));
        assert_eq!(call["params"]["arguments"], json!({"n": number}));
    }
}

fn shout() -> impl toolway::agent::AgentTool {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    agent::native_tool("shout", "Say it louder.", schema, |arguments: Value| async move {
        match arguments["text"].as_str() {
            Some(text) => Ok(text.to_uppercase()),
            None => Err(ToolFailure::failed("there is no text")),
        }
    })
}

#[tokio::test]
async fn a_server_is_built_from_a_name_a_version_and_tools() {
    let list = ToolSet::new().with(shout());
    let server = Server::new("voices", "1.0.0").tool(ToolEntry::of::<add>()).tools(list).build().unwrap();
    each_wire(&server, async |client| {
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["add", "shout"]);
    })
    .await;
}

#[tokio::test]
async fn a_server_answers_what_comes_until_nothing_does() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let serving = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        server().serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    let client = Client::connect_io(reader, writer).await.unwrap();
    for number in 0..10 {
        let sum = client.call("add", json!({"a": number, "b": 1})).await.unwrap();
        assert_eq!(sum.decode::<Sum>().unwrap().sum, number + 1);
    }
    client.close().await.unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_tool_for_a_model_is_listed_with_its_own_schema() {
    let annotated = || shout_annotated();
    fn shout_annotated() -> impl toolway::agent::AgentTool {
        let schema = RawJson::parse(r#"{"type":"object","properties":{},"x-own":[1,2]}"#).unwrap();
        agent::native_tool("quiet", "Say nothing.", schema, |_: Value| async { "" })
            .with_title("Silence")
            .with_annotations(ToolAnnotations::new().with_read_only_hint(true))
    }
    let server = Server::new("voices", "1.0.0").tools(ToolSet::new().with(annotated())).build().unwrap();
    let client = Client::connect(&server).await.unwrap();
    let tools = client.tools().await.unwrap();
    let Tool { title, description, input_schema, annotations, .. } = &tools[0];
    assert_eq!((title.as_deref(), description.as_deref()), (Some("Silence"), Some("Say nothing.")));
    assert_eq!(input_schema.as_str(), r#"{"type":"object","properties":{},"x-own":[1,2]}"#);
    assert!(annotations.as_ref().unwrap().is_read_only());
}

#[tokio::test]
async fn an_unknown_method_is_an_error() {
    each_wire(&server(), async |client| {
        let error = client.request("no/such/method", json!({})).await.unwrap_err();
        assert_eq!(error.code(), Some(Code::METHOD_NOT_FOUND));
    })
    .await;
}

/// The same on all servers: an unknown tool is an error of the call, not a result of a tool.
#[tokio::test]
async fn an_unknown_tool_is_refused() {
    let server = Server::new("voices", "1.0.0").tools(ToolSet::new().with(shout())).build().unwrap();
    each_wire(&server, async |client| {
        let error = client.call("shuot", json!({})).await.unwrap_err();
        assert_eq!(error.code(), Some(Code::INVALID_PARAMS));
        assert!(error.to_string().contains("shout"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_a_tool_gives_is_one_text_of_json() {
    let schema = json!({"type": "object"});
    let count = agent::native_tool("count", "", schema, |_: Value| async { json!({"words": [1, 2]}) });
    let server = Server::new("counts", "1.0.0").tools(ToolSet::new().with(count)).build().unwrap();
    each_wire(&server, async |client| {
        let result = client.call("count", json!({})).await.unwrap();
        assert_eq!((result.is_error(), result.content.len()), (false, 1));
        let text: Value = serde_json::from_str(&result.text().unwrap()).unwrap();
        assert_eq!(text, json!({"words": [1, 2]}));
    })
    .await;
}

#[tokio::test]
async fn what_a_tool_says_when_it_fails_is_one_text() {
    let server = Server::new("voices", "1.0.0").tools(ToolSet::new().with(shout())).build().unwrap();
    each_wire(&server, async |client| {
        let result = client.call("shout", json!({})).await.unwrap();
        assert_eq!((result.is_error(), result.content.len()), (true, 1));
        assert_eq!(result.first_text(), Some("there is no text"));
        let error = result.text().unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::ToolFailed, "the tool failed: there is no text".to_owned())
        );
    })
    .await;
}

#[tokio::test]
async fn an_error_of_the_server_has_its_code_and_words() {
    let refused = json!({"error": {"code": -32123, "message": "not today", "data": {"until": "monday"}}});
    let (client, _) = scripted([refused]).await;
    let error = client.call("t", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::PeerRefused, Some(Code(-32123))));
    let rpc = error.rpc().unwrap();
    assert_eq!(rpc.message, "not today");
    assert_eq!(rpc.data.as_ref().unwrap().decode::<Value>().unwrap(), json!({"until": "monday"}));
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_and_the_cause_is_kept() {
    let error = Client::connect("there-is-no-such-program --at all").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(
        error.to_string().starts_with("failed to connect to `there-is-no-such-program --at all`"),
        "{error}"
    );
    let mut cause = std::error::Error::source(&error);
    let mut kinds = Vec::new();
    while let Some(error) = cause {
        kinds.extend(error.downcast_ref::<std::io::Error>().map(std::io::Error::kind));
        cause = error.source();
    }
    assert_eq!(kinds, [std::io::ErrorKind::NotFound], "{error:?}");
}

#[tokio::test]
async fn servers_of_every_age_are_spoken_to_in_their_own_way() {
    each_wire(&server(), async |client| {
        let sum = client.call("add", json!({"a": 1, "b": 1})).await.unwrap();
        assert_eq!(sum.first_text().map(|text| text.contains('2')), Some(true));
    })
    .await;
    // The client is not told which era it is.
    for (eras, expected) in [
        (vec![toolway::Era::Stateless, toolway::Era::Handshake], ProtocolVersion::LATEST),
        (vec![toolway::Era::Handshake], ProtocolVersion::LATEST_HANDSHAKE),
    ] {
        let server = Server::new("some", "1.0.0").tools(tools![add]).eras(eras).build().unwrap();
        let client = Client::connect(&server).await.unwrap();
        assert_eq!(client.protocol_version(), expected);
        assert_eq!(client.tools().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_a_call_says_while_it_runs_is_a_stream() {
    /// Count.
    #[tool]
    async fn count(ctx: Ctx, to: u32) -> u32 {
        for step in 1..=to {
            ctx.progress(step, to, format!("at {step}")).await;
        }
        to
    }
    let server = Server::new("counter", "1.0.0").tools(tools![count]).build().unwrap();
    each_wire(&server, async |client| {
        let mut running = client.call("count", json!({"to": 3})).start();
        let mut seen = Vec::new();
        while let Some(progress) = running.progress().await {
            seen.push(progress.progress.as_u64().unwrap());
        }
        assert_eq!(seen, [1, 2, 3]);
        assert_eq!(running.await.unwrap().text().unwrap(), "3");
    })
    .await;
}

#[tokio::test]
async fn a_client_has_a_method_for_each_question() {
    each_wire(&server(), async |client| {
        assert_eq!(client.tools().await.unwrap().len(), 2);
        client.call("add", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(client.resources().await.unwrap()[0].uri, "house://rules");
        let read = client.read_resource("house://rules").await.unwrap();
        assert_eq!(read.contents.len(), 1);
        assert_eq!(client.prompts().await.unwrap()[0].name, "greet");
        let prompt = client.get_prompt("greet", [("whom", "Ada")]).await.unwrap();
        assert_eq!(prompt.messages.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn ids_are_the_clients_business_and_never_come_twice() {
    let seen = Arc::new(AtomicUsize::new(0));
    each_session(&server(), async |client| {
        let calls: Vec<_> =
            (0..50).map(|n| tokio::spawn(client.call("add", json!({"a": n, "b": 0})))).collect();
        for (number, call) in calls.into_iter().enumerate() {
            let sum = call.await.unwrap().unwrap().decode::<Sum>().unwrap().sum;
            assert_eq!(usize::try_from(sum).unwrap(), number);
            seen.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    assert!(seen.load(Ordering::SeqCst) >= 50);
}

#[tokio::test]
async fn whatever_can_carry_a_message_is_a_transport() {
    /// Only one method is required.
    struct Echo;
    impl Transport for Echo {
        fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{}},"content":[{{"type":"text","text":"{}"}}]}}}}"#,
                outgoing.id.unwrap(),
                outgoing.method.name()
            );
            let Ok(ParsedFrame::One(message @ Message::Response { .. })) =
                parse(&text.into_bytes().into(), Limits::default())
            else {
                panic!("a reply")
            };
            Box::pin(std::future::ready(Ok(Some(message))))
        }
    }
    let client = Client::connect(Echo).await.unwrap();
    assert_eq!(client.call("any", json!({})).await.unwrap().text().unwrap(), "tools/call");
}

#[tokio::test]
async fn a_tool_shows_its_name_its_words_and_both_its_schemas() {
    let client = Client::connect(&server()).await.unwrap();
    let tools = client.tools().await.unwrap();
    let add = tools.get("add").unwrap();
    assert_eq!((add.name.as_str(), add.description()), ("add", "Add two integers."));
    assert_eq!(add.input_schema.decode::<Value>().unwrap()["required"], json!(["a", "b"]));
    let output: Value = add.output_schema.as_ref().unwrap().decode().unwrap();
    assert_eq!(output["properties"]["sum"]["type"], "integer");
}
