//! How do tools, prompts and resources of another server become entries of this one?
//!
//! Definitions are listed as the other server sent them, under their names on this server. Arguments and results are
//! forwarded unchanged, except for the URIs in results, which are translated to URIs of this server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolway_protocol::capability::JsonObject;
use toolway_protocol::meta::is_reserved;
use toolway_protocol::request::{CallTool, GetPrompt, ReadResource};
use toolway_protocol::types::{
    CacheScope, CallToolResult, Complete, CompleteArgument, CompleteContext, CompleteResult, Completion,
    GetPromptResult, Prompt, PromptReference, ReadResourceResult, Reference, ResourceReference, Tool,
};
use toolway_protocol::{RawJson, Request};

use super::call::UpstreamCall;
use super::failure::Failure;
use super::upstreams::{UpstreamRef, Upstreams};
use crate::ground::mistakes::BoxError;
use crate::hub::{HubSnapshot, Member};
use crate::server::catalog::prompt::PromptFuture;
use crate::server::catalog::resource::ReadFuture;
use crate::server::catalog::tool::CallFuture;
use crate::server::element::{
    Completers, Elements, PromptHandler, ResourceDefinition, ResourceHandler, ToolHandler, Values,
};
use crate::server::parameter::{Arguments, Scope};
use crate::server::{
    Completer, CompletionRequest, Ctx, ForwardedCall, PromptEntry, PromptError, ReadRequest, ResourceEntry,
    ResourceError, ToolEntry, ToolError,
};

/// Creates entries for all elements that the servers list and that the edits do not leave out.
pub(super) fn entries(upstreams: &Arc<Upstreams>, snapshot: &HubSnapshot) -> Elements {
    let edits = &upstreams.edits;
    let servers: HashMap<_, _> =
        snapshot.upstreams().map(|upstream| (upstream.name.clone(), upstream)).collect();
    // Returns the server of an element, if the server is connected, and the element's name on that server.
    let origin = |found: Option<(&Arc<Member>, &str)>| {
        let (member, original) = found?;
        let upstream = servers.get(&member.name)?.clone();
        Some((UpstreamRef { upstreams: upstreams.clone(), upstream }, original.to_owned()))
    };
    let mut elements = Elements::new();
    for tool in &*snapshot.definitions {
        if let Some((upstream, original)) = origin(snapshot.tool(&tool.name))
            && let Some(mut definition) = edits.edit_tool(tool.clone())
        {
            translate_page_uris(&mut definition, |uri| snapshot.uri(upstream.name(), uri));
            elements = elements.tool(ToolEntry::foreign(ForeignElement { upstream, definition, original }));
        }
    }
    for prompt in &*snapshot.prompts {
        if let Some((upstream, original)) = origin(snapshot.prompt(&prompt.name))
            && let Some(definition) = edits.edit_prompt(prompt.clone())
        {
            elements =
                elements.prompt(PromptEntry::foreign(ForeignElement { upstream, definition, original }));
        }
    }
    let resources = snapshot
        .resources
        .iter()
        .map(|resource| (snapshot.resource(&resource.uri), ResourceDefinition::from(resource.clone())));
    let templates = snapshot.templates.iter().map(|template| {
        (snapshot.template(&template.uri_template), ResourceDefinition::from(template.clone()))
    });
    for (found, definition) in resources.chain(templates) {
        if let Some((upstream, original)) = origin(found)
            && edits.offers_resource(upstream.name(), &original)
        {
            elements =
                elements.resource(ResourceEntry::foreign(ForeignElement { upstream, definition, original }));
        }
    }
    elements
}

/// Forwards a request and decodes the result.
async fn forward<T: DeserializeOwned>(
    upstream: &UpstreamRef,
    request: Request,
    passing: ForwardedCall,
) -> Result<T, Failure> {
    let result = UpstreamCall { upstream, downstream: passing }.forward(request).await?;
    decode(upstream, &result)
}

fn decode<T: DeserializeOwned>(upstream: &UpstreamRef, result: &RawJson) -> Result<T, Failure> {
    result.decode().map_err(|error| Failure::malformed(&upstream.upstream, error))
}

/// Removes the reserved members of the other server's `_meta`; this server writes its own.
fn strip_reserved_meta(meta: &mut Option<JsonObject>) {
    if let Some(settings) = meta {
        settings.retain(|name, _| !is_reserved(name));
        if settings.is_empty() {
            *meta = None;
        }
    }
}

/// Translates the URI of the page that shows the results of a tool, if it names one.
fn translate_page_uris(tool: &mut Tool, rename: impl Fn(&str) -> Option<String>) {
    let Some(meta) = &mut tool.meta else { return };
    let rename_in = |page: Option<&mut Value>| {
        if let Some(page) = page
            && let Some(here) = page.as_str().and_then(&rename)
        {
            *page = here.into();
        }
    };
    rename_in(meta.get_mut("ui").and_then(|ui| ui.get_mut("resourceUri")));
    rename_in(meta.get_mut("ui/resourceUri"));
}

/// A tool, a prompt, a resource or a resource template of another server.
struct ForeignElement<D> {
    upstream: UpstreamRef,
    definition: D,
    /// The name, URI or template of the element on that server.
    original: String,
}

impl ToolHandler for ForeignElement<Tool> {
    fn definition(&self) -> Tool {
        self.definition.clone()
    }

