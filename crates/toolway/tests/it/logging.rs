//! Does a handler that asks for its context get it, and can it write to the log of its client?

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolway::ProtocolVersion;
use toolway::client::Notification;
use toolway::client::NotificationReader;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::testing::{each_session, each_wire};
use toolway::types::{LogLevel, LogMessage};

/// Returns the log messages so far. Messages arrive before the answer of the call that they belong to.
fn logged(news: &mut NotificationReader) -> Vec<LogMessage> {
    let mut messages = Vec::new();
    while let Some(news) = news.try_next() {
        match news {
            Notification::LogMessage(message) => messages.push(message),
            other => panic!("{other:?}"),
        }
    }
    messages
}

fn data(message: &LogMessage) -> Value {
    message.data.decode().unwrap()
}

/// Greet a client.
#[tool]
async fn greet(name: String, ctx: Ctx) -> String {
    format!("{name} speaks {}", ctx.peer().version)
}

/// Takes nothing but its context, by reference.
#[tool]
fn whom(the_call: &Ctx) -> String {
    the_call.server().info().name.clone()
}

#[prompt]
fn ask(topic: String, ctx: Ctx) -> String {
    format!("{topic} in {}", ctx.peer().version)
}

#[resource(uri = "about://{section}")]
fn about(ctx: &Ctx, section: String) -> String {
    format!("{section} in {}", ctx.peer().version)
}

struct Desk {
    owner: &'static str,
}

#[service]
impl Desk {
    #[tool]
    fn method(&self, ctx: &Ctx) -> String {
        format!("{} {}", self.owner, ctx.peer().version)
    }
}

#[tokio::test]
async fn the_context_is_provided_and_in_no_schema() {
    let closure = ToolEntry::from_fn("closure", |ctx: Ctx| async move { ctx.peer().version.to_string() });
    let server = Server::new("context", "1.0.0")
        .tools(tools![greet, whom])
        .tool(closure)
        .service(Desk { owner: "Ada" })
        .prompts(prompts![ask])
        .resources(resources![about])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        let tools = client.tools().await.unwrap();
        let properties = tools.iter().map(|tool| {
            let schema: Value = tool.input_schema.decode().unwrap();
            (tool.name.as_str(), schema["properties"].clone())
        });
        assert_eq!(
            properties.collect::<Vec<_>>(),
            [
                ("greet", json!({"name": {"type": "string"}})),
                ("whom", json!({})),
                ("closure", json!({})),
                ("method", json!({})),
            ]
        );
        let arguments = client.prompts().await.unwrap().remove(0).arguments.unwrap();
        assert_eq!(arguments.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["topic"]);

        let called = async |tool: &str, arguments: Value| {
            let result = client.call(tool, arguments).await.unwrap();
            (result.is_error(), result.first_text().unwrap().to_owned())
        };
        assert_eq!(called("greet", json!({"name": "Ada"})).await, (false, format!("Ada speaks {version}")));
        assert_eq!(called("whom", json!({})).await, (false, "context".to_owned()));
        assert_eq!(called("closure", json!({})).await, (false, version.to_string()));
        assert_eq!(called("method", json!({})).await, (false, format!("Ada {version}")));
        // A client cannot send this argument.
        let (is_error, text) = called("greet", json!({"name": "Ada", "ctx": {}})).await;
        assert!(is_error && text.contains("unknown argument `ctx`"), "{text}");
        let prompt = client.get_prompt("ask", [("topic", "tea")]).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text().unwrap(), format!("tea in {version}"));
        let resource = client.read_resource("about://us").await.unwrap();
        assert_eq!(resource.text().unwrap(), format!("us in {version}"));
    })
    .await;
}

#[tool]
async fn speaking_tool(ctx: Ctx) -> Result<String, ToolError> {
    ctx.log().error("from a tool", Value::Null).await;
    ctx.log().with_name("database").error("and again", Value::Null).await;
    Err(ToolError::new("it failed, but it spoke"))
}

#[resource(uri = "speaking://resource")]
async fn speaking_resource(ctx: &Ctx) -> &'static str {
    ctx.log().error("from a resource", Value::Null).await;
    "read"
}

