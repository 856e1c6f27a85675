//! Rows 212, 219–221 and 234–249: the ways to define tools, prompts and resources, and how a server describes itself.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::element::{PromptHandler, ToolHandler};
use toolway::server::parameter::{Arguments, Scope};
use toolway::server::{
    Extension, Extensions, Filled, Prompt, PromptEntry, PromptError, Reading, ResourceEntry, ResourceError,
    Run, ServerBuilder, ToolEntry,
};
use toolway::testing::{connect, each_session, each_wire};
use toolway::types::{
    CallToolResult, Content, GetPromptResult, Icon, PromptArgument, PromptMessage, Resource,
    ResourceTemplate, Role, Tool, ToolAnnotations,
};
use toolway::{BoxFuture, ErrorKind, Notification, ProtocolVersion, RawJson};

fn new() -> ServerBuilder {
    Server::new("ruby", "1.0.0")
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}

fn code<T: std::fmt::Debug>(outcome: toolway::Result<T>) -> i64 {
    outcome.unwrap_err().rpc().unwrap().code.0
}

/// The code for a resource that does not exist.
fn not_found(client: &Client) -> i64 {
    if client.protocol_version() >= ProtocolVersion::V2026_07_28 { -32602 } else { -32002 }
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The readme.
#[resource(uri = "ruby://readme")]
fn readme() -> &'static str {
    "# Ruby"
}

/// One gem.
#[resource(uri = "ruby://gems/{name}")]
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

#[tokio::test]
async fn row_212_the_methods_of_the_protocol_are_served() {
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
        assert_eq!(client.read_resource("ruby://readme").await.unwrap().text(), Some("# Ruby"));
        assert_eq!(client.read_resource("ruby://gems/mcp").await.unwrap().text(), Some("the gem mcp"));
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
    assert_eq!(answer["result"]["serverInfo"], json!({"name": "ruby", "version": "1.0.0"}));
    for kind in ["tools", "resources", "prompts"] {
        assert_eq!(answer["result"]["capabilities"][kind]["listChanged"], true, "{kind}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Whom {
    /// Whom to greet.
    name: String,
}

#[tokio::test]
async fn row_219_a_tool_can_be_added_to_a_running_server() {
    // It has no tools at first.
    let server = new().build().unwrap();
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
        server.add_tool(tool.described("Greet a person.")).unwrap();
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
    let server = everything().build().unwrap();
    each_session(&server, async |client| {
        let mut news = client.news();
        server.add_tool(ToolEntry::from_fn("late", || async { "late" })).unwrap();
        assert!(matches!(news.next().await, Some(Notification::ToolsChanged(_))));
        assert_eq!(text(&client, "late", json!({})).await, "late");
        server.remove_tool("late");
        assert!(matches!(news.next().await, Some(Notification::ToolsChanged(_))));
    })
    .await;
}

struct User(&'static str);

/// Say who calls.
#[tool]
fn whoami(user: Extension<User>) -> &'static str {
    user.0
}

#[tokio::test]
async fn row_220_a_text_goes_in_and_a_text_comes_out() {
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

struct Settings {
    greeting: &'static str,
}

/// Greet with what the server was given.
#[tool]
fn hello(settings: State<Settings>) -> &'static str {
    settings.greeting
}

#[tokio::test]
async fn row_221_a_server_has_a_name_a_version_and_everything_else_that_was_said() {
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
        assert_eq!(client.resources().await.unwrap()[0].uri, "ruby://readme");
        assert_eq!(client.resource_templates().await.unwrap()[0].uri_template, "ruby://gems/{name}");
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

fn sum_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "additionalProperties": false,
    })
}

fn sum_output() -> Value {
    json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]})
}

fn sum_definition(name: &str) -> Tool {
    Tool::new(name, sum_schema())
        .with_title("Sum")
        .with_description("Add two numbers.")
        .with_output_schema(sum_output())
        .with_annotations(ToolAnnotations::new().with_read_only_hint(true))
}

async fn sum(arguments: Value) -> Value {
    json!({"sum": arguments["a"].as_f64().unwrap() + arguments["b"].as_f64().unwrap()})
}

