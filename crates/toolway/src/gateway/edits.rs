//! What does the author of a gateway change about the mounted elements?
//!
//! All edits apply to the listed definitions, and refer to tools by their names before renaming. A call always reaches
//! the original tool, whatever name the edits give it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolway_protocol::types::{Prompt, Tool};

use crate::ground::panic::{Panic, attempt};
use crate::server::wrong_name;

type Name = Arc<dyn Fn(&str) -> String + Send + Sync>;
type IsOffered<T> = Arc<dyn Fn(&T) -> bool + Send + Sync>;
type IsOfferedThere = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// Changes to the mounted elements.
#[derive(Default)]
pub(super) struct Edits {
    /// The prefix of the names of tools and prompts, followed by `__`.
    pub(super) prefix: Option<String>,
    pub(super) renamed: Vec<(String, String)>,
    rename: Option<Name>,
    pub(super) described: Vec<(String, String)>,
    pub(super) tools: Vec<IsOffered<Tool>>,
    pub(super) prompts: Vec<IsOffered<Prompt>>,
    pub(super) resources: Vec<IsOfferedThere>,
}

impl Edits {
    /// Adds a renaming function. Several functions apply one after the other.
    pub(super) fn rename_with(&mut self, name: Name) {
        self.rename = Some(match self.rename.take() {
            None => name,
            Some(first) => Arc::new(move |tool| name(&first(tool))),
        });
    }

    /// Returns the mistakes, as sentences for the author.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let mut found = Vec::new();
        let (mut names, mut tools) = (BTreeMap::new(), BTreeSet::new());
        for (tool, name) in &self.renamed {
            let mut complain = |why: &str| found.push(format!("`rename({tool:?}, {name:?})`: {why}"));
            if let Some(why) = wrong_name(name) {
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
    pub(super) fn tool(&self, mut tool: Tool) -> Option<Tool> {
        self.add_prefix(&mut tool.name);
        if !self.tools.iter().all(|is_offered| agrees(|| is_offered(&tool))) {
            return None;
        }
        if let Some((_, description)) = self.described.iter().rev().find(|(name, _)| *name == tool.name) {
            tool.description = Some(description.clone());
        }
        if let Some((_, name)) = self.renamed.iter().find(|(name, _)| *name == tool.name) {
            tool.name.clone_from(name);
        } else if let Some(rename) = &self.rename {
            let name = attempt(|| rename(&tool.name)).map_err(|panic| tell(&panic)).ok()?;
            if let Some(why) = wrong_name(&name).filter(|_| name != tool.name) {
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
    pub(super) fn prompt(&self, mut prompt: Prompt) -> Option<Prompt> {
        self.add_prefix(&mut prompt.name);
        self.prompts.iter().all(|is_offered| agrees(|| is_offered(&prompt))).then_some(prompt)
    }

    fn add_prefix(&self, name: &mut String) {
        if let Some(prefix) = &self.prefix {
            *name = format!("{prefix}__{name}");
        }
    }

    /// Returns whether a resource may be listed and read. `uri` is the URI on its server.
    pub(super) fn offers_resource(&self, server: &str, uri: &str) -> bool {
        self.resources.iter().all(|is_offered| agrees(|| is_offered(server, uri)))
    }

    /// Returns the names of the tools that are renamed or described.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.renamed.iter().chain(&self.described).map(|(name, _)| name.as_str())
    }
}

/// Calls a filter. A filter that panics counts as `false`.
fn agrees(filter: impl FnOnce() -> bool) -> bool {
    attempt(filter).unwrap_or_else(|panic| {
        tell(&panic);
        false
    })
}

fn tell(panic: &Panic) {
    tracing::error!(%panic, "a filter or rename function of a mount panicked: the element is left out");
}
