//! How is a tool of an agent served? The server lists its schema, and passes calls to the tool unchanged.

use std::sync::Arc;

use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, Tool};

use crate::agent::{AgentTool, FailureKind};
use crate::server::call::scope::Scope;
use crate::server::catalog::tool::{CallFuture, ToolEntry, ToolHandler};
use crate::server::handler::arguments::Arguments;

/// Serves any tool that a model can call: functions of this program, tools of other servers, or both in one list.
///
/// The arguments are not checked against the schema here; the tool checks them itself.
///
/// ```
/// use serde_json::json;
/// use toolway::agent::{self, ToolSet};
/// use toolway::prelude::*;
/// use toolway::RawJson;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
/// let shout = agent::native_tool("shout", "Say it louder.", schema, |arguments: serde_json::Value| async move {
///     arguments["text"].as_str().unwrap_or_default().to_uppercase()
/// });
/// let server = Server::new("voices", "1.0.0").tools(ToolSet::new().with(shout)).build()?;
/// let client = Client::connect(&server).await?;
/// assert_eq!(client.call("shout", json!({"text": "hello"})).await?.text()?, "HELLO");
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
impl From<Arc<dyn AgentTool>> for ToolEntry {
    fn from(tool: Arc<dyn AgentTool>) -> Self {
        Self::foreign(AgentToolHandler(tool))
    }
}

struct AgentToolHandler(Arc<dyn AgentTool>);

impl ToolHandler for AgentToolHandler {
    fn definition(&self) -> Tool {
        let mut tool = Tool::new(self.0.name(), self.0.input_schema().clone());
        tool.description = Some(self.0.description()).filter(|words| !words.is_empty()).map(str::to_owned);
        tool.title = self.0.title().map(str::to_owned);
        tool.annotations = self.0.annotations().cloned();
        tool.output_schema = self.0.output_schema().cloned();
        tool
    }

    fn call(&self, arguments: Arguments, _scope: Scope) -> CallFuture {
        let arguments = arguments.json().cloned();
        let tool = self.0.clone();
        Box::pin(async move {
            let arguments = arguments.unwrap_or_else(|| RawJson::from(serde_json::json!({})));
            Ok(match tool.call(arguments).await {
                Ok(output) => output.into_result(),
                // If the tool itself failed, the model reads the tool's result. For other failures, it reads only the
                // text that is written for models.
                Err(failure) => match failure.result() {
                    Some(result) if failure.kind() == FailureKind::Failed => {
                        result.clone().with_is_error(true)
                    }
                    _ => CallToolResult::error(failure.for_model()),
                },
            })
        })
    }
}
