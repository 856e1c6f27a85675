//! Prompts: how are they defined, what do they say about themselves, and which messages do they become?
//!
//! | file | question |
//! |---|---|
//! | `definition.rs` | In which ways can a prompt be defined? |
//! | `description.rs` | What does a prompt say about itself and its arguments? |
//! | `messages.rs` | Which messages does a return value become? |
//! | `errors.rs` | What does the caller learn if a prompt fails? |

mod definition;
mod description;
mod errors;
mod messages;

use serde_json::Value;
use toolway::prelude::*;
use toolway::server::PromptEntry;
use toolway::types::GetPromptResult;
use toolway::{RpcError, types};

fn serving(prompts: Vec<PromptEntry>) -> Server {
    Server::new("prompts", "1.0.0").prompts(prompts).build().unwrap()
}

/// A prompt that returns JSON.
fn dynamic(name: &str, value: Value) -> PromptEntry {
    PromptEntry::define(types::Prompt::new(name), move || {
        let value = value.clone();
        async move { value }
    })
}

const NOTHING: [(&str, &str); 0] = [];

async fn get(client: &Client, name: &str) -> GetPromptResult {
    client.get_prompt(name, NOTHING).await.unwrap()
}

async fn refused(client: &Client, name: &str, arguments: &[(&str, &str)]) -> RpcError {
    client.get_prompt(name, arguments).await.unwrap_err().rpc().unwrap().clone()
}

/// Returns the text of each message, with its role.
fn said(result: &GetPromptResult) -> Vec<(&str, &str)> {
    let messages = result.messages.iter();
    messages.map(|message| (message.role.as_str(), message.content.as_text().unwrap())).collect()
}
