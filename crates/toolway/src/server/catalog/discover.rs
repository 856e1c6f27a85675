//! Which functions are marked somewhere in the program? Collected when it is linked, looked at only on demand.

use crate::server::catalog::elements::Elements;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::ToolEntry;

/// A function or a type that is marked. The macros submit it.
#[derive(Debug)]
pub struct Marked {
    /// The path of the module it stands in.
    pub module: &'static str,
    /// The directory of its package, as paths in panics and locations begin.
    pub package: &'static str,
    /// Its name in the source.
    pub name: &'static str,
    /// Makes it.
    pub element: fn() -> Element,
}

/// One of the three kinds.
#[derive(Debug)]
pub enum Element {
    /// A tool.
    Tool(ToolEntry),
    /// A resource or a family of them.
    Resource(ResourceEntry),
    /// A prompt.
    Prompt(PromptEntry),
}

inventory::collect!(Marked);

/// Makes what is marked.
pub(crate) fn make(found: Vec<&'static Marked>) -> Elements {
    found.into_iter().fold(Elements::new(), |elements, marked| match (marked.element)() {
        Element::Tool(tool) => elements.tool(tool),
        Element::Resource(resource) => elements.resource(resource),
        Element::Prompt(prompt) => elements.prompt(prompt),
    })
}
