//! Tools: how are they defined, what do they say about themselves, and what do they take and return?
//!
//! | file | question |
//! |---|---|
//! | `listing.rs` | Are tools listed and called correctly? |
//! | `definition.rs` | In which ways can a tool be defined, and under which name? |
//! | `description.rs` | What does a tool say about itself? |
//! | `input_schema.rs` | Which schema do arguments have, and are they checked? |
//! | `arguments.rs` | As which types are arguments read? |
//! | `contents.rs` | Which contents does a return value become? |
//! | `output_schema.rs` | Which schema does a result have, and does the result match it? |
//! | `errors.rs` | What does the caller learn if a tool fails? |

mod arguments;
mod contents;
mod definition;
mod description;
mod errors;
mod input_schema;
mod listing;
mod output_schema;

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{ServerBuilder, ToolEntry};
use toolway::types::CallToolResult;

fn serve(tools: Vec<ToolEntry>) -> Server {
    Server::new("tools", "1.0.0").tools(tools).build().unwrap()
}

async fn texts(client: &Client, tool: &str) -> Vec<String> {
    let result = call(client, tool).await;
    assert!(!result.is_error(), "{result:?}");
    result.content.iter().map(|block| block.as_text().unwrap().to_owned()).collect()
}

async fn call(client: &Client, tool: &str) -> CallToolResult {
    client.call(tool, json!({})).await.unwrap().into_inner()
}

fn new() -> ServerBuilder {
    Server::new("tools", "1.0.0")
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}
