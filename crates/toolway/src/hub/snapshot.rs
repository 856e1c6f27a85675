//! What do all servers have together, and whose is what? An immutable snapshot; a change makes the next one.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, Prompt, Resource, ResourceTemplate, Tool, ToolAnnotations};

use super::lists::Lists;
use super::member::Member;
use super::names::joined::Names;
use super::names::rules::NameRules;
use super::names::uris::Uris;
use crate::agent::{AgentTool, ToolFailure, ToolOutput, ToolSet};
use crate::client::calls::remote::outcome;
use crate::closest::closest;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Everything that the servers of a hub have, under the names that it has here. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(super) versions: Versions,
    pub(super) members: Arc<[Arc<Member>]>,
    pub(super) tools: ToolSet,
    pub(crate) definitions: Arc<[Tool]>,
    pub(crate) prompts: Arc<[Prompt]>,
    pub(crate) resources: Arc<[Resource]>,
    pub(crate) templates: Arc<[ResourceTemplate]>,
    tool_names: Arc<Names>,
    prompt_names: Arc<Names>,
    pub(super) uris: Arc<Uris>,
    /// Whose a family is, and what it is there.
    families: Arc<HashMap<String, (Arc<str>, String)>>,
}

/// How often each part has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) tools: u64,
    pub(super) prompts: u64,
    pub(super) resources: u64,
    pub(super) servers: u64,
}

impl Snapshot {
    /// The server of this name.
    pub(super) fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| &*member.name == name)
    }

    /// Whose a tool is, and what it is called there.
    pub(crate) fn tool(&self, name: &str) -> Option<(&Arc<Member>, &str)> {
        let (server, tool) = self.tool_names.route(name)?;
        Some((self.member(server)?, tool))
    }

    /// Whose a prompt is, and what it is called there.
    pub(crate) fn prompt(&self, name: &str) -> Option<(&Arc<Member>, &str)> {
        let (server, prompt) = self.prompt_names.route(name)?;
        Some((self.member(server)?, prompt))
    }

    /// Whose a resource is, and what its URI is there.
    pub(crate) fn resource<'u>(&self, uri: &'u str) -> Option<(&Arc<Member>, &'u str)> {
        let (server, uri) = self.uris.route(uri)?;
        Some((self.member(server)?, uri))
    }

    /// Whose a family of resources is, and what it is there.
    pub(crate) fn template(&self, template: &str) -> Option<(&Arc<Member>, &str)> {
        let (server, template) = self.families.get(template)?;
        Some((self.member(server)?, template))
    }

    /// What a resource of a server is called here.
    pub(crate) fn uri(&self, server: &str, uri: &str) -> Option<String> {
        self.uris.uri(server, uri)
    }

    /// The server whose tools begin like this name, if nobody knows yet which ones it has.
    pub(super) fn unknown_yet(&self, name: &str) -> Option<&Arc<Member>> {
        let member = self.member(self.tool_names.owner(name)?)?;
        (!member.is_known()).then_some(member)
    }

    pub(super) fn no_such_tool(&self, name: &str) -> Error {
        let meant = closest(name, self.tools.iter().map(AgentTool::name));
        no_such("tool", name, meant)
    }

    pub(super) fn no_such_prompt(&self, name: &str) -> Error {
        no_such("prompt", name, closest(name, self.prompts.iter().map(|prompt| &*prompt.name)))
    }

    pub(super) fn no_such_server(&self, name: &str) -> Error {
        let names: Vec<_> = self.members.iter().map(|member| &*member.name).collect();
        let hint = match closest(name, names.iter().copied()) {
            Some(meant) => format!(", did you mean `{meant}`?"),
            None => String::new(),
        };
        let known = match &*names {
            [] => "there is none".to_owned(),
            names => format!("there are `{}`", names.join("`, `")),
        };
        Error::new(ErrorKind::Misuse, format!("no such server: `{name}`{hint} ({known})"))
    }
}

pub(super) fn no_such(what: &str, name: &str, meant: Option<&str>) -> Error {
    let hint = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
    Error::new(ErrorKind::Misuse, format!("no such {what}: `{name}`{hint}"))
}

/// A tool of a server under the name that it has here, for a model.
struct HubTool {
    definitions: Arc<[Tool]>,
    /// Which of them it is.
    index: usize,
    /// What it is called at its server.
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
            let called = self.member.ask(|client| client.call(&self.original, arguments)).await;
            outcome(called.map(CallToolResult::from), self.name())
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

/// The servers of a hub and the names of what they have, from which snapshots are made.
pub(super) struct Merged {
    pub(super) members: Vec<Arc<Member>>,
    current: Snapshot,
}

impl Merged {
    pub(super) fn new(rules: NameRules) -> Result<Self> {
        Ok(Self::with(Names::new(rules)?, Uris::default()))
    }

    /// No servers yet, and these names for what they will have.
    pub(super) fn with(names: Names, uris: Uris) -> Self {
        let current = Snapshot {
            versions: Versions::default(),
            members: Arc::new([]),
            tools: ToolSet::new(),
            prompts: Arc::new([]),
            resources: Arc::new([]),
            templates: Arc::new([]),
            definitions: Arc::new([]),
            tool_names: Arc::new(names.clone()),
            prompt_names: Arc::new(names),
            uris: Arc::new(uris),
            families: Arc::default(),
        };
        Self { members: Vec::new(), current }
    }

