//! How do a tool, a prompt and a resource of another server become entries?
//!
//! Definitions are listed as they came, under the names they have here. What is sent passes unread, and so does what comes
//! back, but for the URIs in it, which become those of here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolway_protocol::capability::Settings;
use toolway_protocol::meta::is_reserved;
use toolway_protocol::request::{CallTool, GetPrompt};
use toolway_protocol::types::{
    CacheScope, CallToolResult, Complete, CompleteArgument, CompleteContext, CompleteResult, Completion,
    Content, GetPromptResult, Prompt, PromptReference, ReadResourceResult, Reference, ResourceReference,
    Tool,
};
use toolway_protocol::{RawJson, Request};

use super::call::Call;
use super::edits::Edits;
use super::failure::Failure;
use super::joint::{Common, reading};
use super::upstream::{Listed, Naming, Upstream};
use crate::server::{
    Arguments, BoxError, CallFuture, Completer, Completers, Completing, Ctx, Elements, Passing, PromptEntry,
    PromptFuture, PromptHandler, ReadFuture, Reading, ResourceDefinition, ResourceEntry, ResourceError,
    ResourceHandler, Scope, ToolEntry, ToolError, ToolHandler, Values,
};

/// Adds everything that a server has listed and that is called something here.
pub(super) fn entries(
    mut elements: Elements,
    common: &Arc<Common>,
    upstream: &Upstream,
    listed: &Listed,
    naming: &dyn Naming,
    edits: &Edits,
) -> Elements {
    let server = &*upstream.name;
    let way = Way { common: common.clone(), upstream: upstream.clone() };
    for tool in &*listed.tools {
        if let Some(name) = naming.tool(server, &tool.name) {
            let mut definition = tool.clone();
            definition.name = name;
            let Some(mut definition) = edits.tool(definition) else { continue };
            rename_pages(&mut definition, |uri| naming.uri(server, uri));
            let original = tool.name.clone();
            elements = elements.tool(ToolEntry::foreign(Foreign { way: way.clone(), definition, original }));
        }
    }
    for prompt in &*listed.prompts {
        if let Some(name) = naming.prompt(server, &prompt.name) {
            let mut definition = prompt.clone();
            definition.name = name;
            if !edits.offers_prompt(&definition) {
                continue;
            }
            let original = prompt.name.clone();
            let completes = listed.completes;
            let prompt = ForeignPrompt { way: way.clone(), definition, original, completes };
            elements = elements.prompt(PromptEntry::foreign(prompt));
        }
    }
    for resource in &*listed.resources {
        if edits.offers_resource(server, &resource.uri)
            && let Some(uri) = naming.uri(server, &resource.uri)
        {
            let original = resource.uri.clone();
            let mut definition = resource.clone();
            definition.uri = uri;
            let (definition, completes) = (definition.into(), false);
            let resource = ForeignResource { way: way.clone(), definition, original, completes };
            elements = elements.resource(ResourceEntry::foreign(resource));
        }
    }
    for template in &*listed.templates {
        if edits.offers_resource(server, &template.uri_template)
            && let Some(uri) = naming.template(server, &template.uri_template)
        {
            let original = template.uri_template.clone();
            let mut definition = template.clone();
            definition.uri_template = uri;
            let (definition, completes) = (definition.into(), listed.completes);
            let resource = ForeignResource { way: way.clone(), definition, original, completes };
            elements = elements.resource(ResourceEntry::foreign(resource));
        }
    }
    elements
}

/// The way to the server that an element is of.
#[derive(Clone)]
struct Way {
    common: Arc<Common>,
    upstream: Upstream,
}

impl Way {
    /// Passes a request on, and reads what comes of it.
    async fn pass<T: DeserializeOwned>(&self, request: Request, passing: Passing) -> Result<T, Failure> {
        let call = Call { common: &self.common, upstream: &self.upstream, passing };
        let result = call.pass(request).await?;
        self.decode(&result)
    }

    fn decode<T: DeserializeOwned>(&self, result: &RawJson) -> Result<T, Failure> {
        result.decode().map_err(|error| Failure::malformed(&self.upstream, error))
    }

    /// What a URI of the server is here. One that is called nothing stays as it is.
    fn rename(&self, uri: &mut String) {
        if let Some(here) = self.common.uri(&self.upstream.name, uri) {
            *uri = here;
        }
    }

    fn rename_in(&self, content: &mut Content) {
        match content {
            Content::Link(link) => self.rename(&mut link.uri),
            Content::Resource(embedded) => self.rename(&mut embedded.resource.uri),
            _ => {}
        }
    }
}

/// Takes out what the other server's codec has written: this one's writes its own.
fn strip(meta: &mut Option<Settings>) {
    if let Some(settings) = meta {
        settings.retain(|name, _| !is_reserved(name));
        if settings.is_empty() {
            *meta = None;
        }
    }
}

/// A tool may name a page that shows its results.
fn rename_pages(tool: &mut Tool, rename: impl Fn(&str) -> Option<String>) {
    let Some(meta) = &mut tool.meta else { return };
    let places = [meta.get("ui").and_then(|ui| ui.get("resourceUri")), meta.get("ui/resourceUri")];
    if places.iter().all(Option::is_none) {
        return;
    }
    let renamed = |value: &Value| value.as_str().and_then(&rename).map(Value::from);
    if let Some(page) = meta.get_mut("ui").and_then(|ui| ui.get_mut("resourceUri"))
        && let Some(here) = renamed(page)
    {
        *page = here;
    }
    if let Some(page) = meta.get_mut("ui/resourceUri")
        && let Some(here) = renamed(page)
    {
        *page = here;
    }
}

