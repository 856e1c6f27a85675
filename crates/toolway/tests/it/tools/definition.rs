//! In which ways can a tool be defined, and under which name is it called?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::element::ToolHandler;
use toolway::server::parameter::{Arguments, Scope};
use toolway::server::{Run, ToolEntry};
use toolway::testing::{connect, each_wire};
use toolway::types::{CallToolResult, Tool, ToolAnnotations};
use toolway::{BoxFuture, ErrorKind, ProtocolVersion, RawJson};

use super::{new, text};

fn code<T: std::fmt::Debug>(outcome: toolway::Result<T>) -> i64 {
    outcome.unwrap_err().rpc().unwrap().code.0
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
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
async fn a_type_can_be_a_tool_with_everything_a_tool_has() {
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
async fn a_tool_can_be_a_definition_and_a_closure() {
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
async fn a_tool_can_be_defined_on_the_server_itself() {
    let server = new().tools(tools![add]).build().unwrap();
    server.add_tool(ToolEntry::define(sum_definition("sum"), sum)).unwrap();
    server.add_tool(ToolEntry::new(SumTool).with_name("sum_too")).unwrap();
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
async fn a_tool_is_named_after_its_type_unless_told_otherwise() {
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

/// Of this module.
#[tool]
fn here() -> &'static str {
    "here"
}

/// Add two numbers, both described by hand.
#[tool(
    name = "sum",
    input_schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
    output_schema = {"type": "object", "properties": {"sum": {"type": "integer", "maximum": 100}}, "required": ["sum"]},
)]
fn adds(a: i64, b: i64) -> Value {
    json!({"sum": a + b})
}

async fn by_hand(arguments: Value) -> Value {
    json!({"sum": arguments["a"].as_i64().unwrap_or_default() + arguments["b"].as_i64().unwrap_or_default()})
}

#[tokio::test]
async fn a_tool_has_a_name_and_perhaps_schemas_and_a_handler_elsewhere() {
    let input = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]});
    let output = json!({"type": "object", "properties": {"sum": {"type": "integer", "maximum": 100}}, "required": ["sum"]});
    // The same without macros: everything is a value.
    let definition = Tool::new("by_hand", input.clone()).with_output_schema(output.clone());
    let server = Server::new("tools", "1.0.0")
        .tools(tools![adds])
        .tool(ToolEntry::define(definition, by_hand))
        .tool(ToolEntry::from_fn("bare", || async { "bare" }))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let structured = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        let tools = client.tools().await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["sum", "by_hand", "bare"]
        );
        for tool in &tools[..2] {
            assert_eq!(tool.input_schema.decode::<Value>().unwrap(), input);
            let schema = tool.output_schema.as_ref().map(|schema| schema.decode::<Value>().unwrap());
            assert_eq!(schema, structured.then(|| output.clone()));

            let result = client.call(&tool.name, json!({"a": 2, "b": 3})).await.unwrap();
            assert_eq!(result.first_text(), Some(r#"{"sum":5}"#));
            let content = result.structured().map(|content| content.decode::<Value>().unwrap());
            assert_eq!(content, structured.then(|| json!({"sum": 5})));

            let result = client.call(&tool.name, json!({"a": 2})).await.unwrap();
            assert_eq!((result.is_error(), result.first_text()), (true, Some("argument `b` is missing")));
            // An output that its schema forbids is an error of the tool, and its details are not shown to the caller.
            let result = client.call(&tool.name, json!({"a": 99, "b": 2})).await.unwrap();
            assert!(result.is_error());
            let text = result.first_text().unwrap();
            assert!(text.starts_with(&format!("the tool `{}` failed", tool.name)), "{text}");
        }
        assert!(tools[2].output_schema.is_none());
        assert_eq!(client.call("bare", json!({})).await.unwrap().first_text(), Some("bare"));
    })
    .await;
}

#[tokio::test]
async fn a_tool_without_arguments_says_so() {
    let closure = ToolEntry::from_fn("closure", |ctx: Ctx| async move { ctx.peer().version.to_string() });
    let server = Server::new("tools", "1.0.0").tools(tools![here]).tool(closure).build().unwrap();
    each_wire(&server, async |client| {
        let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
        for tool in client.tools().await.unwrap() {
            assert_eq!(tool.input_schema.decode::<Value>().unwrap(), nothing, "{}", tool.name);
            let result = client.call(&tool.name, json!({"extra": 1})).await.unwrap();
            assert!(result.is_error());
            assert_eq!(result.first_text(), Some("unknown argument `extra`: this tool takes none"));
        }
        assert_eq!(client.call("here", json!({})).await.unwrap().first_text(), Some("here"));
        let version = client.protocol_version().to_string();
        assert_eq!(client.call("closure", json!({})).await.unwrap().first_text(), Some(&*version));
    })
    .await;
}

mod elsewhere {
    use toolway::prelude::*;

    /// Of another module.
    #[tool]
    pub(super) fn there() -> &'static str {
        "there"
    }

    /// A function that is not marked.
    pub(super) async fn plain() -> String {
        "plain".to_owned()
    }

    /// A nested module.
    pub(super) mod inside {
        use toolway::prelude::*;

        /// The same name as one outside.
        #[tool]
        pub(in super::super) fn here() -> &'static str {
            "inside"
        }
    }
}

#[tokio::test]
async fn a_handler_may_live_in_any_module() {
    let server = Server::new("modules", "1.0.0")
        .tools(tools![here, elsewhere::there, elsewhere::inside::here as "inside"])
        .tool(ToolEntry::from_fn("plain", elsewhere::plain))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for name in ["here", "there", "inside", "plain"] {
            assert_eq!(client.call(name, json!({})).await.unwrap().first_text(), Some(name));
        }
    })
    .await;
    assert_eq!(elsewhere::there(), "there", "it is still a function");
    let error = Server::new("clash", "1").tools(tools![here, elsewhere::inside::here]).build().unwrap_err();
    assert!(error.to_string().contains("two tools have the name `here`"), "{error}");
}
