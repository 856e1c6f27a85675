//! What may a caller see? Everything, unless its admission said otherwise.
//!
//! What is hidden is not there: lists leave it out, and whatever names it is answered as if it named something that never was.
//! A URI belongs to the one element that would answer it, and that one decides: neither a resource nor a family that is
//! hidden can be read through another family that takes the same URI.

use std::collections::HashSet;
use std::sync::Arc;

use toolway_protocol::types::{CacheHints, CacheScope, Reference, Resource};
use toolway_protocol::{Notification, Reply, Request};

use super::Server;
use super::admit::Admit;
use super::cache::Cacheable;
use super::prompt::PromptEntry;
use super::registry::Snapshot;
use super::resource::{ResourceDefinition, ResourceEntry};
use super::tool::ToolEntry;

impl Admit {
    /// Shows the caller these tools only, by the names under which they are registered; all others are as if they were not
    /// there, in lists and in calls. An empty list hides every tool. Names of tools that do not exist (yet) do no harm.
    ///
    /// Called again, it takes away what the new list does not have: what is hidden once stays hidden.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// /// Count the rows.
    /// #[tool]
    /// fn count() -> u32 {
    ///     3
    /// }
    ///
    /// /// Delete the rows.
    /// #[tool(destructive)]
    /// fn wipe() {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("rows", "1.0.0")
    ///     .tools(tools![count, wipe])
    ///     .on_connect(async || Admit::as_principal("a guest").only_tools(["count"]))
    ///     .build()?;
    /// let client = connect(&server).await;
    /// assert_eq!(client.tools().await?.len(), 1);
    /// let error = client.call("wipe", serde_json::json!({})).await.unwrap_err();
    /// assert_eq!(error.rpc().unwrap().message, "no such tool: `wipe`");
    /// # Ok(())
    /// # }
    /// ```
    pub fn only_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().tools.keep(names);
        self
    }

    /// Shows the caller these prompts only, by name; see [`only_tools`](Self::only_tools).
    ///
    /// ```
    /// use toolway::Admit;
    ///
    /// let nothing: [&str; 0] = [];
    /// let admit = Admit::anyone().only_prompts(nothing);
    /// ```
    pub fn only_prompts(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().prompts.keep(names);
        self
    }

    /// Shows the caller these resources only: registered ones by URI or by name, those of
    /// [`list_resources`](super::ServerBuilder::list_resources) and [`read_resource`](super::ServerBuilder::read_resource) by
    /// URI. An empty list hides every resource.
    ///
    /// A URI that a template answers is the template's affair ([`only_templates`](Self::only_templates)); one that stands
    /// here can be read whatever is said about templates.
    ///
    /// ```
    /// use toolway::Admit;
    ///
    /// let admit = Admit::as_principal("ann").only_resources(["notes://index", "motd"]);
    /// ```
    pub fn only_resources(mut self, uris: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().resources.keep(uris);
        self
    }

    /// Shows the caller these templates only, by the text of the template or by name, and lets it read their resources only. An
    /// empty list hides every template.
    ///
    /// The template that answers a URI decides, which is the most literal one of those that take it. A registered resource
    /// is never read through a template, and a resource that [`only_resources`](Self::only_resources) hides is hidden
    /// whatever templates take its URI. What a [mounted](super::ServerBuilder::mount) server reads without listing it may be of any
    /// template: then it can be read only if `only_resources` names it.
    ///
    /// ```
    /// use toolway::Admit;
    ///
    /// let admit = Admit::as_principal("ann").only_templates(["notes://{id}", "attachment"]);
    /// ```
    pub fn only_templates(mut self, templates_or_names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().templates.keep(templates_or_names);
        self
    }

    fn allowed_mut(&mut self) -> &mut Allowed {
        Arc::make_mut(self.allowed.get_or_insert_default())
    }
}

/// What a caller may see, of each kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    tools: Only,
    prompts: Only,
    resources: Only,
    templates: Only,
}

/// Names, or everything.
#[derive(Debug, Clone, Default)]
struct Only(Option<HashSet<String>>);

impl Only {
    fn keep(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        let mut names: HashSet<String> = names.into_iter().map(Into::into).collect();
        if let Some(kept) = &self.0 {
            names.retain(|name| kept.contains(name));
        }
        self.0 = Some(names);
    }

    fn lets(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(name))
    }

    fn is_all(&self) -> bool {
        self.0.is_none()
    }
}

impl Allowed {
    pub(super) fn tool(&self, name: &str) -> bool {
        self.tools.lets(name)
    }

    pub(super) fn prompt(&self, name: &str) -> bool {
        self.prompts.lets(name)
    }

