//! Which servers are there, and what are their elements called here?

use std::sync::Arc;

use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::client::Client;
use crate::server::Running;

/// Servers that are offered as one.
pub(crate) trait Upstreams: Send + Sync + 'static {
    /// Those that there are now.
    fn now(&self) -> Vec<Upstream>;

    /// Waits until anything of this is another than when it was called: which servers there are, their clients, what they have
    /// listed, what that is called.
    fn changed(&self) -> Running<()>;

    /// What their elements are called when they stand in one list. Asked once.
    fn naming(&self) -> Box<dyn Naming>;

    /// What a server has, where somebody else finds that out.
    fn listed(&self, server: &str) -> Option<Listed> {
        let _ = server;
        None
    }

    /// Whether servers may come of which nothing is known yet.
    fn may_grow(&self) -> bool {
        false
    }
}

/// One server.
#[derive(Clone)]
pub(crate) struct Upstream {
    /// What it is called here; no two have the same name.
    pub(crate) name: Arc<str>,
    pub(crate) client: Client,
}

/// What the elements of several servers are called in one list. What is not called anything is not listed.
pub(crate) trait Naming: Send + Sync {
    /// A server has these now.
    fn set(&mut self, server: &str, listed: &Listed);

    /// A server is not there any more.
    fn remove(&mut self, server: &str);

    fn tool(&self, server: &str, tool: &str) -> Option<String>;

    fn prompt(&self, server: &str, prompt: &str) -> Option<String>;

    /// What a resource is called, whether it is listed or not.
    fn uri(&self, server: &str, uri: &str) -> Option<String>;

    fn template(&self, server: &str, template: &str) -> Option<String>;

    /// Whose a URI is, and what it is there.
    fn route<'u>(&self, uri: &'u str) -> Option<(Arc<str>, &'u str)>;

    /// What stands before the name of the part of the server that speaks to the log, if anything does.
    fn logger(&self, server: &str) -> Option<String>;
}

/// What a server has listed.
#[derive(Clone, PartialEq)]
pub(crate) struct Listed {
    pub(crate) tools: Arc<[Tool]>,
    pub(crate) prompts: Arc<[Prompt]>,
    pub(crate) resources: Arc<[Resource]>,
    pub(crate) templates: Arc<[ResourceTemplate]>,
    /// Whether it completes arguments.
    pub(crate) completes: bool,
}

impl Default for Listed {
    fn default() -> Self {
        Self {
            tools: Arc::new([]),
            prompts: Arc::new([]),
            resources: Arc::new([]),
            templates: Arc::new([]),
            completes: false,
        }
    }
}

/// One server alone.
pub(super) struct One {
    upstream: Upstream,
    prefix: Option<Arc<str>>,
}

impl One {
    pub(super) fn unnamed(client: Client) -> Self {
        // For people only: nothing is called by it.
        let name = client.server_info().map_or_else(|| "the server".to_owned(), |info| info.name);
        Self { upstream: Upstream { name: name.into(), client }, prefix: None }
    }

    pub(super) fn named(name: String, client: Client) -> Self {
        let name: Arc<str> = name.into();
        Self { upstream: Upstream { name: name.clone(), client }, prefix: Some(name) }
    }
}

impl Upstreams for One {
    fn now(&self) -> Vec<Upstream> {
        vec![self.upstream.clone()]
    }

    fn changed(&self) -> Running<()> {
        Box::pin(std::future::pending())
    }

    fn naming(&self) -> Box<dyn Naming> {
        Box::new(Prefixed { name: self.upstream.name.clone(), prefix: self.prefix.clone() })
    }
}

/// Names of one server, perhaps with a prefix. Its URIs are nobody else's.
struct Prefixed {
    name: Arc<str>,
    prefix: Option<Arc<str>>,
}

impl Prefixed {
    fn name(&self, name: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}__{name}"),
            None => name.to_owned(),
        }
    }
}

impl Naming for Prefixed {
    fn set(&mut self, _: &str, _: &Listed) {}

    fn remove(&mut self, _: &str) {}

    fn tool(&self, _: &str, tool: &str) -> Option<String> {
        Some(self.name(tool))
    }

    fn prompt(&self, _: &str, prompt: &str) -> Option<String> {
        Some(self.name(prompt))
    }

    fn uri(&self, _: &str, uri: &str) -> Option<String> {
        Some(uri.to_owned())
    }

    fn template(&self, _: &str, template: &str) -> Option<String> {
        Some(template.to_owned())
    }

    fn route<'u>(&self, uri: &'u str) -> Option<(Arc<str>, &'u str)> {
        Some((self.name.clone(), uri))
    }

    fn logger(&self, _: &str) -> Option<String> {
        self.prefix.as_deref().map(str::to_owned)
    }
}
