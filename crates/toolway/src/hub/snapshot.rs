//! Which elements do all servers have together, and which server has each? A snapshot is immutable; a change publishes
//! a new one.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use toolway_protocol::RawJson;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool, ToolAnnotations};

use super::lists::{CachedList, Lists};
use super::member::Member;
use super::names::joined::Names;
use super::names::uris::Uris;
use crate::agent::{AgentTool, ToolFailure, ToolOutput, ToolSet};
use crate::client::calls::remote::tool_outcome;
use crate::closest::closest;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// All elements of the servers of a hub, under their names in the hub. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct HubSnapshot {
    pub(super) versions: Versions,
    pub(super) members: Arc<[Arc<Member>]>,
    /// The tools for a model, made when they are first asked for. Programs that do not call tools need no code for it.
    tools: Arc<OnceLock<ToolSet>>,
    pub(crate) definitions: Arc<[Tool]>,
    /// For each tool, its name on its server, and the server.
    origins: Arc<[(String, Arc<Member>)]>,
    pub(crate) prompts: Arc<[Prompt]>,
    pub(crate) resources: Arc<[Resource]>,
    pub(crate) templates: Arc<[ResourceTemplate]>,
    tool_names: Arc<Names>,
    prompt_names: Arc<Names>,
    pub(super) uris: Arc<Uris>,
    /// For each resource template in the hub, its server and the template on that server.
    template_routes: Arc<HashMap<String, (Arc<str>, String)>>,
}

/// The number of changes of each part of a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) tools: u64,
    pub(super) prompts: u64,
    pub(super) resources: u64,
    pub(super) servers: u64,
}

impl HubSnapshot {
    /// Returns the tools of all servers for a model.
    pub(super) fn tools(&self) -> ToolSet {
        let make = |(index, (original, member)): (usize, &(String, Arc<Member>))| HubTool {
            definitions: self.definitions.clone(),
            index,
            original: original.clone(),
            member: member.clone(),
        };
        self.tools.get_or_init(|| self.origins.iter().enumerate().map(make).collect()).clone()
    }

    /// Returns the server with this name.
    pub(super) fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| &*member.name == name)
    }

    /// Returns the server that has a tool, and the tool's name on that server.
    pub(crate) fn tool(&self, name: &str) -> Option<(&Arc<Member>, &str)> {
        let (server, tool) = self.tool_names.route(name)?;
        Some((self.member(server)?, tool))
    }

    /// Returns the server that has a prompt, and the prompt's name on that server.
    pub(crate) fn prompt(&self, name: &str) -> Option<(&Arc<Member>, &str)> {
        let (server, prompt) = self.prompt_names.route(name)?;
        Some((self.member(server)?, prompt))
    }

    /// Returns the server that has a resource, and the resource's URI on that server.
    pub(crate) fn resource<'u>(&self, uri: &'u str) -> Option<(&Arc<Member>, &'u str)> {
        let (server, uri) = self.uris.route(uri)?;
        Some((self.member(server)?, uri))
    }

    /// Returns the server that has a resource template, and the template on that server.
    pub(crate) fn template(&self, template: &str) -> Option<(&Arc<Member>, &str)> {
        let (server, template) = self.template_routes.get(template)?;
        Some((self.member(server)?, template))
    }

    /// Returns the URI that a resource of a server has in the hub.
    pub(crate) fn uri(&self, server: &str, uri: &str) -> Option<String> {
        self.uris.uri(server, uri)
    }

    /// Returns the server to which the prefix of this tool name belongs, if the tools of that server are not known yet.
    pub(super) fn member_without_lists(&self, name: &str) -> Option<&Arc<Member>> {
        let member = self.member(self.tool_names.owner(name)?)?;
        (!member.has_read_lists()).then_some(member)
    }

    pub(super) fn no_such_tool(&self, name: &str) -> Error {
        no_such("tool", name, closest(name, self.definitions.iter().map(|tool| &*tool.name)))
    }

    pub(super) fn no_such_prompt(&self, name: &str) -> Error {
        no_such("prompt", name, closest(name, self.prompts.iter().map(|prompt| &*prompt.name)))
    }

    pub(super) fn no_such_server(&self, name: &str) -> Error {
        let names: Vec<_> = self.members.iter().map(|member| &*member.name).collect();
        let hint = hint(closest(name, names.iter().copied()));
        let known = match &*names {
            [] => "there are no servers".to_owned(),
            names => format!("there are `{}`", names.join("`, `")),
        };
        Error::new(ErrorKind::Misuse, format!("no such server: `{name}`{hint} ({known})"))
    }
}

pub(super) fn no_such(what: &str, name: &str, meant: Option<&str>) -> Error {
    Error::new(ErrorKind::Misuse, format!("no such {what}: `{name}`{}", hint(meant)))
}

fn hint(meant: Option<&str>) -> String {
    meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default()
}

/// A tool of a server under its name in the hub, for a model.
struct HubTool {
    definitions: Arc<[Tool]>,
    /// The index of the tool in `definitions`.
    index: usize,
    /// The name of the tool on its server.
    original: String,
    member: Arc<Member>,
}

impl HubTool {
    fn tool(&self) -> &Tool {
        &self.definitions[self.index]
    }
}

impl AgentTool for HubTool {
    fn name(&self) -> &str {
        &self.tool().name
    }

    fn description(&self) -> &str {
        self.tool().description()
    }

    fn input_schema(&self) -> &RawJson {
        &self.tool().input_schema
    }

    fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let called = self.member.request(|client| client.call(&self.original, arguments)).await;
            tool_outcome(called, self.name())
        })
    }

    fn title(&self) -> Option<&str> {
        self.tool().title.as_deref()
    }

    fn annotations(&self) -> Option<&ToolAnnotations> {
        self.tool().annotations.as_ref()
    }

    fn output_schema(&self) -> Option<&RawJson> {
        self.tool().output_schema.as_ref()
    }
}

/// Creates the next snapshot.
impl HubSnapshot {
    /// Creates a snapshot without servers, with the given rules for names and URIs.
    pub(super) fn new(names: Names, uris: Uris) -> Self {
        let (prompt_names, tool_names) = (Arc::new(names.clone()), Arc::new(names));
        Self { tool_names, prompt_names, uris: Arc::new(uris), ..Self::default() }
    }

    pub(super) fn contains(&self, member: &Arc<Member>) -> bool {
        self.members.iter().any(|known| Arc::ptr_eq(known, member))
    }

    pub(super) fn insert(&mut self, member: &Arc<Member>) {
        let nothing = [""; 0];
        Arc::make_mut(&mut self.tool_names).set(&member.name, nothing);
        Arc::make_mut(&mut self.prompt_names).set(&member.name, nothing);
        Arc::make_mut(&mut self.uris).set(&member.name, nothing, nothing);
        self.members = self.members.iter().chain([member]).cloned().collect();
        self.rebuild_all();
    }

    pub(super) fn remove(&mut self, member: &Arc<Member>) {
        self.members = self.members.iter().filter(|known| !Arc::ptr_eq(known, member)).cloned().collect();
        Arc::make_mut(&mut self.tool_names).remove(&member.name);
        Arc::make_mut(&mut self.prompt_names).remove(&member.name);
        Arc::make_mut(&mut self.uris).remove(&member.name);
        self.rebuild_all();
    }

    /// Marks a server as ready, with these lists.
    pub(super) fn set_ready(&mut self, member: &Arc<Member>, lists: Lists) {
        let old = member.lists();
        let before = self.versions;
        let was_ready = member.set_ready(lists.clone());
        if old.tools.items != lists.tools.items {
            Arc::make_mut(&mut self.tool_names)
                .set(&member.name, lists.tools.items.iter().map(|tool| &*tool.name));
            self.rebuild_tools();
        }
        if old.prompts.items != lists.prompts.items {
            Arc::make_mut(&mut self.prompt_names)
                .set(&member.name, lists.prompts.items.iter().map(|prompt| &*prompt.name));
            self.rebuild_prompts();
        }
        if old.resources.items != lists.resources.items || old.templates.items != lists.templates.items {
            let resources = lists.resources.items.iter().map(|resource| &*resource.uri);
            let templates = lists.templates.items.iter().map(|template| &*template.uri_template);
            Arc::make_mut(&mut self.uris).set(&member.name, resources, templates);
            self.rebuild_resources();
        }
        if !was_ready || self.versions != before {
            self.versions.servers += 1;
        }
    }

    /// Rebuilds all lists: a server that is added or removed may change the names of other servers' elements.
    fn rebuild_all(&mut self) {
        self.versions.servers += 1;
        self.rebuild_tools();
        self.rebuild_prompts();
        self.rebuild_resources();
    }

    fn rebuild_tools(&mut self) {
        let mut origins = Vec::new();
        let rename = |member: &Arc<Member>, tool: &mut Tool| {
            let name = self.tool_names.name(&member.name, &tool.name)?.to_owned();
            origins.push((std::mem::replace(&mut tool.name, name), member.clone()));
            Some(())
        };
        self.definitions = join_lists(&self.members, |lists| &lists.tools, rename);
        self.origins = origins.into();
        self.tools = Arc::default();
        self.versions.tools += 1;
    }

    fn rebuild_prompts(&mut self) {
        let rename = |member: &Arc<Member>, prompt: &mut Prompt| {
            prompt.name = self.prompt_names.name(&member.name, &prompt.name)?.to_owned();
            Some(())
        };
        self.prompts = join_lists(&self.members, |lists| &lists.prompts, rename);
        self.versions.prompts += 1;
    }

    fn rebuild_resources(&mut self) {
        let rename = |member: &Arc<Member>, resource: &mut Resource| {
            resource.uri = self.uris.uri(&member.name, &resource.uri)?;
            Some(())
        };
        self.resources = join_lists(&self.members, |lists| &lists.resources, rename);
        let mut families = HashMap::new();
        let rename = |member: &Arc<Member>, template: &mut ResourceTemplate| {
            let here = self.uris.template(&member.name, &template.uri_template)?;
            let original = std::mem::replace(&mut template.uri_template, here.clone());
            families.insert(here, (member.name.clone(), original));
            Some(())
        };
        self.templates = join_lists(&self.members, |lists| &lists.templates, rename);
        self.template_routes = Arc::new(families);
        self.versions.resources += 1;
    }
}

/// Joins one list of all servers. `rename` gives an item its name in the hub; an item without a name in the hub is left
/// out.
fn join_lists<T: Clone>(
    members: &[Arc<Member>],
    list: fn(&Lists) -> &CachedList<T>,
    mut rename: impl FnMut(&Arc<Member>, &mut T) -> Option<()>,
) -> Arc<[T]> {
    let mut all = Vec::new();
    for member in members {
        let mut items = list(&member.lists()).items.to_vec();
        items.retain_mut(|item| rename(member, item).is_some());
        all.append(&mut items);
    }
    all.into()
}
