//! Which JSON values can be a prompt? `{"user": …}`, `{"role": …, "content": …}`, lists of those, and
//! `{"description": …, "messages": …}`.

use serde_json::{Map, Value};
use toolway_protocol::RawJson;
use toolway_protocol::types::{Content, GetPromptResult, Role};

use super::prompt::{IntoPrompt, Message, PromptMessages, parse_role};
use crate::server::failure::errors::PromptError;

impl IntoPrompt for Value {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        match self {
            Self::Object(mut members) if members.contains_key("messages") => {
                let description = members.get("description").and_then(Self::as_str).map(str::to_owned);
                let messages = messages(members.remove("messages").unwrap_or_default())?;
                PromptMessages { description, messages }.into_prompt()
            }
            other => messages(other)?.into_prompt(),
        }
    }
}

fn messages(value: Value) -> Result<Vec<Message>, PromptError> {
    match value {
        Value::Array(items) => {
            let mut all = Vec::new();
            for item in items {
                all.extend(messages(item)?);
            }
            Ok(all)
        }
        Value::Object(mut members) if members.contains_key("role") => {
            let content = members.remove("content").unwrap_or_default();
            let name = members.get("role").and_then(Value::as_str).unwrap_or_default();
            Ok(vec![Message::new(parse_role(name)?, blocks(content)?)])
        }
        Value::Object(members) => by_role(members),
        Value::String(text) => Ok(vec![Message::new(Role::User, text)]),
        _ => Err(malformed()),
    }
}

/// Reads `{"user": …, "assistant": …}`. The members of a JSON object have no order, so the user's message always goes
/// first.
fn by_role(mut members: Map<String, Value>) -> Result<Vec<Message>, PromptError> {
    let mut all = Vec::new();
    for name in ["user", "assistant"] {
        if let Some(content) = members.remove(name) {
            all.push(Message::new(parse_role(name)?, blocks(content)?));
        }
    }
    match members.into_iter().next() {
        Some((name, _)) => Err(parse_role(&name).err().unwrap_or_else(malformed)),
        None => Ok(all),
    }
}

fn blocks(content: Value) -> Result<Vec<Content>, PromptError> {
    match content {
        Value::String(text) => Ok(vec![Content::text(text)]),
        Value::Array(items) => {
            let mut all = Vec::new();
            for item in items {
                all.extend(blocks(item)?);
            }
            Ok(all)
        }
        block @ Value::Object(_) => {
            RawJson::from(block).decode().map(|block| vec![block]).map_err(|_| malformed())
        }
        _ => Err(malformed()),
    }
}

fn malformed() -> PromptError {
    PromptError::new("the prompt returned a value that is not a list of messages")
}
