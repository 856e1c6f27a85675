//! How is the tool list fetched, and when is it fetched again?

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;
use toolway_protocol::http::param::ParamHeaders;
use toolway_protocol::types::Tool;

use crate::client::calls::pages::Pages;
use crate::client::connect::shared::ClientState;
use crate::client::connect::tool_cache::{CachedTools, ListedTools, ToolFacts, Tools};
use crate::ground::error::Result;

impl ClientState {
    /// Returns the tools of the server. Fetches the tool list if the cached list may be out of date.
    pub(crate) async fn tools(self: &Arc<Self>) -> Result<Tools> {
        let ListedTools { tools, exceeded } = self.listed_tools().await?;
        exceeded.map_or(Ok(tools), |limit| Err(limit.error("tools")))
    }

    /// Returns the tools of the server, or as many as the client's limit allows. Fetches the tool list if the cached
    /// list may be out of date.
    pub(crate) async fn listed_tools(self: &Arc<Self>) -> Result<ListedTools> {
        if let Some(tools) = self.tools.fresh(self.notifications.tools_version()) {
            return Ok(tools);
        }
        let _turn = self.tools.fetch_lock.lock().await;
        let changes = self.notifications.tools_version();
        if let Some(tools) = self.tools.fresh(changes) {
            return Ok(tools);
        }
        let mut pages = Pages::of_tools(self.clone());
        let mut tools = Vec::new();
        let asked = Instant::now();
        while let Some(page) = pages.next_page().await {
            match page {
                Ok(page) => tools.extend(page),
                Err(_) if pages.exceeded().is_some() => break,
                Err(error) => return Err(error),
            }
        }
        let connection = self.current();
        let mut facts = HashMap::new();
        tools.retain(|tool| match ParamHeaders::from_schema(&tool.input_schema) {
            Ok(headers) => {
                facts.insert(
                    tool.name.clone(),
                    ToolFacts { headers, is_safe_to_repeat: is_safe_to_repeat(tool) },
                );
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
        let listed = ListedTools { tools: Tools(tools.into()), exceeded: pages.exceeded() };
        // In the handshake era lists do not expire: a list is valid until the server reports a change.
        let until = connection.era.lists_expire().then(|| asked + pages.ttl.unwrap_or_default());
        self.tools.put(CachedTools {
            listed: listed.clone(),
            facts,
            tools_version: changes,
            expires_at: until,
        });
        Ok(listed)
    }
}

fn is_safe_to_repeat(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|hints| hints.is_read_only() || hints.is_idempotent())
}
