//! Tools for a model: how are tools of servers and of the application offered to it, and how do calls end?

use std::error::Error as _;
use std::sync::Arc;

use serde_json::{Value, json};
use toolway::BoxFuture;
use toolway::agent::{
    self, AgentTool, FailureKind, Provider, ToolCall, ToolFailure, ToolOutput, ToolSet, schema,
};
use toolway::prelude::*;
use toolway::testing::connect;
use toolway::types::Tool;
use toolway::{Code, RawJson};

/// A tool of a server.
struct Remote {
    client: Client,
    tool: Tool,
}

impl AgentTool for Remote {
    fn name(&self) -> &str {
        &self.tool.name
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn input_schema(&self) -> &RawJson {
        &self.tool.input_schema
    }

    fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let result = self.client.call(self.name(), arguments).await;
            ToolOutput::try_from(result.map_err(ToolFailure::from)?.into_inner())
        })
    }
}

/// Divide two numbers.
#[tool]
fn divide(a: f64, b: f64) -> Result<f64, ToolError> {
    if b == 0.0 { Err(ToolError::new("division by zero: choose another `b`")) } else { Ok(a / b) }
}

async fn remote_tools() -> (Client, Vec<Remote>) {
    let server = Server::new("calculator", "1.0.0").tools(tools![divide]).build().unwrap();
    let client = connect(&server).await;
    let tools = client.tools().await.unwrap();
    let remote = tools.into_iter().map(|tool| Remote { client: client.clone(), tool }).collect();
    (client, remote)
}

fn native() -> impl AgentTool {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    agent::native_tool("shout", "Say it louder.", schema, async |arguments: Value| {
        let Some(text) = arguments["text"].as_str() else { return Err("there is no text") };
        Ok(text.to_uppercase())
    })
}

#[tokio::test]
async fn a_tool_for_a_model_has_a_name_and_a_description() {
    let (_, remote) = remote_tools().await;
    let tools = [Arc::new(native()) as Arc<dyn AgentTool>, Arc::new(remote.into_iter().next().unwrap())];
    let said: Vec<_> = tools.iter().map(|tool| (tool.name(), tool.description())).collect();
    assert_eq!(said, [("shout", "Say it louder."), ("divide", "Divide two numbers.")]);
}

#[tokio::test]
async fn a_list_is_written_in_the_function_shape_of_openai() {
    let (_, remote) = remote_tools().await;
    let tools: ToolSet = remote.into_iter().collect();
    let rendered = tools.for_openai();
    assert!(rendered.losses.is_empty(), "{:?}", rendered.losses);
    let properties = json!({"a": {"type": "number"}, "b": {"type": "number"}});
    let parameters = json!({
        "type": "object", "properties": properties, "required": ["a", "b"], "additionalProperties": false,
    });
    let function = json!({"name": "divide", "description": "Divide two numbers.", "parameters": parameters});
    assert_eq!(json!(rendered), json!([{"type": "function", "function": function}]));
}

