//! Which entries does a caller see? Those that the admission hook and its scopes allow.
//!
//! A URI belongs to the one entry that would answer it, and only that entry decides: a hidden resource or template
//! cannot be read through another template that matches the same URI.

use toolway_protocol::types::{CacheHints, CacheScope, Reference};
use toolway_protocol::{Reply, Request};

use crate::server::call::visibility::Visibility;
use crate::server::catalog::cache::Cacheable;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::registry::Snapshot;
use crate::server::catalog::resource::{ResourceDefinition, ResourceEntry};
use crate::server::catalog::tool::ToolEntry;

impl Visibility {
    pub(crate) fn allows_tool(&self, tool: &ToolEntry) -> bool {
        self.tools.allows(&tool.definition().name) && self.allows_scopes(&tool.origin.scopes)
    }

    pub(crate) fn allows_prompt(&self, prompt: &PromptEntry) -> bool {
        self.prompts.allows(&prompt.definition().name) && self.allows_scopes(&prompt.origin.scopes)
    }

    /// Returns whether a registered resource or template is visible.
    pub(crate) fn allows_entry(&self, entry: &ResourceEntry) -> bool {
        self.names_entry(entry) && self.allows_scopes(&entry.origin.scopes)
    }

    fn names_entry(&self, entry: &ResourceEntry) -> bool {
        let definition = entry.definition();
        let only = match definition {
            ResourceDefinition::Resource(_) => &self.resources,
            ResourceDefinition::Template(_) => &self.templates,
        };
        only.allows(definition.uri()) || only.allows(definition.name())
    }

    /// Returns whether a resource that a handler lists is visible. A resource that cannot be read is not listed.
    pub(crate) fn allows_listed(&self, snapshot: &Snapshot, uri: &str) -> bool {
        self.resources.allows(uri) && self.allows_uri(snapshot, uri)
    }

    /// Returns whether a URI may be read, and whether its updates may be sent. Only the entry that answers for the URI
    /// decides.
    pub(crate) fn allows_uri(&self, snapshot: &Snapshot, uri: &str) -> bool {
        match snapshot.entry_for(uri) {
            Some(entry) if entry.template().is_none() => self.allows_entry(entry),
            Some(family) => {
                let is_named = !self.resources.is_all() && self.resources.allows(uri);
                (self.names_entry(family) || is_named) && self.allows_scopes(&family.origin.scopes)
            }
            None => self.resources.allows(uri),
        }
    }

    /// Returns whether an answer could differ for another caller.
    fn affects(&self, reply: &Reply) -> bool {
        match Cacheable::of(reply) {
            Some(Cacheable::Discovery) | None => false,
            Some(_) if self.holder.is_some() => true,
            Some(Cacheable::Tools) => !self.tools.is_all(),
            Some(Cacheable::Prompts) => !self.prompts.is_all(),
            Some(Cacheable::Templates) => !self.templates.is_all(),
            Some(Cacheable::Resources | Cacheable::Contents) => {
                !self.resources.is_all() || !self.templates.is_all()
            }
        }
    }
}

/// The element that a request is about.
pub(crate) enum ElementRef<'s> {
    Tool(&'s ToolEntry),
    Prompt(&'s PromptEntry),
    Resource(&'s ResourceEntry),
}

impl Snapshot {
    /// Returns the element that a request is about, if it exists and the caller may see it.
    pub(crate) fn target_of(
        &self,
        request: &Request,
        allowed: Option<&Visibility>,
    ) -> Option<ElementRef<'_>> {
        let prompt = |name: &str| {
            let is_seen = |prompt: &&PromptEntry| allowed.is_none_or(|allowed| allowed.allows_prompt(prompt));
            self.prompt(name).filter(is_seen).map(ElementRef::Prompt)
        };
        match request {
            Request::CallTool(call) => {
                let is_seen = |tool: &&ToolEntry| allowed.is_none_or(|allowed| allowed.allows_tool(tool));
                self.tool(&call.name).filter(is_seen).map(ElementRef::Tool)
            }
            Request::GetPrompt(get) => prompt(&get.name),
            Request::ReadResource(read) => {
                let is_seen = allowed.is_none_or(|allowed| allowed.allows_uri(self, &read.uri));
                self.entry_for(&read.uri).filter(|_| is_seen).map(ElementRef::Resource)
            }
            Request::Complete(asked) => match &asked.reference {
                Reference::Prompt(reference) => prompt(&reference.name),
                Reference::Resource(reference) => {
                    let is_seen =
                        |entry: &&ResourceEntry| allowed.is_none_or(|allowed| allowed.allows_entry(entry));
                    self.resource_at(&reference.uri).filter(is_seen).map(ElementRef::Resource)
                }
            },
            Request::ListTools(_)
            | Request::ListResources(_)
            | Request::ListResourceTemplates(_)
            | Request::ListPrompts(_)
            | Request::Subscribe(_)
            | Request::Unsubscribe(_)
            | Request::SetLogLevel(_)
            | Request::Listen(_)
            | Request::Other(..) => None,
        }
    }
}

/// Returns private cache hints for an answer to a caller that does not see everything: a shared cache must not keep
/// such an answer.
pub(crate) fn private_hints(
    allowed: Option<&Visibility>,
    reply: &Reply,
    hints: &CacheHints,
) -> Option<CacheHints> {
    let is_limited = allowed.is_some_and(|allowed| allowed.affects(reply));
    is_limited.then(|| CacheHints::new(hints.ttl_ms, CacheScope::Private))
}
