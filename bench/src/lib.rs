//! The server that all measurements use, written as an ordinary user would write it.

use schemars::JsonSchema;
use serde::Serialize;
use toolway::RawJson;
use toolway::prelude::*;
use toolway::server::{CallFuture, Scope, ToolEntry, ToolHandler};
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

/// One more tool in the list.
struct Filler(usize);

impl ToolHandler for Filler {
    fn definition(&self) -> Tool {
        let schema = ToolEntry::new(echo::default()).definition().input_schema.clone();
        Tool::new(format!("filler_{}", self.0), schema).with_description("Echo the text")
    }

    fn call(&self, _: Option<RawJson>, _: Scope) -> CallFuture {
        Box::pin(async { Ok(CallToolResult::default()) })
    }
}

/// A server with `tools` tools, of which three do something.
pub fn server(tools: usize) -> toolway::Result<Server> {
    let fillers = (3..tools).map(|number| ToolEntry::new(Filler(number)));
    Server::new("bench", "0.0.0").tools(tools![echo, add, blob]).tools(fillers).build()
}