    pub(super) fn has(&self, member: &Arc<Member>) -> bool {
        self.members.iter().any(|known| Arc::ptr_eq(known, member))
    }

    pub(super) fn insert(&mut self, member: Arc<Member>) -> Arc<Snapshot> {
        let nothing = [""; 0];
        Arc::make_mut(&mut self.current.tool_names).set(&member.name, nothing);
        Arc::make_mut(&mut self.current.prompt_names).set(&member.name, nothing);
        Arc::make_mut(&mut self.current.uris).set(&member.name, nothing, nothing);
        self.members.push(member);
        self.all_changed()
    }

    pub(super) fn remove(&mut self, member: &Arc<Member>) -> Arc<Snapshot> {
        self.members.retain(|known| !Arc::ptr_eq(known, member));
        Arc::make_mut(&mut self.current.tool_names).remove(&member.name);
        Arc::make_mut(&mut self.current.prompt_names).remove(&member.name);
        Arc::make_mut(&mut self.current.uris).remove(&member.name);
        self.all_changed()
    }

    /// A server is there, and has this.
    pub(super) fn ready(&mut self, member: &Arc<Member>, lists: Lists) -> Arc<Snapshot> {
        let old = member.lists();
        let before = self.current.versions;
        let was_ready = member.set_ready(lists.clone());
        if old.tools.items != lists.tools.items {
            Arc::make_mut(&mut self.current.tool_names)
                .set(&member.name, lists.tools.items.iter().map(|tool| &*tool.name));
            self.tools_changed();
        }
        if old.prompts.items != lists.prompts.items {
            Arc::make_mut(&mut self.current.prompt_names)
                .set(&member.name, lists.prompts.items.iter().map(|prompt| &*prompt.name));
            self.prompts_changed();
        }
        if old.resources.items != lists.resources.items || old.templates.items != lists.templates.items {
            let resources = lists.resources.items.iter().map(|resource| &*resource.uri);
            let templates = lists.templates.items.iter().map(|template| &*template.uri_template);
            Arc::make_mut(&mut self.current.uris).set(&member.name, resources, templates);
            self.resources_changed();
        }
        if !was_ready || self.current.versions != before {
            self.current.versions.servers += 1;
        }
        self.snapshot()
    }

    /// A server is not as it was.
    pub(super) fn state_changed(&mut self) -> Arc<Snapshot> {
        self.current.versions.servers += 1;
        self.snapshot()
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(self.current.clone())
    }

    /// A server that comes or goes may change names of others.
    fn all_changed(&mut self) -> Arc<Snapshot> {
        self.current.members = self.members.as_slice().into();
        self.current.versions.servers += 1;
        self.tools_changed();
        self.prompts_changed();
        self.resources_changed();
        self.snapshot()
    }

    fn tools_changed(&mut self) {
        let (mut all, mut origins) = (Vec::new(), Vec::new());
        for member in &self.members {
            for tool in &*member.lists().tools.items {
                if let Some(name) = self.current.tool_names.name(&member.name, &tool.name) {
                    let mut joined = tool.clone();
                    name.clone_into(&mut joined.name);
                    all.push(joined);
                    origins.push((tool.name.clone(), member.clone()));
                }
            }
        }
        let definitions: Arc<[Tool]> = all.into();
        let tools = origins.into_iter().enumerate();
        self.current.tools = tools
            .map(|(index, (original, member))| HubTool {
                definitions: definitions.clone(),
                index,
                original,
                member,
            })
            .collect();
        self.current.definitions = definitions;
        self.current.versions.tools += 1;
    }

    fn prompts_changed(&mut self) {
        let mut all = Vec::new();
        for member in &self.members {
            for prompt in &*member.lists().prompts.items {
                if let Some(name) = self.current.prompt_names.name(&member.name, &prompt.name) {
                    let mut joined = prompt.clone();
                    name.clone_into(&mut joined.name);
                    all.push(joined);
                }
            }
        }
        self.current.prompts = all.into();
        self.current.versions.prompts += 1;
    }

    fn resources_changed(&mut self) {
        let (mut resources, mut templates, mut families) = (Vec::new(), Vec::new(), HashMap::new());
        for member in &self.members {
            let lists = member.lists();
            for resource in &*lists.resources.items {
                if let Some(uri) = self.current.uris.uri(&member.name, &resource.uri) {
                    let mut joined = resource.clone();
                    joined.uri = uri;
                    resources.push(joined);
                }
            }
            for template in &*lists.templates.items {
                if let Some(uri_template) = self.current.uris.template(&member.name, &template.uri_template) {
                    let original = (member.name.clone(), template.uri_template.clone());
                    families.insert(uri_template.clone(), original);
                    let mut joined = template.clone();
                    joined.uri_template = uri_template;
                    templates.push(joined);
                }
            }
        }
        self.current.resources = resources.into();
        self.current.templates = templates.into();
        self.current.families = Arc::new(families);
        self.current.versions.resources += 1;
    }
}
