//! The server that all measurements use, written as an ordinary user would write it.

use schemars::JsonSchema;
use serde::Serialize;
use toolway::BoxFuture;
use toolway::prelude::*;
use toolway::server::element::ToolHandler;
use toolway::server::parameter::{Arguments, Scope};
use toolway::server::{ServerBuilder, ToolEntry};
use toolway::types::{CallToolResult, Tool};

/// The result of `add`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sum {
    sum: i64,
}

/// Echo the text
#[tool]
async fn echo(text: String) -> String {
    text
}

/// Add two integers
#[tool]
async fn add(a: i64, b: i64) -> Json<Sum> {
    Json(Sum { sum: a + b })
}

/// Return that many bytes of text
#[tool]
async fn blob(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Three arguments that their types alone check
#[tool]
async fn typed(name: String, age: u32, score: f64) -> String {
    format!("{name} {age} {score}")
}

/// The same three arguments, with rules
#[tool]
async fn ruled(
    #[arg(min_length = 1, max_length = 80)] name: String,
    #[arg(minimum = 18, maximum = 120)] age: u32,
    #[arg(minimum = 0)] score: f64,
) -> String {
    format!("{name} {age} {score}")
}

/// A server with two tools that differ only in their rules.
pub fn profiles() -> toolway::Result<Server> {
    Server::new("bench", "0.0.0").tools(tools![typed, ruled]).build()
}

/// A tool that only makes the list longer.
struct Filler(usize);

impl ToolHandler for Filler {
    fn definition(&self) -> Tool {
        let schema = ToolEntry::of::<echo>().definition().input_schema.clone();
        Tool::new(format!("filler_{}", self.0), schema).with_description("Echo the text")
    }

    fn call(&self, _: Arguments, _: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        Box::pin(async { Ok(CallToolResult::default()) })
    }
}

/// A server with `tools` tools, of which only the first three do something.
pub fn server(tools: usize) -> ServerBuilder {
    let fillers = (3..tools).map(|number| ToolEntry::new(Filler(number)));
    Server::new("bench", "0.0.0").tools(tools![echo, add, blob]).tools(fillers)
}
