//! How is the tool list fetched, and when is it fetched again?

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;
use toolway_protocol::http::param::ParamHeaders;
use toolway_protocol::types::Tool;

use crate::client::calls::pages::Pages;
use crate::client::connect::shared::Shared;
use crate::client::connect::tool_cache::{Facts, Listed, Tools};
use crate::ground::error::Result;

impl Shared {
    /// Returns the tools of the server. Fetches the tool list if the cached list may be out of date.
    pub(crate) async fn tools(self: &Arc<Self>) -> Result<Tools> {
        if let Some(tools) = self.tools.fresh(self.notifications.tools_changes()) {
            return Ok(tools);
        }
        let _turn = self.tools.turn.lock().await;
        let changes = self.notifications.tools_changes();
        if let Some(tools) = self.tools.fresh(changes) {
            return Ok(tools);
        }
        let mut pages = Pages::of_tools(self.clone());
        let mut tools = Vec::new();
        let asked = Instant::now();
        while let Some(page) = pages.next_page().await {
            tools.extend(page?);
        }
        let connection = self.current();
        let mut facts = HashMap::new();
        tools.retain(|tool| match ParamHeaders::of_schema(&tool.input_schema) {
            Ok(headers) => {
                facts.insert(tool.name.clone(), Facts { headers, safe: is_safe(tool) });
                true
            }
            Err(_) if !connection.mirrors_arguments() => true,
            Err(error) => {
                tracing::warn!(
                    tool = tool.name,
                    %error,
                    "a tool is left out: `x-mcp-header` in its input schema is invalid"
                );
                false
            }
        });
        let tools = Tools(tools.into());
        // In the handshake era lists do not expire: a list is valid until the server reports a change.
        let until = connection.era.lists_expire().then(|| asked + pages.keep.unwrap_or_default());
        self.tools.put(Listed { tools: tools.clone(), facts, changes, until });
        Ok(tools)
    }
}

fn is_safe(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|hints| hints.is_read_only() || hints.is_idempotent())
}