    /// Whether a registered resource or family may be seen.
    pub(super) fn entry(&self, entry: &ResourceEntry) -> bool {
        let definition = entry.definition();
        let only = match definition {
            ResourceDefinition::One(_) => &self.resources,
            ResourceDefinition::Family(_) => &self.templates,
        };
        only.lets(definition.uri()) || only.lets(definition.name())
    }

    /// Whether a resource that is registered under this URI and name may be seen.
    pub(super) fn resource(&self, resource: &Resource) -> bool {
        self.resources.lets(&resource.uri) || self.resources.lets(&resource.name)
    }

    /// Whether a family may be seen.
    pub(super) fn template(&self, template: &str, name: &str) -> bool {
        self.templates.lets(template) || self.templates.lets(name)
    }

    /// Whether a resource that a handler lists may be seen. What cannot be read is not listed.
    pub(super) fn listed(&self, snapshot: &Snapshot, uri: &str) -> bool {
        self.resources.lets(uri) && self.uri(snapshot, uri)
    }

    /// Whether a URI may be read and heard of. Whoever answers it decides; nobody else is asked then.
    pub(super) fn uri(&self, snapshot: &Snapshot, uri: &str) -> bool {
        match snapshot.owner(uri) {
            Some(entry) if entry.template().is_none() => self.entry(entry),
            Some(family) => self.entry(family) || (!self.resources.is_all() && self.resources.lets(uri)),
            None => self.resources.lets(uri),
        }
    }

    /// Whether a resource may be read that nobody has offered, but somebody behind this server may have. It may be one of a
    /// family, and nobody here knows of which: where families are hidden, it has to be named.
    pub(super) fn unlisted(&self, uri: &str) -> bool {
        self.resources.lets(uri) && (self.templates.is_all() || !self.resources.is_all())
    }

    /// Whether an answer that is kept could be another one for another caller.
    fn limits(&self, reply: &Reply) -> bool {
        match Cacheable::of(reply) {
            Some(Cacheable::Tools) => !self.tools.is_all(),
            Some(Cacheable::Prompts) => !self.prompts.is_all(),
            Some(Cacheable::Templates) => !self.templates.is_all(),
            Some(Cacheable::Resources | Cacheable::Contents) => {
                !self.resources.is_all() || !self.templates.is_all()
            }
            Some(Cacheable::Discovery) | None => false,
        }
    }
}

/// What a request is about, of what a server has.
pub(super) enum Element<'s> {
    Tool(&'s ToolEntry),
    Prompt(&'s PromptEntry),
    Resource(&'s ResourceEntry),
}

impl Snapshot {
    /// What a request is about, if it is there and this caller may see it.
    pub(super) fn asked_for(&self, request: &Request, allowed: Option<&Allowed>) -> Option<Element<'_>> {
        let prompt = |name: &str| {
            let is_seen = allowed.is_none_or(|allowed| allowed.prompt(name));
            self.prompt(name).filter(|_| is_seen).map(Element::Prompt)
        };
        match request {
            Request::CallTool(call) => {
                let is_seen = allowed.is_none_or(|allowed| allowed.tool(&call.name));
                self.tool(&call.name).filter(|_| is_seen).map(Element::Tool)
            }
            Request::GetPrompt(get) => prompt(&get.name),
            Request::ReadResource(read) => {
                let is_seen = allowed.is_none_or(|allowed| allowed.uri(self, &read.uri));
                self.owner(&read.uri).filter(|_| is_seen).map(Element::Resource)
            }
            Request::Complete(asked) => match &asked.reference {
                Reference::Prompt(reference) => prompt(&reference.name),
                Reference::Resource(reference) => {
                    let is_seen = |entry: &&ResourceEntry| allowed.is_none_or(|allowed| allowed.entry(entry));
                    self.resource_at(&reference.uri).filter(is_seen).map(Element::Resource)
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

/// The hints of an answer for a caller that does not see everything: what is for it is not for everybody's cache.
pub(super) fn unshared(allowed: Option<&Allowed>, reply: &Reply, hints: &CacheHints) -> Option<CacheHints> {
    let is_limited = allowed.is_some_and(|allowed| allowed.limits(reply));
    is_limited.then(|| CacheHints::new(hints.ttl_ms, CacheScope::Private))
}

/// What somebody who listens may hear of.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    server: Server,
    allowed: Option<Arc<Allowed>>,
}

impl Sight {
    pub(crate) fn new(server: &Server, allowed: Option<Arc<Allowed>>) -> Self {
        Self { server: server.clone(), allowed }
    }

    /// Whether this may be told. What a list is now, whoever asks for it sees as far as it may.
    pub(crate) fn shows(&self, news: &Notification) -> bool {
        let (Some(allowed), Notification::ResourceUpdated(updated)) = (&self.allowed, news) else {
            return true;
        };
        self.server.tells_of(&updated.uri, allowed)
    }
}
