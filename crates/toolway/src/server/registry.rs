//! Which tools are there? An immutable snapshot: found by name, listed as bytes that are already written.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_protocol::types::{Listing, Tool};

use super::tool::ToolEntry;

/// The tools of a server.
#[derive(Debug)]
pub(super) struct Registry {
    tools: HashMap<String, ToolEntry>,
    page: Arc<Listing<Tool>>,
}

impl Registry {
    pub(super) fn new(entries: Vec<ToolEntry>, mistakes: &mut Vec<String>) -> Self {
        let page =
            Arc::new(Listing::new(entries.iter().map(|entry| entry.definition().clone()).collect(), None));
        let mut tools = HashMap::with_capacity(entries.len());
        for entry in entries {
            let name = entry.definition().name.clone();
            if tools.insert(name.clone(), entry).is_some() {
                mistakes.push(format!("two tools have the name `{name}`"));
            }
        }
        Self { tools, page }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub(super) fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.page.items().iter().map(|tool| tool.name.as_str())
    }

    pub(super) fn page(&self) -> Arc<Listing<Tool>> {
        self.page.clone()
    }
}
