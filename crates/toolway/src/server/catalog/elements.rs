//! What can be added to a server at once? Tools, resources and prompts together.

use std::sync::Arc;

use crate::server::call::layer::stack::LayerStack;
use crate::server::call::state::{States, UnavailableValues};
use crate::server::catalog::entry::{Entry, Origin, check};
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::ToolEntry;

/// Tools, resources and prompts.
///
/// These are the contents of a [`service`](crate::server::ServerBuilder::service). `#[service]` creates them. A type
/// that decides at run time what it offers implements [`Provide`] by hand:
///
/// ```
/// use std::sync::Arc;
/// use toolway::prelude::*;
/// use toolway::server::ToolEntry;
/// use toolway::server::element::{Elements, Provide};
///
/// struct Phrases(Vec<(&'static str, &'static str)>);
///
/// impl Provide for Phrases {
///     fn elements(self: Arc<Self>) -> Elements {
///         self.0.iter().fold(Elements::new(), |elements, &(name, phrase)| {
///             elements.tool(ToolEntry::from_fn(name, move || async move { phrase }))
///         })
///     }
/// }
///
/// let phrases = Phrases(vec![("hello", "Bonjour !"), ("bye", "Au revoir !")]);
/// let server = Server::new("phrases", "1.0.0").service(phrases).build()?;
/// assert!(server.tool("bye").is_some());
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Elements {
    pub(crate) tools: Vec<ToolEntry>,
    pub(crate) resources: Vec<ResourceEntry>,
    pub(crate) prompts: Vec<PromptEntry>,
}

impl Elements {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: ToolEntry) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a resource or a resource template.
    pub fn resource(mut self, resource: ResourceEntry) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: PromptEntry) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds all of `others`.
    pub(crate) fn extend(&mut self, others: Self) {
        self.tools.extend(others.tools);
        self.resources.extend(others.resources);
        self.prompts.extend(others.prompts);
    }

    /// Adds the elements of `others` whose name, URI or template does not exist yet. Duplicates within `others` are
    /// kept, so that they are reported to their author.
    pub(crate) fn extend_missing(&mut self, others: Self) {
        self.tools.extend(without_known(&self.tools, others.tools));
        self.resources.extend(without_known(&self.resources, others.resources));
        self.prompts.extend(without_known(&self.prompts, others.prompts));
    }

    /// Binds all elements to the state values of the server that they were added to.
    pub(crate) fn bind_states(&mut self, states: &Arc<States>) {
        for origin in self.origins_mut() {
            origin.states.get_or_insert_with(|| states.clone());
        }
    }

    /// Puts layers around all elements.
    pub(crate) fn wrap_with(&mut self, layers: &LayerStack) {
        self.origins_mut().for_each(|origin| origin.layers.wrap_with(layers));
    }

    /// Returns whether any element has layers.
    pub(crate) fn have_layers(&self) -> bool {
        have_layers(&self.tools) || have_layers(&self.resources) || have_layers(&self.prompts)
    }

    /// Returns whether any element needs scopes.
    pub(crate) fn have_scopes(&self) -> bool {
        have_scopes(&self.tools) || have_scopes(&self.resources) || have_scopes(&self.prompts)
    }

    pub(super) fn origins_mut(&mut self) -> impl Iterator<Item = &mut Origin> {
        let tools = self.tools.iter_mut().map(|tool| &mut tool.origin);
        let resources = self.resources.iter_mut().map(|resource| &mut resource.origin);
        let prompts = self.prompts.iter_mut().map(|prompt| &mut prompt.origin);
        tools.chain(resources).chain(prompts)
    }

    /// Returns the mistakes in the elements, for calls that lack the values in `absent`.
    pub(crate) fn check(
        &self,
        states: &States,
        absent: impl Fn(&LayerStack) -> UnavailableValues,
    ) -> Vec<String> {
        let mut mistakes = Vec::new();
        check(&self.tools, states, &absent, &mut mistakes);
        check(&self.resources, states, &absent, &mut mistakes);
        check(&self.prompts, states, &absent, &mut mistakes);
        mistakes
    }

    /// Adds a prefix to the names of tools and prompts. URIs stay unchanged, because they are addresses.
    pub(crate) fn add_prefix(&mut self, prefix: &str) {
        for tool in &mut self.tools {
            let name = format!("{prefix}_{}", tool.definition().name);
            *tool = tool.clone().with_name(name);
        }
        for prompt in &mut self.prompts {
            let name = format!("{prefix}_{}", prompt.definition().name);
            *prompt = prompt.clone().with_name(name);
        }
    }
}

fn have_layers(entries: &[impl Entry]) -> bool {
    entries.iter().any(|entry| !entry.origin().layers.is_empty())
}

fn have_scopes(entries: &[impl Entry]) -> bool {
    entries.iter().any(|entry| !entry.origin().scopes.is_empty())
}

fn without_known<E: Entry>(known: &[E], mut others: Vec<E>) -> Vec<E> {
    others.retain(|other| known.iter().all(|known| known.key() != other.key()));
    others
}

/// A value whose methods are tools, resources and prompts. `#[service]` generates the implementation.
///
/// For an implementation by hand see [`Elements`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a service",
    label = "mark its `impl` block `#[service]`",
    note = "without macros, implement `toolway::server::element::Provide`"
)]
pub trait Provide: Send + Sync + 'static {
    /// Returns all elements.
    fn elements(self: Arc<Self>) -> Elements;
}
