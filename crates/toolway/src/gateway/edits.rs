//! What does the author of a gateway change about the mounted elements?
//!
//! All edits apply to the listed definitions, and refer to tools by their names before renaming. A call always reaches
//! the original tool, whatever name the edits give it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolway_protocol::types::{Prompt, Tool};

use crate::ground::panic::{Panic, catch_panic};
use crate::server::name_mistake;

type RenameFn = Arc<dyn Fn(&str) -> String + Send + Sync>;
type ElementFilter<T> = Arc<dyn Fn(&T) -> bool + Send + Sync>;
type ResourceFilter = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// Changes to the mounted elements.
#[derive(Default)]
pub(super) struct Edits {
    /// The prefix of the names of tools and prompts, followed by `__`.
    pub(super) prefix: Option<String>,
    pub(super) renames: Vec<(String, String)>,
    rename: Option<RenameFn>,
    pub(super) descriptions: Vec<(String, String)>,
    pub(super) tool_filters: Vec<ElementFilter<Tool>>,
    pub(super) prompt_filters: Vec<ElementFilter<Prompt>>,
    pub(super) resource_filters: Vec<ResourceFilter>,
}

impl Edits {
    /// Adds a renaming function. Several functions apply one after the other.
    pub(super) fn rename_with(&mut self, name: RenameFn) {
        self.rename = Some(match self.rename.take() {
            None => name,
            Some(first) => Arc::new(move |tool| name(&first(tool))),
        });
    }

    /// Returns the mistakes, as sentences for the author.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let mut found = Vec::new();
        let (mut names, mut tools) = (BTreeMap::new(), BTreeSet::new());
        for (tool, name) in &self.renames {
            let mut complain = |why: &str| found.push(format!("`rename({tool:?}, {name:?})`: {why}"));
            if let Some(why) = name_mistake(name) {
                complain(&why);
            }
            if !tools.insert(tool) {
                complain("this tool is renamed twice");
            }
            if let Some(other) = names.insert(name, tool) {
                complain(&format!("the tool `{other}` is given the same name"));
            }
        }
        found
    }

    /// Edits the definition of a tool. Returns `None` if the tool is not offered.
    pub(super) fn edit_tool(&self, mut tool: Tool) -> Option<Tool> {
        self.add_prefix(&mut tool.name);
        if !self.tool_filters.iter().all(|is_offered| passes_filter(|| is_offered(&tool))) {
            return None;
        }
        if let Some((_, description)) = self.descriptions.iter().rev().find(|(name, _)| *name == tool.name) {
            tool.description = Some(description.clone());
        }
        if let Some((_, name)) = self.renames.iter().find(|(name, _)| *name == tool.name) {
            tool.name.clone_from(name);
        } else if let Some(rename) = &self.rename {
            let name = catch_panic(|| rename(&tool.name)).map_err(|panic| log_panic(&panic)).ok()?;
            if let Some(why) = name_mistake(&name).filter(|_| name != tool.name) {
                tracing::warn!(
                    "the tool `{}` of a mounted server is left out: renamed to {name:?}, {why}",
                    tool.name
                );
                return None;
            }
            tool.name = name;
        }
        Some(tool)
    }

    /// Edits the definition of a prompt. Returns `None` if the prompt is not offered.
    pub(super) fn edit_prompt(&self, mut prompt: Prompt) -> Option<Prompt> {
        self.add_prefix(&mut prompt.name);
        self.prompt_filters.iter().all(|is_offered| passes_filter(|| is_offered(&prompt))).then_some(prompt)
    }

    fn add_prefix(&self, name: &mut String) {
        if let Some(prefix) = &self.prefix {
            *name = format!("{prefix}__{name}");
        }
    }

    /// Returns whether a resource may be listed and read. `uri` is the URI on its server.
    pub(super) fn offers_resource(&self, server: &str, uri: &str) -> bool {
        self.resource_filters.iter().all(|is_offered| passes_filter(|| is_offered(server, uri)))
    }

    /// Returns the names of the tools that are renamed or described.
    pub(super) fn edited_tools(&self) -> impl Iterator<Item = &str> {
        self.renames.iter().chain(&self.descriptions).map(|(name, _)| name.as_str())
    }
}

/// Calls a filter. A filter that panics counts as `false`.
fn passes_filter(filter: impl FnOnce() -> bool) -> bool {
    catch_panic(filter).unwrap_or_else(|panic| {
        log_panic(&panic);
        false
    })
}

fn log_panic(panic: &Panic) {
    tracing::error!(%panic, "a filter or rename function of a mount panicked: the element is left out");
}