/// A tool of another server.
struct Foreign {
    way: Way,
    definition: Tool,
    original: String,
}

impl ToolHandler for Foreign {
    fn definition(&self) -> Tool {
        self.definition.clone()
    }

    fn call(&self, arguments: Arguments, scope: Scope) -> CallFuture {
        let request = Request::CallTool(CallTool::new(&*self.original, arguments.json().cloned()));
        let way = self.way.clone();
        let passing = Passing::new(&scope);
        Box::pin(async move {
            let passing = passing.ok_or_else(|| ToolError::new(NO_CALL))?;
            let mut result: CallToolResult = way.pass(request, passing).await.map_err(Failure::into_tool)?;
            strip(&mut result.meta);
            result.content.iter_mut().for_each(|content| way.rename_in(content));
            Ok(result)
        })
    }
}

/// A prompt of another server.
struct ForeignPrompt {
    way: Way,
    definition: Prompt,
    original: String,
    completes: bool,
}

impl PromptHandler for ForeignPrompt {
    fn definition(&self) -> Prompt {
        self.definition.clone()
    }

    fn get(&self, arguments: Values, scope: Scope) -> PromptFuture {
        let mut get = GetPrompt::new(&*self.original);
        let texts =
            arguments.iter().filter_map(|(name, value)| Some((name.to_owned(), value.as_text()?.to_owned())));
        get.arguments = (!arguments.is_empty()).then(|| texts.collect());
        let way = self.way.clone();
        let passing = Passing::new(&scope);
        Box::pin(async move {
            let passing = passing.ok_or_else(|| crate::server::PromptError::new(NO_CALL))?;
            let mut result: GetPromptResult =
                way.pass(Request::GetPrompt(get), passing).await.map_err(Failure::into_prompt)?;
            strip(&mut result.meta);
            result.messages.iter_mut().for_each(|message| way.rename_in(&mut message.content));
            Ok(result)
        })
    }

    fn completers(&self) -> Completers {
        let reference = Reference::Prompt(PromptReference::new(&*self.original));
        completers(self.completes, &self.way, reference)
    }
}

/// A resource of another server, or a family of them.
struct ForeignResource {
    way: Way,
    definition: ResourceDefinition,
    /// Its URI or its template there.
    original: String,
    completes: bool,
}

impl ResourceHandler for ForeignResource {
    fn definition(&self) -> ResourceDefinition {
        self.definition.clone()
    }

    fn read(&self, of: Reading, scope: Scope) -> ReadFuture {
        let way = self.way.clone();
        let passing = Passing::new(&scope);
        let uri = match &self.definition {
            ResourceDefinition::One(_) => self.original.clone(),
            // A family's URIs are routed one by one, and are its server's.
            ResourceDefinition::Family(_) => match way.common.find(&of.uri) {
                Some((upstream, uri)) if upstream.name == way.upstream.name => uri,
                _ => of.uri,
            },
        };
        Box::pin(async move {
            // A family takes URIs that are not offered one by one.
            if !way.common.edits.offers_resource(&way.upstream.name, &uri) {
                return Err(ResourceError::not_found());
            }
            let passing = passing.ok_or_else(|| ResourceError::new(NO_CALL))?;
            read(&way.common, &way.upstream, uri, passing).await
        })
    }

    fn completers(&self) -> Completers {
        let reference = Reference::Resource(ResourceReference::new(&*self.original));
        completers(self.completes, &self.way, reference)
    }
}

/// Reads a resource of another server, by its URI there.
pub(super) async fn read(
    common: &Arc<Common>,
    upstream: &Upstream,
    uri: String,
    passing: Passing,
) -> Result<ReadResourceResult, ResourceError> {
    let way = Way { common: common.clone(), upstream: upstream.clone() };
    let ctx = passing.ctx().clone();
    let call = Call { common, upstream, passing };
    let result = call.pass(reading(&uri)).await;
    let read = result.and_then(|result| {
        let contents: ReadResourceResult = way.decode(&result)?;
        Ok((contents, way.decode::<Hints>(&result)?))
    });
    let (mut contents, hints) = read.map_err(|failure| failure.into_resource(&uri))?;
    strip(&mut contents.meta);
    contents.contents.iter_mut().for_each(|contents| way.rename(&mut contents.uri));
    if let (Some(ttl), Some(scope)) = (hints.ttl_ms, hints.cache_scope) {
        ctx.cache(Duration::from_millis(ttl), scope);
    }
    Ok(contents)
}

/// How long what was read may be kept, where a server says so.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    ttl_ms: Option<u64>,
    cache_scope: Option<CacheScope>,
}

/// Who completes the arguments of something that a server has: the server, if it can.
fn completers(completes: bool, way: &Way, reference: Reference) -> Completers {
    if !completes {
        return Completers::default();
    }
    let way = way.clone();
    Completers::of_anything(Completer::function(move |typed: Completing, ctx: Ctx| {
        let (way, reference) = (way.clone(), reference.clone());
        async move { complete(&way, reference, typed, ctx).await }
    }))
}

async fn complete(
    way: &Way,
    reference: Reference,
    typed: Completing,
    ctx: Ctx,
) -> Result<Completion, BoxError> {
    let mut asked = Complete::new(reference, CompleteArgument::new(typed.name, typed.value));
    let known: BTreeMap<String, String> = typed.arguments;
    asked.context = (!known.is_empty()).then(|| CompleteContext::new().with_arguments(known));
    let request = Request::Complete(Box::new(asked));
    let result: Result<CompleteResult, Failure> = way.pass(request, Passing::of(ctx)).await;
    Ok(result.map_err(Failure::into_tool)?.completion)
}

/// Every handler has a call.
const NO_CALL: &str = "there is no call that could be passed on";
