//! Which arguments of a tool call are sent in headers too? Those that the tool's schema marks. A relay reads it from the
//! lists of tools that it passes on.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use toolway_protocol::RawJson;
use toolway_protocol::http::param::ParamHeaders;

use crate::ground::mutex::Mutex;

/// The maximum number of tools with marked arguments that are remembered.
const MAX_TOOLS: usize = 10_000;

/// The keyword that marks an argument.
const MARK: &str = "x-mcp-header";

/// The tools with marked arguments.
#[derive(Default)]
pub(super) struct ArgumentHeaders(Mutex<HashMap<String, ParamHeaders>>);

#[derive(Deserialize)]
struct ToolPage {
    #[serde(default)]
    tools: Vec<ListedTool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool {
    name: String,
    input_schema: Value,
}

impl ArgumentHeaders {
    /// Takes note of a page of tools.
    pub(super) fn note_tools(&self, result: &RawJson) {
        // Almost no server has marks.
        if !result.as_str().contains(MARK) && self.0.lock().is_empty() {
            return;
        }
        let Ok(ToolPage { tools }) = result.decode() else { return };
        let mut known = self.0.lock();
        for tool in tools {
            match ParamHeaders::from_schema(&RawJson::from(tool.input_schema)) {
                Ok(headers) if !headers.is_empty() && known.len() < MAX_TOOLS => {
                    known.insert(tool.name, headers);
                }
                // Without a valid mark, there is nothing to repeat.
                _ => drop(known.remove(&tool.name)),
            }
        }
    }

    /// Returns the headers of a call.
    pub(super) fn of_call(&self, tool: &str, arguments: &RawJson) -> Vec<(String, String)> {
        let known = self.0.lock();
        let Some(headers) = known.get(tool) else { return Vec::new() };
        let Ok(arguments) = arguments.decode::<Value>() else { return Vec::new() };
        headers.values(&arguments).map(|(name, value)| (name, value.into_owned())).collect()
    }
}

/// Returns the cursor of the page after this one.
pub(super) fn next_page(result: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        next_cursor: Option<String>,
    }
    result.decode::<Page>().ok()?.next_cursor
}
