//! Which requests can a client make? Each request is a method of [`Client`].

use std::collections::{BTreeMap, HashMap};

use toolway_protocol::request::{CallTool, GetPrompt, ReadResource, ResourceUri};
use toolway_protocol::types::{
    CallToolResult, Complete, CompleteArgument, CompleteContext, CompleteResult, Completion, GetPromptResult,
    LogLevel, Prompt, PromptReference, ReadResourceResult, Reference, Resource, ResourceReference,
    ResourceTemplate, Tool,
};
use toolway_protocol::{Method, RawJson, Request};

use crate::client::calls::exchange::{Exchange, decode};
use crate::client::calls::pages::Pages;
use crate::client::calls::result::ToolResult;
use crate::client::connect::client::Client;
use crate::client::connect::connection::{PING, timeout_error};
use crate::client::connect::tool_cache::Tools;
use crate::ground::error::Result;

impl Client {
    /// Checks whether the server responds. The stateless era has no `ping`, so there the client sends
    /// `server/discover`.
    pub fn ping(&self) -> Exchange<()> {
        Exchange::ignoring_result(self.shared.clone(), PING).safe_to_repeat(true)
    }

    /// Returns all tools of the server.
    ///
    /// The list is cached. The client fetches it again when the server has reported a change, or when the validity that
    /// the server stated has expired. [`list_tools`](Client::list_tools) always sends a request.
    ///
    /// In the stateless era, on transports with headers, a tool can require that arguments are also sent in headers. A
    /// tool whose declaration of these headers is invalid is left out.
    ///
    /// # Errors
    ///
    /// Like all lists of the server, the list has a [maximum length](crate::client::ClientBuilder::max_list). If it is
    /// longer, [`Error::is_too_large`](crate::Error::is_too_large) is `true`; [`list_tools`](Client::list_tools) returns
    /// the first tools nevertheless.
    pub async fn tools(&self) -> Result<Tools> {
        self.shared.tools().await
    }

    /// Reads the tool list, page by page.
    pub fn list_tools(&self) -> Pages<Tool> {
        Pages::of_tools(self.shared.clone())
    }

    /// Returns all resources of the server.
    pub async fn resources(&self) -> Result<Vec<Resource>> {
        self.list_resources().all().await
    }

    /// Reads the resource list, page by page.
    pub fn list_resources(&self) -> Pages<Resource> {
        Pages::of_resources(self.shared.clone())
    }