#[prompt]
async fn speaking_prompt(ctx: Ctx) -> &'static str {
    ctx.log().error("from a prompt", Value::Null).await;
    "asked"
}

#[tool]
fn silent_tool() {}

#[tokio::test]
async fn the_log_of_the_context_goes_to_the_client() {
    let server = Server::new("speaking", "1.0.0")
        .tools(tools![speaking_tool, silent_tool])
        .resources(resources![speaking_resource])
        .prompts(prompts![speaking_prompt])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert!(client.server_capabilities().logging.is_some());
        client.set_log_level(LogLevel::Error).await.unwrap();
        let mut news = client.notifications();
        let result = client.call("speaking_tool", json!({})).await.unwrap();
        assert_eq!(result.first_text(), Some("it failed, but it spoke"));
        client.read_resource("speaking://resource").await.unwrap();
        client.get_prompt("speaking_prompt", [("", ""); 0]).await.unwrap();
        client.call("silent_tool", json!({})).await.unwrap();
        let expected = [
            LogMessage::new(LogLevel::Error, json!({"message": "from a tool"})),
            LogMessage::new(LogLevel::Error, json!({"message": "and again"})).with_logger("database"),
            LogMessage::new(LogLevel::Error, json!({"message": "from a resource"})),
            LogMessage::new(LogLevel::Error, json!({"message": "from a prompt"})),
        ];
        assert_eq!(logged(&mut news), expected);
    })
    .await;
}

/// Says something at every level, from the least to the greatest.
#[tool]
async fn say_everything(ctx: Ctx) -> String {
    let log = ctx.log();
    log.debug("1", json!({})).await;
    log.info("2", json!({})).await;
    log.notice("3", json!({})).await;
    log.warning("4", json!({})).await;
    log.error("5", json!({})).await;
    log.critical("6", json!({})).await;
    log.alert("7", json!({})).await;
    log.emergency("8", json!({})).await;
    LogLevel::ALL.into_iter().filter(|level| log.is_enabled(*level)).count().to_string()
}

/// The same, with the level as a value.
#[tool]
async fn write_everything(ctx: Ctx) {
    for (level, number) in LogLevel::ALL.into_iter().zip(1..) {
        ctx.log().write(level, &format!("{number}"), Value::Null).await;
    }
}

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

fn talkative() -> Server {
    Server::new("talkative", "1.0.0").tools(tools![say_everything, write_everything]).build().unwrap()
}

/// Returns the levels of the log messages of a call.
async fn heard(client: &Client) -> Vec<&'static str> {
    let mut news = client.notifications();
    let result = client.call("say_everything", json!({})).await.unwrap();
    let messages = logged(&mut news);
    assert_eq!(result.first_text(), Some(messages.len().to_string().as_str()), "what was wanted was sent");
    messages.iter().map(|message| message.level.as_str()).collect()
}

#[tokio::test]
async fn there_are_eight_levels() {
    each_wire(&talkative(), async |client| {
        client.set_log_level(LogLevel::Debug).await.unwrap();
        for tool in ["say_everything", "write_everything"] {
            let mut news = client.notifications();
            client.call(tool, json!({})).await.unwrap();
            let messages = logged(&mut news);
            let names: Vec<_> = messages.iter().map(|message| message.level.as_str()).collect();
            assert_eq!(names, LEVELS);
            let texts: Vec<Value> = messages.iter().map(|message| data(message)["message"].clone()).collect();
            assert_eq!(texts, ["1", "2", "3", "4", "5", "6", "7", "8"]);
        }
    })
    .await;
    assert_eq!(LogLevel::ALL.map(LogLevel::as_str), LEVELS);
    assert!(LogLevel::ALL.is_sorted());
    assert!("loud".parse::<LogLevel>().is_err());
}

/// Asks what is wanted before and after the client has changed its mind.
#[tool]
async fn while_it_runs(gates: State<Gates>, ctx: Ctx) -> String {
    ctx.log().info("before", Value::Null).await;
    gates.started.notify_one();
    gates.changed.notified().await;
    ctx.log().info("after", Value::Null).await;
    "done".to_owned()
}