#[tokio::test]
async fn a_call_ends_in_a_success_or_a_failure_and_never_otherwise() {
    let (client, remote) = remote_tools().await;
    let tools: ToolSet = remote.into_iter().collect();
    let calls = [
        ToolCall::new("1", "divide", json!({"a": 6, "b": 3})),
        ToolCall::new("2", "divide", json!({"a": 6, "b": 0})),
        ToolCall::new("3", "divide", json!({"a": 6})),
        ToolCall::new("4", "devide", json!({})),
        ToolCall::new("5", "divide", json!([6, 3])),
    ];
    let answers = tools.call_all(calls).await;
    let ids: Vec<_> = answers.iter().map(|answer| &*answer.id).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    assert_eq!(answers[0].result.as_ref().unwrap().text(), "2");
    let failures: Vec<_> = answers[1..].iter().map(|answer| answer.result.as_ref().unwrap_err()).collect();
    let kinds: Vec<_> = failures.iter().map(|failure| failure.kind()).collect();
    assert_eq!(kinds, [FailureKind::Failed, FailureKind::Failed, FailureKind::Unknown, FailureKind::Invalid]);
    assert_eq!(failures[0].for_model(), "division by zero: choose another `b`");
    assert!(failures[1].for_model().contains('b'), "{}", failures[1]);
    assert_eq!(failures[2].for_model(), "no such tool: `devide`, did you mean `divide`?");
    assert_eq!(failures[3].for_model(), "the arguments must be a JSON object, not an array");

    // A server that no longer has the tool, and one that is gone.
    let definition = Tool::new("sqrt", json!({"type": "object"}));
    let gone = Remote { client: client.clone(), tool: definition };
    let refused = gone.call(json!({}).into()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (FailureKind::Refused, Some(Code::INVALID_PARAMS)));
    client.close().await.unwrap();
    let answer = tools.call(ToolCall::new("6", "divide", json!({"a": 6, "b": 3}))).await;
    let unavailable = answer.result.unwrap_err();
    assert_eq!(unavailable.kind(), FailureKind::Unavailable);
    assert_eq!(
        unavailable.for_model(),
        "the tool `divide` is unavailable right now; go on without it or try again later"
    );
    assert!(unavailable.source().is_some(), "the program can know why");
}

#[tokio::test]
async fn native_and_remote_tools_stand_in_one_list() {
    let (_, remote) = remote_tools().await;
    let mut list: Vec<Box<dyn AgentTool>> = vec![Box::new(native())];
    list.extend(remote.into_iter().map(|tool| Box::new(tool) as Box<dyn AgentTool>));
    let tools: ToolSet = list.into_iter().collect();
    let message = json!({"content": [
        {"type": "tool_use", "id": "a", "name": "divide", "input": {"a": 1, "b": 4}},
        {"type": "tool_use", "id": "b", "name": "shout", "input": {"text": "hello"}},
    ]});
    let answers = tools.call_all(ToolCall::from_anthropic(&message)).await;
    let blocks: Vec<_> = answers.iter().map(agent::ToolAnswer::to_anthropic).collect();
    let block = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]});
    assert_eq!(blocks, [block("a", "0.25"), block("b", "HELLO")]);
}

#[test]
fn words_about_the_schema_itself_are_left_out_for_openai() {
    let original = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/tool",
        "type": "object",
        "properties": {"a": {"$id": "#a", "$comment": "internal", "type": "string"}},
    });
    assert_eq!(
        toolway_schema::dialects::check(Provider::OpenAi, &original).len(),
        3,
        "they are against the rules"
    );
    let converted = schema::convert(Provider::OpenAi, &original);
    assert_eq!(converted.schema, Some(json!({"type": "object", "properties": {"a": {"type": "string"}}})));
    assert!(converted.losses.is_empty(), "nothing that matters is lost");
}

#[test]
fn schemas_become_those_that_each_provider_takes() {
    let original = json!({
        "type": "object",
        "properties": {
            "where": {"$ref": "#/$defs/Place"},
            "when": {"type": ["string", "null"], "format": "date"},
            "tags": {"type": "array"},
            "filter[name]": {"oneOf": [{"const": "a"}, {"const": "b"}]},
        },
        "required": ["where"],
        "anyOf": [{"required": ["when"]}, {"required": ["tags"]}],
        "$defs": {"Place": {"type": "object", "properties": {"lat": {"type": "number", "exclusiveMinimum": -90}}}},
    });
    for provider in Provider::ALL {
        assert!(
            !toolway_schema::dialects::check(provider, &original).is_empty(),
            "{provider:?} does not take it"
        );
        let converted = schema::convert(provider, &original);
        let rules = if converted.is_strict { Provider::OpenAiStrict } else { provider };
        let rules =
            if rules == Provider::OpenAiStrict && !converted.is_strict { Provider::OpenAi } else { rules };
        let violations = toolway_schema::dialects::check(rules, converted.schema.as_ref().unwrap());
        assert!(violations.is_empty(), "{provider:?}: {violations:?}");
        let told = converted.losses.iter().any(|loss| loss.what == "anyOf");
        assert!(told, "{provider:?}: that one of two is needed is lost: {:?}", converted.losses);
    }
}