    /// Returns all resource templates of the server.
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        self.list_resource_templates().all().await
    }

    /// Reads the list of resource templates, page by page.
    pub fn list_resource_templates(&self) -> Pages<ResourceTemplate> {
        Pages::of_templates(self.shared.clone())
    }

    /// Returns all prompts of the server.
    pub async fn prompts(&self) -> Result<Vec<Prompt>> {
        self.list_prompts().all().await
    }

    /// Reads the prompt list, page by page.
    pub fn list_prompts(&self) -> Pages<Prompt> {
        Pages::of_prompts(self.shared.clone())
    }

    /// Calls a tool. `arguments` is a JSON object, such as `json!({"a": 2, "b": 3})`.
    ///
    /// If the tool fails, this does not return an error: see [`ToolResult`].
    pub fn call(&self, tool: impl Into<String>, arguments: impl Into<RawJson>) -> Exchange<ToolResult> {
        let call = CallTool::new(tool, Some(arguments.into()));
        Exchange::decoded::<CallToolResult>(self.shared.clone(), Request::CallTool(call))
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Exchange<ReadResourceResult> {
        Exchange::decoded::<ReadResourceResult>(
            self.shared.clone(),
            Request::ReadResource(ReadResource::new(uri)),
        )
    }

    /// Renders a prompt. Pass `()` if it has no arguments.
    pub fn get_prompt(
        &self,
        name: impl Into<String>,
        arguments: impl PromptArguments,
    ) -> Exchange<GetPromptResult> {
        let mut get = GetPrompt::new(name);
        get.arguments = Some(arguments.into_texts()).filter(|arguments| !arguments.is_empty());
        Exchange::decoded::<GetPromptResult>(self.shared.clone(), Request::GetPrompt(get))
    }

    /// Asks for completions of a prompt argument; `known` contains the arguments that already have values.
    pub fn complete_prompt(
        &self,
        prompt: impl Into<String>,
        argument: impl Into<String>,
        typed: impl Into<String>,
        known: impl PromptArguments,
    ) -> Exchange<Completion> {
        let reference = Reference::Prompt(PromptReference::new(prompt));
        self.complete(reference, CompleteArgument::new(argument, typed), known.into_texts())
    }

    /// Asks for completions of a variable of a resource template; `known` contains the variables that already have
    /// values.
    pub fn complete_resource(
        &self,
        template: impl Into<String>,
        variable: impl Into<String>,
        typed: impl Into<String>,
        known: impl PromptArguments,
    ) -> Exchange<Completion> {
        let reference = Reference::Resource(ResourceReference::new(template));
        self.complete(reference, CompleteArgument::new(variable, typed), known.into_texts())
    }

    fn complete(
        &self,
        reference: Reference,
        argument: CompleteArgument,
        known: BTreeMap<String, String>,
    ) -> Exchange<Completion> {
        let mut asked = Complete::new(reference, argument);
        if !known.is_empty() {
            asked.context = Some(CompleteContext::new().with_arguments(known));
        }
        Exchange::new(self.shared.clone(), Request::Complete(Box::new(asked)), |request, text| {
            decode::<CompleteResult>(request, &text).map(|result| result.completion)
        })
    }

    /// Sets the level of the log messages that the server sends. A server of the handshake era remembers the level; in
    /// the stateless era, each later request carries it.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<()> {
        let connection = self.shared.connection().await?;
        *self.shared.log_level.lock() = Some(level);
        match connection.set_log_level(level) {
            Some(request) => Exchange::ignoring_result(self.shared.clone(), request).await,
            None => Ok(()),
        }
    }

    /// Subscribes to the changes of a resource (handshake era). [`watch`](Client::watch) works in both eras.
    pub fn subscribe(&self, uri: impl Into<String>) -> Exchange<()> {
        Exchange::ignoring_result(self.shared.clone(), Request::Subscribe(ResourceUri::new(uri)))
    }

    /// Ends a subscription made with [`subscribe`](Client::subscribe).
    pub fn unsubscribe(&self, uri: impl Into<String>) -> Exchange<()> {
        Exchange::ignoring_result(self.shared.clone(), Request::Unsubscribe(ResourceUri::new(uri)))
    }

    /// Calls a method that is not part of the protocol. `params` is a JSON object, and the result is returned
    /// unchanged.
    pub fn request(&self, method: &str, params: impl Into<RawJson>) -> Exchange<RawJson> {
        let request = Request::Other(Method::from_name(method), Some(params.into()));
        Exchange::raw(self.shared.clone(), request)
    }

    /// Sends a notification that is not part of the protocol. `params` is a JSON object.
    pub async fn notify(&self, method: &str, params: impl Into<RawJson>) -> Result<()> {
        let (method, params) = (Method::from_name(method), params.into());
        let telling = async {
            let connection = self.shared.connection().await?;
            let outgoing = connection.era.notification(method.clone(), Some(&params));
            connection.limits.check(&outgoing)?;
            connection.transport.send(outgoing).await.map(drop)
        };
        match self.shared.reconnector.timeout() {
            None => telling.await,
            Some(limit) => tokio::time::timeout(limit, telling)
                .await
                .unwrap_or_else(|_| Err(timeout_error(&method, limit))),
        }
    }
}

/// Arguments of a prompt or variables of a resource template, as pairs of name and text. `()` is an empty list.
///
/// ```
/// use toolway::client::PromptArguments;
///
/// fn count(arguments: impl PromptArguments) -> usize {
///     arguments.into_texts().len()
/// }
/// assert_eq!(count(()), 0);
/// assert_eq!(count([("style", "formal"), ("title", "Rust")]), 2);
/// assert_eq!(count(vec![("style".to_owned(), "formal")]), 1);
/// ```
pub trait PromptArguments {
    /// Converts the arguments into a map from name to text.
    fn into_texts(self) -> BTreeMap<String, String>;
}

impl PromptArguments for () {
    fn into_texts(self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

impl<K: Into<String> + Clone, V: Into<String> + Clone> PromptArguments for &[(K, V)] {
    fn into_texts(self) -> BTreeMap<String, String> {
        self.to_vec().into_texts()
    }
}

macro_rules! texts {
    ($([$($parameters:tt)*] $pairs:ty;)*) => {
        $(impl<K: Into<String>, V: Into<String>, $($parameters)*> PromptArguments for $pairs {
            fn into_texts(self) -> BTreeMap<String, String> {
                self.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
            }
        })*
    };
}
texts! {
    [const N: usize] [(K, V); N];
    [] Vec<(K, V)>;
    [] BTreeMap<K, V>;
    [S: std::hash::BuildHasher] HashMap<K, V, S>;
}