/// Checks that a tool with this definition looks the same, however it was defined.
async fn is_the_sum_tool(client: &Client, name: &str) {
    let version = client.protocol_version();
    let tools = client.tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == name).unwrap();
    assert_eq!(tool.description(), "Add two numbers.");
    assert_eq!(tool.input_schema.decode::<Value>().unwrap(), sum_schema());
    let is_titled = version >= ProtocolVersion::V2025_06_18;
    assert_eq!(tool.title.as_deref(), is_titled.then_some("Sum"));
    let output = tool.output_schema.as_ref().map(|schema| schema.decode::<Value>().unwrap());
    assert_eq!(output, is_titled.then(sum_output));
    let read_only = tool.annotations.as_ref().map(|annotations| annotations.read_only_hint);
    assert_eq!(read_only, (version >= ProtocolVersion::V2025_03_26).then_some(Some(true)));
    let result = client.call(name, json!({"a": 1.5, "b": 2})).await.unwrap();
    assert_eq!((result.is_error(), result.first_text()), (false, Some(r#"{"sum":3.5}"#)));
    // The schema is enforced, even if the handler would accept anything.
    let wrong = client.call(name, json!({"a": 1, "c": 2})).await.unwrap();
    assert!(wrong.is_error());
    let text = wrong.first_text().unwrap();
    assert!(text.contains("`b` is missing") && text.contains("unknown argument `c`"), "{text}");
}

/// A type that implements everything by hand.
struct SumTool;

impl ToolHandler for SumTool {
    fn definition(&self) -> Tool {
        sum_definition("sum")
    }

    fn call(&self, arguments: Arguments, _: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        Box::pin(async move {
            let structured = RawJson::from(sum(arguments.decode()?).await);
            Ok(CallToolResult::text(structured.as_str()).with_structured_content(structured))
        })
    }
}

/// Add two numbers.
#[tool(name = "sum", title = "Sum", read_only)]
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SumArguments {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct SumResult {
    sum: f64,
}

impl Run for SumArguments {
    type Output = Json<SumResult>;

    async fn run(self, _: Ctx) -> Json<SumResult> {
        Json(SumResult { sum: self.a + self.b })
    }
}

#[tokio::test]
async fn row_234_a_type_can_be_a_tool_with_everything_a_tool_has() {
    each_wire(&new().tool(ToolEntry::new(SumTool)).build().unwrap(), async |client| {
        is_the_sum_tool(&client, "sum").await;
    })
    .await;
    // The same with less code: the fields are the schema.
    each_wire(&new().tools(tools![SumArguments]).build().unwrap(), async |client| {
        let tools = client.tools().await.unwrap();
        let schema: Value = tools[0].input_schema.decode().unwrap();
        assert_eq!(schema, sum_schema());
        if client.protocol_version() >= ProtocolVersion::V2025_06_18 {
            let output: Value = tools[0].output_schema.as_ref().unwrap().decode().unwrap();
            assert_eq!(output["type"], "object");
            assert_eq!(output["properties"]["sum"], json!({"type": "number"}));
            assert_eq!(output["required"], json!(["sum"]));
        }
        assert_eq!(text(&client, "sum", json!({"a": 1.5, "b": 2})).await, r#"{"sum":3.5}"#);
    })
    .await;
}

#[tokio::test]
async fn row_235_a_tool_can_be_a_definition_and_a_closure() {
    let server = new().tool(ToolEntry::define(sum_definition("sum"), sum)).build().unwrap();
    each_wire(&server, async |client| is_the_sum_tool(&client, "sum").await).await;
    // A definition that clients cannot handle is reported before it is served.
    for (schema, complaint) in [
        (json!([]), "`type` must be \"object\", it is none"),
        (json!({"properties": {}}), "`type` must be \"object\", it is none"),
        (json!({"type": "array"}), "`type` must be \"object\", it is \"array\""),
        (json!({"type": "object", "properties": 5}), "tool `bad`: the input schema: "),
    ] {
        let tool = ToolEntry::define(Tool::new("bad", schema.clone()), || async {});
        let error = new().tool(tool).build().unwrap_err().to_string();
        assert!(error.contains(complaint), "{schema}: {error}");
    }
}

#[tokio::test]
async fn row_236_a_tool_can_be_defined_on_the_server_itself() {
    let server = everything().build().unwrap();
    server.add_tool(ToolEntry::define(sum_definition("sum"), sum)).unwrap();
    server.add_tool(ToolEntry::new(SumTool).named("sum_too")).unwrap();
    assert!(server.tool("sum").is_some() && server.tool("summ").is_none());
    each_wire(&server, async |client| {
        let tools = client.tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["add", "sum", "sum_too"]);
        is_the_sum_tool(&client, "sum").await;
        is_the_sum_tool(&client, "sum_too").await;
    })
    .await;
    // An invalid one is refused, and the server continues unchanged.
    let wrong = ToolEntry::define(Tool::new("", json!({"type": "object"})), || async {});
    assert_eq!(server.add_tool(wrong).unwrap_err().kind(), ErrorKind::Misuse);
    assert_eq!(connect(&server).await.tools().await.unwrap().len(), 3);
}

/// Types for their names only.
mod names {
    use super::*;

    macro_rules! say_their_names {
        ($($name:ident),*) => {$(
            impl Run for $name {
                type Output = &'static str;

                async fn run(self, _: Ctx) -> &'static str {
                    stringify!($name)
                }
            }
        )*};
    }
    say_their_names!(FetchWeather, HTTPGet, Add2Numbers, Plain, SomeTool);

    #[tool]
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct FetchWeather {}

    #[tool]
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct HTTPGet {}

    #[tool]
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Add2Numbers {}

    #[tool]
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Plain {}

    #[tool(name = "my.tool-name")]
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct SomeTool {}
}

#[tokio::test]
async fn row_237_a_tool_is_named_after_its_type_unless_told_otherwise() {
    use names::{Add2Numbers, FetchWeather, HTTPGet, Plain, SomeTool};
    let server = new().tools(tools![FetchWeather, HTTPGet, Add2Numbers, Plain, SomeTool]).build().unwrap();
    each_wire(&server, async |client| {
        for (name, ty) in [
            ("fetch_weather", "FetchWeather"),
            ("http_get", "HTTPGet"),
            ("add2_numbers", "Add2Numbers"),
            ("plain", "Plain"),
            ("my.tool-name", "SomeTool"),
        ] {
            assert_eq!(text(&client, name, json!({})).await, ty);
        }
        assert_eq!(code(client.call("FetchWeather", json!({})).await), -32602);
        assert_eq!(code(client.call("some_tool", json!({})).await), -32602);
    })
    .await;
}

/// Says nothing about itself.
#[tool]
fn unsaid() {}

/// Says that it only reads.
#[tool(read_only)]
fn reads() {}

/// Says the opposite of everything.
#[tool(read_only = false, destructive = false, idempotent = true, open_world = false)]
fn contrary() {}

#[tokio::test]
async fn row_238_what_annotations_do_not_say_reads_as_the_protocol_says() {
    let read = |hints: &ToolAnnotations| {
        (hints.is_read_only(), hints.is_destructive(), hints.is_idempotent(), hints.is_open_world())
    };
    assert_eq!(read(&ToolAnnotations::default()), (false, true, false, true));
    each_wire(&new().tools(tools![unsaid, reads, contrary]).build().unwrap(), async |client| {
        let tools = client.tools().await.unwrap();
        // Annotations that were not set are not sent.
        let wire: Value = client.request("tools/list", json!({})).await.unwrap().decode().unwrap();
        assert!(wire["tools"][0].get("annotations").is_none());
        assert_eq!(read(&tools[0].annotations.clone().unwrap_or_default()), (false, true, false, true));
        if client.protocol_version() < ProtocolVersion::V2025_03_26 {
            return;
        }
        assert_eq!(wire["tools"][1]["annotations"], json!({"readOnlyHint": true}));
        // A read-only tool is not destructive, whatever the default says.
        assert_eq!(read(tools[1].annotations.as_ref().unwrap()), (true, false, false, true));
        assert_eq!(read(tools[2].annotations.as_ref().unwrap()), (false, false, true, false));
    })
    .await;
}

#[tokio::test]
async fn row_239_annotations_are_sent_to_revisions_that_know_them() {
    each_wire(&new().tools(tools![reads, contrary]).build().unwrap(), async |client| {
        let wire: Value = client.request("tools/list", json!({})).await.unwrap().decode().unwrap();
        let [reads, contrary] = [0, 1].map(|place| wire["tools"][place].get("annotations"));
        match client.protocol_version() {
            ProtocolVersion::V2024_11_05 => assert_eq!((reads, contrary), (None, None)),
            _ => {
                assert_eq!(reads, Some(&json!({"readOnlyHint": true})));
                let hints = json!({
                    "readOnlyHint": false, "destructiveHint": false,
                    "idempotentHint": true, "openWorldHint": false,
                });
                assert_eq!(contrary, Some(&hints));
            }
        }
        // The tool works in both cases.
        assert!(!client.call("contrary", json!({})).await.unwrap().is_error());
    })
    .await;
}

#[tool]
fn array() -> Json<Vec<u32>> {
    Json(vec![1, 2])
}

#[tool]
fn object() -> Json<SumResult> {
    Json(SumResult { sum: 1.0 })
}

/// A schema that speaks of members speaks of an object, whether it says so or not.
#[tool(output_schema = json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]}))]
fn untyped(n: Value) -> Value {
    json!({"n": n})
}

/// An array, because its author says so.
#[tool(output_schema = json!({"type": "array", "items": {"type": "integer"}}))]
fn stated() -> Value {
    json!([1, 2])
}

#[tokio::test]
async fn row_240_an_output_schema_is_that_of_an_object_unless_it_says_otherwise() {
    let by_hand = Tool::new("by_hand", json!({"type": "object"}))
        .with_output_schema(json!({"properties": {"sum": {"type": "number"}}}));
    let by_hand = ToolEntry::define(by_hand, || async { json!({"sum": 1}) });
    let server = new().tools(tools![object, array, untyped, stated]).tool(by_hand).build().unwrap();
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        let tools = client.tools().await.unwrap();
        for (place, expected) in ["object", "array", "object", "array", "object"].into_iter().enumerate() {
            let kind = tools[place]
                .output_schema
                .as_ref()
                .map(|schema| schema.decode::<Value>().unwrap()["type"].as_str().unwrap().to_owned());
            // Objects came first, everything else in the newest revision.
            let first = if expected == "object" {
                ProtocolVersion::V2025_06_18
            } else {
                ProtocolVersion::V2026_07_28
            };
            let expected = (version >= first).then_some(expected);
            assert_eq!(kind.as_deref(), expected, "{} in {version}", tools[place].name);
        }
        assert_eq!(text(&client, "array", json!({})).await, "[1,2]");
        assert_eq!(text(&client, "stated", json!({})).await, "[1,2]");
        assert_eq!(text(&client, "untyped", json!({"n": 5})).await, r#"{"n":5}"#);
        // A result that does not match its schema is not sent.
        let broken = client.call("untyped", json!({"n": "five"})).await.unwrap();
        assert!(broken.is_error());
        assert_eq!(broken.structured_content, None);
    })
    .await;
}

/// Checks what it is about to return.
#[tool(output_schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]}))]
fn careful(n: Value, ctx: Ctx) -> Value {
    let result = json!({"n": n});
    if ctx.check_output(&result).is_ok() { result } else { json!({"n": 0}) }
}

/// Passes on what the check says.
#[tool(output_schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]}))]
fn honest(n: Value, ctx: Ctx) -> Result<Value, ToolError> {
    let result = json!({"n": n});
    ctx.check_output(&result)?;
    Ok(result)
}

/// Has no schema, so everything is right.
#[tool]
fn careless(ctx: Ctx) -> Result<String, ToolError> {
    ctx.check_output(&json!([1, null]))?;
    Ok("fine".to_owned())
}

#[tokio::test]
async fn row_241_a_handler_can_check_its_result_against_the_schema() {
    let server = new().tools(tools![careful, honest, careless]).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(text(&client, "careful", json!({"n": 5})).await, r#"{"n":5}"#);
        assert_eq!(text(&client, "careful", json!({"n": -5})).await, r#"{"n":0}"#);
        assert_eq!(text(&client, "careful", json!({"n": "x"})).await, r#"{"n":0}"#);
        assert_eq!(text(&client, "honest", json!({"n": 5})).await, r#"{"n":5}"#);
        let wrong = client.call("honest", json!({"n": -5})).await.unwrap();
        assert!(wrong.is_error());
        let complaint = wrong.first_text().unwrap();
        assert!(
            complaint.starts_with("the result does not fit the output schema: member `n`"),
            "{complaint}"
        );
        assert_eq!(text(&client, "careless", json!({})).await, "fine");
    })
    .await;
    // The same check without a call.
    let tool = server.tool("honest").unwrap();
    assert_eq!(tool.check_output(&json!({"n": 0})), Ok(()));
    assert!(tool.check_output(&json!({"n": 0.5})).unwrap_err().contains("member `n`"));
    assert!(tool.check_output(&json!({})).unwrap_err().contains("member `n` is missing"));
    assert_eq!(server.tool("careless").unwrap().check_output(&json!(null)), Ok(()));
}

/// Its text says more than the JSON.
#[tool(output_schema = json!({"type": "object"}))]
fn worded() -> CallToolResult {
    CallToolResult::text("the sum is five").with_structured_content(json!({"sum": 5}))
}

#[tokio::test]
async fn row_242_structured_content_comes_with_a_copy_as_text() {
    let server = new().tools(tools![object, worded, add]).build().unwrap();
    each_wire(&server, async |client| {
        let is_structured = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        let result = client.call("object", json!({})).await.unwrap();
        assert_eq!(result.content, [Content::text(r#"{"sum":1.0}"#)]);
        let structured = result.structured_content.as_ref().map(RawJson::as_str);
        assert_eq!(structured, is_structured.then_some(r#"{"sum":1.0}"#));
        let result = client.call("worded", json!({})).await.unwrap();
        assert_eq!(result.content, [Content::text("the sum is five")], "the author's own words stay");
        let structured = result.structured_content.as_ref().map(RawJson::as_str);
        assert_eq!(structured, is_structured.then_some(r#"{"sum":5}"#));
        let result = client.call("add", json!({"a": 1, "b": 1})).await.unwrap();
        assert_eq!(result.structured_content, None, "plain text has no structure");
    })
    .await;
}

fn review_arguments() -> Vec<PromptArgument> {
    vec![
        PromptArgument::new("code")
            .with_title("Code")
            .with_description("What to review.")
            .with_required(true),
        PromptArgument::new("style").with_required(false),
    ]
}

fn review_definition(name: &str) -> toolway::types::Prompt {
    toolway::types::Prompt::new(name)
        .with_title("Code review")
        .with_description("Review code.")
        .with_arguments(review_arguments())
        .with_meta(json!({"team": "docs"}).as_object().cloned().unwrap())
}

fn review_text(code: &str, style: Option<&str>) -> Prompt {
    Prompt::new()
        .described(format!("A {} review", style.unwrap_or("short")))
        .assistant("You are an editor.")
        .user(format!("Review {code}."))
}

/// A type that implements everything by hand.
struct ReviewPrompt;

impl PromptHandler for ReviewPrompt {
    fn definition(&self) -> toolway::types::Prompt {
        review_definition("by_type")
    }

    fn get(
        &self,
        arguments: toolway_protocol::uri_template::Values,
        _: Scope,
    ) -> BoxFuture<'static, Result<GetPromptResult, PromptError>> {
        let text = format!("Review {}.", arguments.text("code").unwrap_or_default());
        let style = arguments.text("style").unwrap_or("short").to_owned();
        Box::pin(async move {
            let mut result = GetPromptResult::new(vec![
                PromptMessage::new(Role::Assistant, Content::text("You are an editor.")),
                PromptMessage::new(Role::User, Content::text(text)),
            ]);
            result.description = Some(format!("A {style} review"));
            Ok(result)
        })
    }
}

/// Review code.
#[prompt(name = "by_macro", title = "Code review", meta = {"team": "docs"})]
fn review(
    /// What to review.
    #[arg(title = "Code")]
    code: &str,
    style: Option<String>,
) -> Prompt {
    review_text(code, style.as_deref())
}

/// Named after itself.
#[prompt]
#[derive(Deserialize, JsonSchema)]
struct CodeReview {
    code: String,
}

impl Run for CodeReview {
    type Output = Prompt;

    async fn run(self, _: Ctx) -> Prompt {
        review_text(&self.code, None)
    }
}

fn reviewers() -> Server {
    let by_closure = PromptEntry::define(review_definition("by_closure"), |filled: Filled| async move {
        review_text(filled.text("code").unwrap(), filled.text("style"))
    });
    let server =
        new().prompt(PromptEntry::new(ReviewPrompt)).prompt(by_closure).prompts(prompts![review]).build();
    let server = server.unwrap();
    let late = PromptEntry::of::<review>().named("by_server");
    server.add_prompt(late).unwrap();
    server.add_prompt(PromptEntry::of::<CodeReview>()).unwrap();
    server
}

const REVIEWERS: [&str; 4] = ["by_type", "by_closure", "by_macro", "by_server"];

#[tokio::test]
async fn row_243_a_prompt_can_be_defined_in_every_way_a_tool_can() {
    let server = reviewers();
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        let prompts = client.prompts().await.unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| &*prompt.name).collect();
        assert_eq!(names, ["by_type", "by_closure", "by_macro", "by_server", "code_review"]);
        let is_new = version >= ProtocolVersion::V2025_06_18;
        for prompt in &prompts[..4] {
            assert_eq!(prompt.title.as_deref(), is_new.then_some("Code review"));
            assert_eq!(prompt.description.as_deref(), Some("Review code."));
            let meta = json!({"team": "docs"});
            assert_eq!(prompt.meta.as_ref(), meta.as_object().filter(|_| is_new));
            let arguments = prompt.arguments.as_ref().unwrap();
            let names: Vec<_> = arguments.iter().map(|argument| &*argument.name).collect();
            assert_eq!(names, ["code", "style"]);
            let result = client.get_prompt(&prompt.name, [("code", "x += 1")]).await.unwrap();
            let said: Vec<_> =
                result.messages.iter().map(|m| (m.role.as_str(), m.content.as_text().unwrap())).collect();
            assert_eq!(said, [("assistant", "You are an editor."), ("user", "Review x += 1.")]);
        }
        assert_eq!(code(client.get_prompt("review", [("code", "x")]).await), -32602);
    })
    .await;
    let error = server.add_prompt(PromptEntry::of::<CodeReview>()).unwrap_err().to_string();
    assert!(error.contains("two prompts have the name `code_review`"), "{error}");
    assert!(server.remove_prompt("code_review") && !server.remove_prompt("code_review"));
}

#[tokio::test]
async fn row_244_an_argument_of_a_prompt_has_a_name_a_title_a_description_and_may_be_required() {
    each_wire(&reviewers(), async |client| {
        let is_titled = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        let prompts = client.prompts().await.unwrap();
        for prompt in &prompts[..4] {
            let [code, style] = prompt.arguments.as_deref().unwrap() else { panic!("{prompt:?}") };
            assert_eq!(code.name, "code");
            assert_eq!(code.title.as_deref(), is_titled.then_some("Code"), "{}", prompt.name);
            assert_eq!(code.description.as_deref(), Some("What to review."));
            assert_eq!(code.required, Some(true));
            assert_eq!(style.name, "style");
            assert_eq!((&style.title, &style.description), (&None, &None));
            assert_eq!(style.required, Some(false));
            // Required arguments must be there, and unknown ones must not.
            let name = &prompt.name;
            let error = client.get_prompt(name, [("style", "long")]).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!((rpc.code.0, &*rpc.message), (-32602, "argument `code` is missing"), "{name}");
            let error = client.get_prompt(name, [("code", "x"), ("stile", "long")]).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            let expected = "unknown argument `stile`, did you mean `style`?";
            assert_eq!((rpc.code.0, &*rpc.message), (-32602, expected), "{name}");
        }
    })
    .await;
}

/// Gets what was filled in, what the server has and what belongs to the call.
#[prompt]
async fn briefing(topic: &str, settings: State<Settings>, ctx: Ctx) -> Prompt {
    let readme = ctx.read_resource("ruby://readme").await;
    let readme = readme.ok().and_then(|contents| contents.text().map(str::to_owned)).unwrap_or_default();
    Prompt::new()
        .described(format!("{} for {}", settings.greeting, ctx.peer().version))
        .user(format!("{topic}: {readme}"))
}

#[tokio::test]
async fn row_245_a_prompt_gets_its_arguments_and_the_call_and_gives_messages() {
    let define = toolway::types::Prompt::new("by_hand").with_arguments(vec![PromptArgument::new("topic")]);
    let by_hand =
        PromptEntry::define(define, |filled: Filled, settings: State<Settings>, ctx: Ctx| async move {
            Prompt::new()
                .described(format!("{} for {}", settings.greeting, ctx.peer().version))
                .user(filled.text("topic").unwrap_or("nothing"))
        });
    let server = new()
        .state(Settings { greeting: "briefing" })
        .resources(resources![readme])
        .prompts(prompts![briefing])
        .prompt(by_hand)
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        // Only values that users fill in are arguments.
        let arguments = client.prompts().await.unwrap()[0].arguments.clone().unwrap();
        assert_eq!(arguments.len(), 1);
        assert_eq!(arguments[0].name, "topic");
        let result = client.get_prompt("briefing", [("topic", "gems")]).await.unwrap();
        assert_eq!(result.description, Some(format!("briefing for {version}")));
        assert_eq!(result.messages, [PromptMessage::new(Role::User, Content::text("gems: # Ruby"))]);
        let result = client.get_prompt("by_hand", [("", ""); 0]).await.unwrap();
        assert_eq!(result.description, Some(format!("briefing for {version}")));
        assert_eq!(result.messages, [PromptMessage::new(Role::User, Content::text("nothing"))]);
    })
    .await;
}

#[tokio::test]
async fn row_246_the_description_of_a_filled_prompt_reaches_the_client() {
    let server = reviewers();
    server.add_prompt(PromptEntry::of::<greet>()).unwrap();
    each_wire(&server, async |client| {
        for name in REVIEWERS {
            let result = client.get_prompt(name, [("code", "x"), ("style", "long")]).await.unwrap();
            assert_eq!(result.description.as_deref(), Some("A long review"), "{name}");
            // The description belongs to this result, not to the prompt.
            let result = client.get_prompt(name, [("code", "x")]).await.unwrap();
            assert_eq!(result.description.as_deref(), Some("A short review"), "{name}");
        }
        let silent = client.get_prompt("greet", [("name", "Ada")]).await.unwrap();
        assert_eq!(silent.description, None);
    })
    .await;
}

fn metadata() -> Resource {
    Resource::new("meta://motd", "motd")
        .with_title("Message of the day")
        .with_description("Be kind.")
        .with_mime_type("text/x-motd")
}

fn template_metadata() -> ResourceTemplate {
    ResourceTemplate::new("meta://users/{id}", "user")
        .with_title("User")
        .with_description("One user.")
        .with_mime_type("text/x-user")
}

#[tokio::test]
async fn row_247_a_resource_may_be_metadata_that_one_handler_reads() {
    let server = new()
        .resource(ResourceEntry::described_only(metadata()))
        .resources(resources![readme])
        .read_resource(async |reading: Reading| -> Result<Option<String>, ResourceError> {
            match reading.uri.as_str() {
                "meta://motd" => Ok(Some("be kind".to_owned())),
                "meta://locked" => Err(ResourceError::new("locked until noon")),
                _ => Ok(None),
            }
        })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let listed = &client.resources().await.unwrap()[0];
        assert_eq!((&*listed.uri, &*listed.name), ("meta://motd", "motd"));
        let is_titled = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        assert_eq!(listed.title.as_deref(), is_titled.then_some("Message of the day"));
        assert_eq!(listed.description.as_deref(), Some("Be kind."));
        assert_eq!(listed.mime_type.as_deref(), Some("text/x-motd"));
        let contents = client.read_resource("meta://motd").await.unwrap().contents;
        assert_eq!(contents.len(), 1);
        assert_eq!((&*contents[0].uri, contents[0].text.as_deref()), ("meta://motd", Some("be kind")));
        assert_eq!(contents[0].mime_type.as_deref(), Some("text/x-motd"));
        // The common reader is not called for a resource with its own handler.
        assert_eq!(client.read_resource("ruby://readme").await.unwrap().text(), Some("# Ruby"));
        assert_eq!(code(client.read_resource("meta://unknown").await), not_found(&client));
        let error = client.read_resource("meta://locked").await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, "locked until noon");
    })
    .await;
}

#[tokio::test]
async fn row_248_a_resource_that_nobody_reads_is_not_found() {
    // Registered without a handler, it is a mistake of the author.
    for entry in
        [ResourceEntry::described_only(metadata()), ResourceEntry::described_only(template_metadata())]
    {
        let uri = entry.definition().uri().to_owned();
        let error = new().resource(entry).build().unwrap_err().to_string();
        assert!(error.contains(&format!("resource `{uri}`: it has no handler")), "{error}");
    }
    // Listed by a handler, reading it is an error, never an empty answer.
    let server = new().list_resources(|| async { vec![metadata()] }).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.resources().await.unwrap()[0].uri, "meta://motd");
        let error = client.read_resource("meta://motd").await.unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code.0, not_found(&client));
        let data: Value = rpc.data.as_ref().unwrap().decode().unwrap();
        assert_eq!(data, json!({"uri": "meta://motd"}));
    })
    .await;
    // Without any resources the method does not exist.
    each_wire(&new().tools(tools![add]).build().unwrap(), async |client| {
        assert_eq!(code(client.read_resource("meta://motd").await), -32601);
    })
    .await;
}

