//! Which functions are marked somewhere in the program? They are collected at link time, and read only on demand.

use crate::server::catalog::elements::Elements;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::ToolEntry;

/// A function or a type that is marked. The macros register it.
#[derive(Debug)]
pub struct MarkedItem {
    /// The path of its module.
    pub module: &'static str,
    /// The directory of its package. Paths of source files, as [`Location::file`](std::panic::Location::file) returns
    /// them, start with it.
    pub package: &'static str,
    /// Its name in the source.
    pub name: &'static str,
    /// Creates its entry.
    pub element: fn() -> AnyEntry,
}

/// The entry of a marked function or type.
#[derive(Debug)]
pub enum AnyEntry {
    /// A tool.
    Tool(ToolEntry),
    /// A resource or a resource template.
    Resource(ResourceEntry),
    /// A prompt.
    Prompt(PromptEntry),
}

/// Creates the entries of marked functions and types.
pub(crate) fn make_entries(found: Vec<&'static MarkedItem>) -> Elements {
    found.into_iter().fold(Elements::new(), |elements, marked| match (marked.element)() {
        AnyEntry::Tool(tool) => elements.tool(tool),
        AnyEntry::Resource(resource) => elements.resource(resource),
        AnyEntry::Prompt(prompt) => elements.prompt(prompt),
    })
}