    fn call(&self, arguments: Arguments, scope: Scope) -> CallFuture {
        let request = Request::CallTool(CallTool::new(&*self.original, arguments.json().cloned()));
        let upstream = self.upstream.clone();
        let passing = ForwardedCall::new(&scope);
        Box::pin(async move {
            let mut result: CallToolResult = forward(&upstream, request, passing)
                .await
                .map_err(|failure| failure.into_error(ToolError::new))?;
            strip_reserved_meta(&mut result.meta);
            result.content.iter_mut().for_each(|content| upstream.translate_content(content));
            Ok(result)
        })
    }
}

impl PromptHandler for ForeignElement<Prompt> {
    fn definition(&self) -> Prompt {
        self.definition.clone()
    }

    fn get(&self, arguments: Values, scope: Scope) -> PromptFuture {
        let mut get = GetPrompt::new(&*self.original);
        let texts =
            arguments.iter().filter_map(|(name, value)| Some((name.to_owned(), value.as_text()?.to_owned())));
        get.arguments = (!arguments.is_empty()).then(|| texts.collect());
        let upstream = self.upstream.clone();
        let passing = ForwardedCall::new(&scope);
        Box::pin(async move {
            let mut result: GetPromptResult = forward(&upstream, Request::GetPrompt(get), passing)
                .await
                .map_err(|failure| failure.into_error(PromptError::new))?;
            strip_reserved_meta(&mut result.meta);
            result.messages.iter_mut().for_each(|message| upstream.translate_content(&mut message.content));
            Ok(result)
        })
    }

    fn completers(&self) -> Completers {
        let reference = Reference::Prompt(PromptReference::new(&*self.original));
        completers(&self.upstream, reference)
    }
}

impl ResourceHandler for ForeignElement<ResourceDefinition> {
    fn definition(&self) -> ResourceDefinition {
        self.definition.clone()
    }

    fn read(&self, of: ReadRequest, scope: Scope) -> ReadFuture {
        let upstream = self.upstream.clone();
        let passing = ForwardedCall::new(&scope);
        let uri = match &self.definition {
            ResourceDefinition::Resource(_) => self.original.clone(),
            // The requested URI is translated to the URI on the server of the template.
            ResourceDefinition::Template(_) => match upstream.upstreams.find(&of.uri) {
                Some((owner, uri)) if *owner.name == *upstream.name() => uri,
                _ => of.uri,
            },
        };
        Box::pin(async move {
            // A template also matches URIs that the filter excludes.
            if !upstream.upstreams.edits.offers_resource(upstream.name(), &uri) {
                return Err(ResourceError::not_found());
            }
            read(&upstream, uri, passing).await
        })
    }

    fn completers(&self) -> Completers {
        match &self.definition {
            ResourceDefinition::Resource(_) => Completers::default(),
            ResourceDefinition::Template(_) => {
                let reference = Reference::Resource(ResourceReference::new(&*self.original));
                completers(&self.upstream, reference)
            }
        }
    }
}

/// Reads a resource of another server. `uri` is the URI on that server.
pub(super) async fn read(
    upstream: &UpstreamRef,
    uri: String,
    passing: ForwardedCall,
) -> Result<ReadResourceResult, ResourceError> {
    let ctx = passing.ctx().clone();
    let result = UpstreamCall { upstream, downstream: passing }
        .forward(Request::ReadResource(ReadResource::new(&*uri)))
        .await;
    let read = result.and_then(|result| {
        let contents: ReadResourceResult = decode(upstream, &result)?;
        Ok((contents, decode::<Hints>(upstream, &result)?))
    });
    let (mut contents, hints) = read.map_err(|failure| failure.into_resource_error(&uri))?;
    strip_reserved_meta(&mut contents.meta);
    contents.contents.iter_mut().for_each(|contents| upstream.translate_uri(&mut contents.uri));
    if let (Some(ttl), Some(scope)) = (hints.ttl_ms, hints.cache_scope) {
        ctx.cache(Duration::from_millis(ttl), scope);
    }
    Ok(contents)
}

/// How long the result may be cached, if the server says so.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    ttl_ms: Option<u64>,
    cache_scope: Option<CacheScope>,
}

/// Returns completers that forward to the server, if it supports completion.
fn completers(upstream: &UpstreamRef, reference: Reference) -> Completers {
    if !upstream.upstream.client.supports_completion() {
        return Completers::default();
    }
    let upstream = upstream.clone();
    Completers::for_any_argument(Completer::function(move |typed: CompletionRequest, ctx: Ctx| {
        let (upstream, reference) = (upstream.clone(), reference.clone());
        async move { complete(&upstream, reference, typed, ctx).await }
    }))
}

async fn complete(
    upstream: &UpstreamRef,
    reference: Reference,
    typed: CompletionRequest,
    ctx: Ctx,
) -> Result<Completion, BoxError> {
    let mut asked = Complete::new(reference, CompleteArgument::new(typed.name, typed.value));
    let known: BTreeMap<String, String> = typed.arguments;
    asked.context = (!known.is_empty()).then(|| CompleteContext::new().with_arguments(known));
    let request = Request::Complete(Box::new(asked));
    let result: Result<CompleteResult, Failure> =
        forward(upstream, request, ForwardedCall::from_ctx(ctx)).await;
    Ok(result.map_err(|failure| failure.into_error(ToolError::new))?.completion)
}