#[tokio::test]
async fn row_249_a_template_may_be_metadata_too() {
    let server = new()
        .resource(ResourceEntry::described_only(template_metadata()))
        .read_resource(|reading: Reading| async move {
            let id = reading.variables.text("id")?.to_owned();
            (id != "0").then(|| format!("user {id}"))
        })
        .build()
        .unwrap();
    assert_eq!(server.resource_uri("user", [("id", "a b")]).as_deref(), Some("meta://users/a%20b"));
    each_wire(&server, async |client| {
        assert!(client.resources().await.unwrap().is_empty(), "a family is no resource");
        let templates = client.resource_templates().await.unwrap();
        assert_eq!(templates.len(), 1);
        let listed = &templates[0];
        assert_eq!((&*listed.uri_template, &*listed.name), ("meta://users/{id}", "user"));
        let is_titled = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        assert_eq!(listed.title.as_deref(), is_titled.then_some("User"));
        assert_eq!(listed.description.as_deref(), Some("One user."));
        assert_eq!(listed.mime_type.as_deref(), Some("text/x-user"));
        let contents = client.read_resource("meta://users/a%20b").await.unwrap().contents;
        assert_eq!(contents[0].text.as_deref(), Some("user a b"));
        assert_eq!(contents[0].uri, "meta://users/a%20b");
        assert_eq!(contents[0].mime_type.as_deref(), Some("text/x-user"));
        for missing in ["meta://users/0", "meta://users/1/2", "meta://others/1"] {
            assert_eq!(code(client.read_resource(missing).await), not_found(&client), "{missing}");
        }
    })
    .await;
    // An invalid template is reported early.
    for (template, complaint) in [
        ("meta://users/{id", "meta://users/{id"),
        ("meta://users", "the template has no variables: make it a resource"),
        ("users/{id}", "is not a URI"),
    ] {
        let entry = ResourceEntry::described_only(ResourceTemplate::new(template, "user"));
        let server = new().resource(entry).read_resource(|| async { None::<String> });
        let error = server.build().unwrap_err().to_string();
        assert!(error.contains(complaint), "{template}: {error}");
    }
}
