//! Which tools does the suite call?

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use toolway::prelude::*;
use toolway::server::{Audio, Embedded, Image, PromptEntry, Text, ToolEntry};
use toolway::types::Tool;

use super::DOT;

/// Every tool. The suite calls the first one without arguments when it tests the headers.
pub(super) fn all() -> Vec<ToolEntry> {
    let mut all = tools![
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_logging,
        test_tool_with_progress,
        test_logging_tool,
        test_reconnection,
        test_trigger_tool_change,
        test_trigger_prompt_change,
        test_x_mcp_header,
    ];
    all.push(json_schema_2020_12_tool());
    all
}

/// Returns a simple text.
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns a picture.
#[tool]
fn test_image_content() -> Image {
    Image::png(DOT)
}

/// Returns a sound.
#[tool]
fn test_audio_content() -> Audio {
    Audio::wav(SILENCE)
}

/// Returns a resource, contents and all.
#[tool]
fn test_embedded_resource() -> Embedded {
    Embedded::text("test://embedded-resource", "This is an embedded resource content.")
        .with_mime_type("text/plain")
}

/// Returns a text, a picture and a resource.
#[tool]
fn test_multiple_content_types() -> (Text, Image, Embedded) {
    let data = json!({"test": "data", "value": 123}).to_string();
    (
        Text::new("Multiple content types test:"),
        Image::png(DOT),
        Embedded::text("test://mixed-content-resource", data).with_mime_type("application/json"),
    )
}

/// Always fails.
#[tool]
fn test_error_handling() -> Result<String, ToolError> {
    Err(ToolError::new("This tool intentionally returns an error for testing"))
}

/// Logs while it runs.
#[tool]
async fn test_tool_with_logging(ctx: Ctx) -> &'static str {
    ctx.log().info("Tool execution started", Value::Null).await;
    sleep(STEP).await;
    ctx.log().info("Tool processing data", Value::Null).await;
    sleep(STEP).await;
    ctx.log().info("Tool execution completed", Value::Null).await;
    "Tool with logging executed successfully"
}

/// Tells how far it is.
#[tool]
async fn test_tool_with_progress(ctx: Ctx) -> &'static str {
    ctx.progress(0, 100, "Completed step 0 of 100").await;
    sleep(STEP).await;
    ctx.progress(50, 100, "Completed step 50 of 100").await;
    sleep(STEP).await;
    ctx.progress(100, 100, "Completed step 100 of 100").await;
    "Tool with progress executed successfully"
}

/// Lets its connection go; the client comes back for the result.
#[tool]
async fn test_reconnection(ctx: Ctx) -> &'static str {
    ctx.release_stream(STEP).await;
    sleep(STEP * 4).await;
    "Reconnection test completed successfully"
}

/// Logs once, also for a caller that has not asked for it and must not hear it.
#[tool]
async fn test_logging_tool(ctx: Ctx) -> &'static str {
    ctx.log().info("Tool was called", Value::Null).await;
    "Tool with a log message executed successfully"
}

/// A tool with the suite's own schema, copied exactly, because a Rust type cannot express it.
fn json_schema_2020_12_tool() -> ToolEntry {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    });
    let definition = Tool::new("json_schema_2020_12_tool", schema)
        .with_description("Takes what only the whole of JSON Schema can describe.");
    ToolEntry::define(definition, |arguments: Value| async move { format!("These fit: {arguments}") })
}

/// The time between two messages of a tool.
const STEP: Duration = Duration::from_millis(50);

/// A WAV file without samples.
const SILENCE: &[u8] = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00";

/// Changes the list of tools: adds one, or removes it again.
#[tool]
fn test_trigger_tool_change(ctx: Ctx) -> Result<&'static str, ToolError> {
    let server = ctx.server();
    if !server.remove_tool("test_changing_tool") {
        let tool = ToolEntry::from_fn("test_changing_tool", || async { "still here" });
        server.add_tool(tool.with_description("Comes and goes."))?;
    }
    Ok("the list of tools has changed")
}

/// Changes the list of prompts: adds one, or removes it again.
#[tool]
fn test_trigger_prompt_change(ctx: Ctx) -> Result<&'static str, ToolError> {
    let server = ctx.server();
    if !server.remove_prompt("test_changing_prompt") {
        let definition =
            toolway::types::Prompt::new("test_changing_prompt").with_description("Comes and goes.");
        server.add_prompt(PromptEntry::define(definition, || async { "still here" }))?;
    }
    Ok("the list of prompts has changed")
}

/// Runs a query in a region, which travels in a header too.
#[tool]
fn test_x_mcp_header(
    /// Where to run it.
    #[arg(header = "Region")]
    region: Option<String>,
    /// What to run.
    query: Option<String>,
) -> String {
    format!("{} in {}", query.unwrap_or_default(), region.unwrap_or_default())
}