#[derive(Clone, Default)]
struct Gates {
    started: Arc<Notify>,
    changed: Arc<Notify>,
}

#[tokio::test]
async fn warnings_are_heard_until_the_client_says_otherwise() {
    let is_new = |client: &Client| client.protocol_version() >= ProtocolVersion::V2026_07_28;
    each_wire(&talkative(), async |client| {
        let usual = if is_new(&client) { &LEVELS[..0] } else { &LEVELS[3..] };
        assert_eq!(heard(&client).await, usual);
    })
    .await;
    each_wire(&talkative(), async |client| {
        for (level, first) in LogLevel::ALL.into_iter().zip(0..) {
            client.set_log_level(level).await.unwrap();
            assert_eq!(heard(&client).await, LEVELS[first..], "from {level:?}");
            assert_eq!(heard(&client).await, LEVELS[first..], "it is remembered");
        }
        let wrong = client.request("logging/setLevel", json!({"level": "loud"})).await.unwrap_err();
        let code = if is_new(&client) { -32601 } else { -32602 };
        assert_eq!(wrong.rpc().unwrap().code.0, code);
        assert_eq!(heard(&client).await, ["emergency"], "a level that is none changes nothing");
    })
    .await;
    // Each session has its own level.
    let server = talkative();
    each_session(&server, async |client| {
        client.set_log_level(LogLevel::Debug).await.unwrap();
        each_session(&server, async |other| assert_eq!(heard(&other).await, LEVELS[3..])).await;
        assert_eq!(heard(&client).await, LEVELS);
    })
    .await;
    // A new level applies immediately, also to running calls.
    let gates = Gates::default();
    let server = Server::new("gated", "1.0.0").state(gates.clone()).tools(tools![while_it_runs]);
    each_session(&server.build().unwrap(), async |client| {
        let mut news = client.notifications();
        let change = async {
            gates.started.notified().await;
            client.set_log_level(LogLevel::Info).await.unwrap();
            gates.changed.notify_one();
        };
        let (result, ()) = tokio::join!(client.call("while_it_runs", json!({})), change);
        assert_eq!(result.unwrap().first_text(), Some("done"));
        let texts: Vec<Value> =
            logged(&mut news).iter().map(|message| data(message)["message"].clone()).collect();
        assert_eq!(texts, ["after"]);
    })
    .await;
}

#[tool]
async fn with_fields(ctx: Ctx) {
    let log = ctx.log().with_name("fields");
    log.warning("an object", json!({"input": 5, "deep": {"list": [1, null]}})).await;
    log.warning("nothing", Value::Null).await;
    log.warning("an empty object", json!({})).await;
    log.warning("a list", json!([1, 2])).await;
    log.warning("the text stays", json!({"message": "hidden?", "other": true})).await;
    log.warning("", json!({"why": "no \"words\"\n"})).await;
    log.info("not wanted", json!({"input": 6})).await;
}

#[tokio::test]
async fn fields_come_with_the_message() {
    let server = Server::new("fields", "1.0.0").tools(tools![with_fields]).build().unwrap();
    each_wire(&server, async |client| {
        client.set_log_level(LogLevel::Warning).await.unwrap();
        let mut news = client.notifications();
        client.call("with_fields", json!({})).await.unwrap();
        let messages = logged(&mut news);
        assert!(messages.iter().all(|message| message.logger.as_deref() == Some("fields")), "{messages:?}");
        assert!(messages.iter().all(|message| message.level == LogLevel::Warning), "{messages:?}");
        assert_eq!(
            messages.iter().map(data).collect::<Vec<_>>(),
            [
                json!({"message": "an object", "input": 5, "deep": {"list": [1, null]}}),
                json!({"message": "nothing"}),
                json!({"message": "an empty object"}),
                json!({"message": "a list", "data": [1, 2]}),
                json!({"message": "the text stays", "other": true}),
                json!({"message": "", "why": "no \"words\"\n"}),
            ]
        );
    })
    .await;
}
