//! Which part of the server answers a request? One match, the same for every revision and every transport.

use std::time::{Duration, Instant};

use tokio_util::either::Either;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::request::{CallTool, GetPrompt, Outcome, ReadResource, Reply, Request};
use toolway_protocol::types::{
    CacheHints, CallToolResult, Complete, CompleteResult, Completion, Prompt, ReadResourceResult, Reference,
    ResourceTemplate, Tool,
};
use toolway_protocol::uri_template::UriTemplate;
use toolway_protocol::{Method, ProtocolVersion, RawJson, RpcError};

use crate::closest::closest;
use crate::ground::panic::catch_panic_async;
use crate::server::Server;
use crate::server::call::layer::reply::CallReply;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::visibility::Visibility;
use crate::server::catalog::cache::Cacheable;
use crate::server::catalog::completion::CompletionRequest;
use crate::server::catalog::method::arguments_of;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::registry::Snapshot;
use crate::server::catalog::resource::{ReadRequest, ResourceEntry};
use crate::server::catalog::tool::ToolEntry;
use crate::server::catalog::visible::private_hints;
use crate::server::failure::errors::{Failure, ResourceError, Subject};

impl Server {
    /// Returns whether this server offers a method. A method that is not offered is reported as unknown.
    pub(crate) fn offers(&self, method: &Method) -> bool {
        if let Method::Other(name) = method {
            return self.inner.methods.contains_key(&**name);
        }
        method
            .required_capability()
            .is_some_and(|offer| offer.is_declared(&self.inner.registry.load().capabilities))
    }

    /// Reads a request if this server offers its method.
    pub(crate) fn decode_request(
        &self,
        version: ProtocolVersion,
        method: &Method,
        params: &Params,
    ) -> Result<Request, RpcError> {
        let is_known = method.is_known_in(version) || matches!(method, Method::Other(_));
        let request = if is_known && self.offers(method) { Request::decode(method, params)? } else { None };
        request.ok_or_else(|| RpcError::method_not_found(method.name()))
    }

