//! The server of this checkout, written as an ordinary user would write it: `--stdio`, or `--http PORT`; `--tools N`.

use schemars::JsonSchema;
use serde::Serialize;
use toolway::BoxFuture;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::server::element::ToolHandler;
use toolway::server::parameter::{Arguments, Scope};
use toolway::types::{CallToolResult, Tool};

#[derive(Serialize, JsonSchema)]
struct Sum {
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

/// A text of 1 KiB
#[resource("bench://static")]
async fn text() -> String {
    "s".repeat(1024)
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

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let value = |flag: &str| {
        let at = args.iter().position(|word| word == flag)?;
        args.get(at + 1)?.parse().ok()
    };
    let count: usize = value("--tools").unwrap_or(3);
    // The first tool alone, or the tools that all peers have and as many more as are asked for.
    let server = match count {
        1 => Server::new("bench", "0.0.0").tools(tools![echo]),
        _ => Server::new("bench", "0.0.0").tools(tools![echo, add, blob]),
    };
    let fillers = (3..count).map(|number| ToolEntry::new(Filler(number)));
    let server = server.tools(fillers).resources(resources![text]).build()?;
    match value("--http") {
        Some(port) => {
            let listener =
                tokio::net::TcpListener::bind(("127.0.0.1", port as u16)).await.expect("a free port");
            // The whole load comes from one address, so the limit for an address equals the total.
            server.http().max_sessions(20_000, 20_000).max_streams(20_000, 20_000).serve(listener).await
        }
        None => server.serve_stdio().await,
    }
}
