//! What is a tool to the server? A definition to list and a handler to call.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, Tool};

use super::context::Scope;
use super::state::States;
use super::tool_error::{ToolError, hide};
use crate::panic::catch;

/// A running call.
pub type CallFuture = Pin<Box<dyn Future<Output = Result<CallToolResult, ToolError>> + Send>>;

/// Something that can be listed and called as a tool. `#[tool]` writes this for a function.
pub trait ToolHandler: Send + Sync + 'static {
    /// Name, description and schemas. Asked once, when the tool is registered.
    fn definition(&self) -> Tool;

    /// Runs the tool. `arguments` is the object that the caller sent, as text.
    fn call(&self, arguments: Option<RawJson>, scope: Scope) -> CallFuture;

    /// What is missing for this tool to work, in sentences for its author. Asked when the server is built.
    fn check(&self, states: &States) -> Vec<String> {
        let _ = states;
        Vec::new()
    }
}

/// A tool that a server has.
#[derive(Clone)]
pub struct ToolEntry {
    definition: Arc<Tool>,
    handler: Arc<dyn ToolHandler>,
}

impl ToolEntry {
    /// Makes a handler an entry.
    pub fn new(handler: impl ToolHandler) -> Self {
        Self { definition: Arc::new(handler.definition()), handler: Arc::new(handler) }
    }

    /// What the tool list says about it.
    pub fn definition(&self) -> &Tool {
        &self.definition
    }

    pub(super) fn check(&self, states: &States, mistakes: &mut Vec<String>) {
        let name = &self.definition.name;
        if name.is_empty() {
            mistakes.push("a tool has no name".to_owned());
        }
        if !self.definition.input_schema.is_object() {
            mistakes.push(format!("tool `{name}`: the input schema must be an object"));
        }
        mistakes.extend(
            self.handler.check(states).into_iter().map(|mistake| format!("tool `{name}`: {mistake}")),
        );
    }

    /// Calls the tool. Whatever happens inside, the caller gets a result.
    pub(super) async fn call(&self, arguments: Option<RawJson>, scope: Scope) -> CallToolResult {
        match catch(self.handler.call(arguments, scope)).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => error.into_result(&self.definition.name),
            Err(panic) => hide(&self.definition.name, &panic),
        }
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEntry").field("definition", &self.definition).finish_non_exhaustive()
    }
}