    /// Passes a request to the part of the server that answers it. Not an `async fn`, so that the future of a call of a tool
    /// holds the name and the arguments once, and not the whole request.
    pub(crate) fn route<'s>(
        &'s self,
        request: Request,
        scope: &'s Scope,
    ) -> impl Future<Output = Result<CallReply, Failure>> + Send + use<'s> {
        if let Request::CallTool(CallTool { name, arguments, .. }) = request {
            return Either::Left(async move {
                let result = self.call_tool(&name, arguments, scope).await?;
                Ok(self.complete_reply(Reply::ToolCalled(result), None, scope))
            });
        }
        // Boxed: calls of tools are the most frequent requests, and the future of all others is larger.
        Either::Right(Box::pin(self.route_other(request, scope)))
    }

    fn complete_reply(&self, reply: Reply, cache: Option<CacheHints>, scope: &Scope) -> CallReply {
        let hints = cache.as_ref().unwrap_or_else(|| self.inner.cache.hints_for(&reply));
        let cache = private_hints(scope.visibility(), &reply, hints).or(cache);
        CallReply { outcome: Outcome::Complete(reply), cache, replay: None }
    }

    async fn route_other(&self, request: Request, scope: &Scope) -> Result<CallReply, Failure> {
        let mut cache = None;
        let (cursors, allowed) = (&self.inner.cursor_key, scope.visibility());
        let reply = match request {
            Request::ListTools(page) => {
                let snapshot = self.inner.registry.load();
                let is_seen = |allowed: &Visibility, tool: &Tool| {
                    snapshot.tool(&tool.name).is_some_and(|tool| allowed.allows_tool(tool))
                };
                Reply::Tools(snapshot.tool_pages.page(page.cursor.as_deref(), cursors, allowed, is_seen)?)
            }
            Request::ListPrompts(page) => {
                let snapshot = self.inner.registry.load();
                let is_seen = |allowed: &Visibility, prompt: &Prompt| {
                    snapshot.prompt(&prompt.name).is_some_and(|prompt| allowed.allows_prompt(prompt))
                };
                Reply::Prompts(snapshot.prompt_pages.page(
                    page.cursor.as_deref(),
                    cursors,
                    allowed,
                    is_seen,
                )?)
            }
            Request::ListResourceTemplates(page) => {
                let snapshot = self.inner.registry.load();
                let is_seen = |allowed: &Visibility, template: &ResourceTemplate| {
                    snapshot
                        .resource_at(&template.uri_template)
                        .is_some_and(|entry| allowed.allows_entry(entry))
                };
                Reply::ResourceTemplates(snapshot.template_pages.page(
                    page.cursor.as_deref(),
                    cursors,
                    allowed,
                    is_seen,
                )?)
            }
            Request::ListResources(page) => {
                let reply = match self.list_resources(&page, scope).await {
                    Ok(reply) => reply,
                    Err(failure) => {
                        return Err(self
                            .request_failure(
                                scope,
                                Subject::new(&Method::ListResources, "list", "resources"),
                                failure,
                            )
                            .await);
                    }
                };
                // All pages of a list must have the same cache scope. Therefore the handler sets only how long the
                // pages are valid, and the server sets for which clients.
                let readers = &self.inner.cache.get(Cacheable::Resources).cache_scope;
                cache = scope.cache_hints().map(|hints| CacheHints::new(hints.ttl_ms, readers.clone()));
                reply
            }
            Request::ReadResource(ReadResource { uri, .. }) => {
                let result = self.read_resource(uri, scope).await?;
                cache = scope.cache_hints();
                Reply::ResourceRead(result)
            }
            Request::GetPrompt(get) => self.get_prompt(get, scope).await?,
            Request::Complete(asked) => {
                Reply::Completed(CompleteResult::new(self.complete(*asked, scope).await?))
            }
            Request::Other(method, params) => self.call_method(&method, params.as_ref(), scope).await?,
            // `route` passes calls of tools elsewhere. The others change the state of a connection, so `handshake/` and
            // `stateless/` answer them.
            request @ (Request::CallTool(_)
            | Request::Subscribe(_)
            | Request::Unsubscribe(_)
            | Request::SetLogLevel(_)
            | Request::Listen(_)) => {
                return Err(RpcError::method_not_found(request.method().name()).into());
            }
        };
        Ok(self.complete_reply(reply, cache, scope))
    }

    async fn call_tool(
        &self,
        name: &str,
        arguments: Option<RawJson>,
        scope: &Scope,
    ) -> Result<CallToolResult, Failure> {
        // Cloning the entry would cost more than a reference count on its snapshot.
        let snapshot = self.inner.registry.load_full();
        let is_seen = |tool: &&ToolEntry| scope.visibility().is_none_or(|allowed| allowed.allows_tool(tool));
        let Some(tool) = snapshot.tool(name).filter(is_seen) else {
            let seen =
                snapshot.tool_names().filter(|name| snapshot.tool(name).is_some_and(|tool| is_seen(&tool)));
            return Err(unknown_name_error("tool", name, seen).into());
        };
        let sent = self.arguments_for_report(arguments.as_ref());
        match tool.call(arguments, scope).await {
            Ok(result) => Ok(result),
            Err(failure) => {
                self.tool_failure(
                    scope,
                    Subject::new(&Method::CallTool, "tool", &tool.definition().name),
                    sent,
                    failure,
                )
                .await
            }
        }
    }

    async fn get_prompt(&self, get: GetPrompt, scope: &Scope) -> Result<Reply, Failure> {
        let snapshot = self.inner.registry.load_full();
        let prompt = visible_prompt(&snapshot, &get.name, scope.visibility())?;
        match prompt.get(get.arguments.unwrap_or_default(), scope).await {
            Ok(result) => Ok(Reply::PromptFilled(result)),
            Err(failure) => Err(self
                .request_failure(
                    scope,
                    Subject::new(&Method::GetPrompt, "prompt", &prompt.definition().name),
                    failure,
                )
                .await),
        }
    }

    /// Calls a custom method of the application.
    async fn call_method(
        &self,
        method: &Method,
        params: Option<&RawJson>,
        scope: &Scope,
    ) -> Result<Reply, Failure> {
        let Some(handler) = self.inner.methods.get(method.name()) else {
            return Err(RpcError::method_not_found(method.name()).into());
        };
        match handler.call_catching_panics(arguments_of(params), scope).await {
            Ok(result) => Ok(Reply::Custom(result)),
            Err(failure) => {
                Err(self.request_failure(scope, Subject::new(method, "method", method.name()), failure).await)
            }
        }
    }

    /// Passes a custom notification to its handler. Nothing is sent back, even if the handler fails.
    pub(crate) async fn handle_notification(&self, method: &Method, params: &Params, arrival: Box<Arrival>) {
        let Some((handler, pace)) = self.inner.notifications.get(method.name()) else { return };
        let scope = Scope::begin(self.clone(), arrival);
        if let Err(failure) = handler.call_catching_panics(arguments_of(params.text().as_ref()), &scope).await
        {
            // A failure of the handler goes to the log and to the hook. Wrong parameters would be reported in the reply to
            // a request; here they are logged, without the text of the error, which may quote them.
            let is_logged = matches!(failure, Failure::Hidden(_));
            let _ = self
                .request_failure(&scope, Subject::new(method, "notification", method.name()), failure)
                .await;
            if !is_logged && pace.is_due(LOG_INTERVAL, Instant::now()) {
                let method = method.name();
                tracing::warn!(
                    method,
                    "the notification `{method}` was dropped: its params do not fit its handler"
                );
            }
        }
    }

    async fn read_resource(&self, uri: String, scope: &Scope) -> Result<ReadResourceResult, Failure> {
        if let Some(allowed) = scope.visibility()
            && !allowed.allows_uri(&self.inner.registry.load(), &uri)
        {
            return Err(Failure::NoSuchResource(uri));
        }
        let name = uri.clone();
        match self.read_any(uri, scope, scope.visibility()).await {
            Ok(result) => Ok(result),
            Err(Failure::NotFound) if !scope.question_log().has_open_questions() => {
                Err(Failure::NoSuchResource(name))
            }
            Err(failure) => Err(self
                .request_failure(scope, Subject::new(&Method::ReadResource, "resource", &name), failure)
                .await),
        }
    }

    /// Reads a resource for a handler. A handler may also read resources that its caller may not see.
    pub(crate) async fn read_in_process(
        &self,
        uri: String,
        scope: &Scope,
    ) -> Result<ReadResourceResult, ResourceError> {
        self.read_any(uri, scope, None).await.map_err(ResourceError)
    }

    /// Reads a resource. Tries, in this order: the resource with this URI, a template that matches it, the server's own
    /// `read_resource` handlers, and the sources behind this server, as far as the caller may see them.
    async fn read_any(
        &self,
        uri: String,
        scope: &Scope,
        allowed: Option<&Visibility>,
    ) -> Result<ReadResourceResult, Failure> {
        let snapshot = self.inner.registry.load_full();
        let mut reading = ReadRequest::new(uri, self.max_message());
        if let Some((entry, variables)) = snapshot.find(&reading.uri) {
            reading.mime_type = entry.definition().mime_type().cloned();
            reading.variables = variables;
            if entry.handler.is_some() {
                return entry.read(reading, scope).await;
            }
        }
        for reader in &self.inner.read_handlers {
            match reader.call_catching_panics(reading.clone(), scope).await {
                Err(Failure::NotFound) => {}
                outcome => return outcome,
            }
        }
        if self.has_sources() {
            if scope.is_answer
                && let Some(refuse) = self.refuse_unscoped_source(&reading.uri, scope.arrival())
            {
                return Err(refuse.error().into());
            }
            // Boxed: most servers have no sources.
            return Box::pin(self.inner.sources.read(&reading, scope, allowed)).await;
        }
        Err(Failure::NotFound)
    }

    async fn complete(&self, asked: Complete, scope: &Scope) -> Result<Completion, Failure> {
        let snapshot = self.inner.registry.load_full();
        let (completers, known, states): (_, Vec<&str>, _) = match &asked.reference {
            Reference::Prompt(reference) => {
                let prompt = visible_prompt(&snapshot, &reference.name, scope.visibility())?;
                (&prompt.completers, prompt.arguments().collect(), &prompt.origin.states)
            }
            Reference::Resource(reference) => {
                let is_seen = |entry: &&ResourceEntry| {
                    scope.visibility().is_none_or(|allowed| allowed.allows_entry(entry))
                };
                let Some(resource) = snapshot.resource_at(&reference.uri).filter(is_seen) else {
                    let text = format!("no such resource or template: `{}`", reference.uri);
                    return Err(RpcError::invalid_params(text).into());
                };
                let known = resource.template().into_iter().flat_map(UriTemplate::variables);
                (&resource.completers, known.collect(), &resource.origin.states)
            }
        };
        let name = &asked.argument.name;
        if !completers.accepts_any_argument() && !known.contains(&name.as_str()) {
            return Err(unknown_name_error("argument", name, known.into_iter()).into());
        }
        let Some(completer) = completers.get(name) else { return Ok(Completion::new(Vec::new())) };
        let mut typed = CompletionRequest::new(name, asked.argument.value);
        typed.arguments = asked.context.and_then(|context| context.arguments).unwrap_or_default();
        let own = scope.with_states(states.as_ref());
        let failure = match catch_panic_async(|| Box::pin(completer.complete(typed, &own))).await {
            Ok(Ok(completion)) => return Ok(completion),
            Ok(Err(error)) => Failure::unbox(error),
            Err(panic) => Failure::Hidden(Box::new(panic)),
        };
        Err(self
            .request_failure(scope, Subject::new(&Method::Complete, "completion of", name), failure)
            .await)
    }
}

/// Returns the prompt with this name, if the caller may see it.
fn visible_prompt<'s>(
    snapshot: &'s Snapshot,
    name: &str,
    allowed: Option<&Visibility>,
) -> Result<&'s PromptEntry, RpcError> {
    let is_seen = |prompt: &&PromptEntry| allowed.is_none_or(|allowed| allowed.allows_prompt(prompt));
    let found = snapshot.prompt(name).filter(is_seen);
    found.ok_or_else(|| {
        let seen = snapshot
            .prompt_names()
            .filter(|name| snapshot.prompt(name).is_some_and(|prompt| is_seen(&prompt)));
        unknown_name_error("prompt", name, seen)
    })
}

fn unknown_name_error<'n>(kind: &str, name: &str, known: impl Iterator<Item = &'n str>) -> RpcError {
    let hint = match closest(name, known) {
        Some(meant) => format!(", did you mean `{meant}`?"),
        None => String::new(),
    };
    RpcError::invalid_params(format!("no such {kind}: `{name}`{hint}"))
}

/// The minimum time between two log messages about notifications of one method that were dropped.
const LOG_INTERVAL: Duration = Duration::from_secs(1);
