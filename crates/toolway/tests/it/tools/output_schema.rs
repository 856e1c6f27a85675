//! Which schema does the result of a tool have, and does the result match it?

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::testing::each_wire;
use toolway::types::{CallToolResult, Content, Tool};
use toolway::{ProtocolVersion, RawJson};

use super::{new, text};

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[derive(Serialize, JsonSchema)]
struct SumResult {
    sum: f64,
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
async fn an_output_schema_is_that_of_an_object_unless_it_says_otherwise() {
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
async fn a_handler_can_check_its_result_against_the_schema() {
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
async fn structured_content_comes_with_a_copy_as_text() {
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
