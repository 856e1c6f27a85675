//! Which requests can be made to the servers of a hub, and which server answers?

use std::sync::Arc;

use toolway_protocol::RawJson;
use toolway_protocol::types::{
    Completion, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, Tool,
};

use super::handle::Hub;
use super::member::Member;
use super::snapshot::no_such;
use crate::agent::{self, AgentTool, ToolAnswer, ToolCall, ToolFailure, ToolOutput, ToolSet};
use crate::client::{Client, PromptArguments, ToolResult};
use crate::ground::error::Result;

impl Hub {
    /// Returns the current tools of all servers for a model, under their joined names. This is cheap: it makes no
    /// requests.
    ///
    /// Calls of these tools go through the hub as long as it exists. The list does not keep the servers connected.
    pub fn tools(&self) -> ToolSet {
        self.snapshot().tools()
    }

    /// Returns the current tools of all servers as protocol types, under their joined names.
    pub fn tool_definitions(&self) -> Arc<[Tool]> {
        self.snapshot().definitions.clone()
    }

    /// Returns the prompts of all servers, under their joined names.
    pub fn prompts(&self) -> Arc<[Prompt]> {
        self.snapshot().prompts.clone()
    }

    /// Returns the resources of all servers. A URI that two servers have is prefixed with `hub://server/`; see
    /// [`Uris`](super::Uris).
    pub fn resources(&self) -> Arc<[Resource]> {
        self.snapshot().resources.clone()
    }

    /// Returns the resource templates of all servers.
    pub fn resource_templates(&self) -> Arc<[ResourceTemplate]> {
        self.snapshot().templates.clone()
    }

    /// Returns the client of the server that has a tool, and the tool's name on that server. Use this for calls that
    /// need more options than [`call`](Hub::call) has.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # use std::time::Duration;
    /// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
    /// # let hub = Hub::new();
    /// # hub.connect("calc", &server).await?;
    /// let (client, tool) = hub.route("calc__add").expect("there is such a tool");
    /// let sum = client.call(tool, serde_json::json!({"a": 2, "b": 3})).timeout(Duration::from_secs(5)).await?;
    /// assert_eq!(sum.text()?, "5");
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn route(&self, tool: &str) -> Option<(Client, String)> {
        client_and_name(self.snapshot().tool(tool))
    }

    /// Returns the client of the server that has a prompt, and the prompt's name on that server.
    pub fn route_prompt(&self, prompt: &str) -> Option<(Client, String)> {
        client_and_name(self.snapshot().prompt(prompt))
    }

    /// Returns the client of the server that has a resource, and the resource's URI on that server.
    pub fn route_resource(&self, uri: &str) -> Option<(Client, String)> {
        client_and_name(self.snapshot().resource(uri))
    }

    /// Returns the client of the server that has a resource template, and the template on that server.
    pub fn route_template(&self, template: &str) -> Option<(Client, String)> {
        client_and_name(self.snapshot().template(template))
    }

    /// Calls a tool by its joined name, as [`Client::call`] does.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool does not exist or its server is unavailable. A tool that fails is not an error; see
    /// [`ToolResult`].
    pub async fn call(&self, tool: &str, arguments: impl Into<RawJson>) -> Result<ToolResult> {
        let arguments = arguments.into();
        let snapshot = self.snapshot();
        let Some((member, name)) = snapshot.tool(tool) else {
            // The tools of a server that was never connected are unknown.
            return Err(match snapshot.member_without_lists(tool) {
                Some(member) => member.client().err().unwrap_or_else(|| snapshot.no_such_tool(tool)),
                None => snapshot.no_such_tool(tool),
            });
        };
        member.request(|client| client.call(name, arguments)).await
    }

    /// Makes the calls of a model concurrently, and returns the answers in the same order. A tool that fails, does not
    /// exist, or whose server is unavailable affects only its own answer.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels all calls that have not completed, and notifies the servers.
    pub async fn call_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolAnswer> {
        let snapshot = self.snapshot();
        let mut tools = snapshot.tools();
        let calls: Vec<_> = calls.into_iter().collect();
        for call in &calls {
            if tools.get(&call.name).is_none()
                && let Some(member) = snapshot.member_without_lists(&call.name)
            {
                tools = tools.with(unavailable_tool(&call.name, member));
            }
        }
        tools.call_all(calls).await
    }

    /// Reads a resource by its URI in the hub, as [`Client::read_resource`] does. URIs in the result are translated to
    /// URIs of the hub.
    ///
    /// # Errors
    ///
    /// Returns an error if no server or more than one server has the URI, or if the server is unavailable.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult> {
        let snapshot = self.snapshot();
        let (member, original) = snapshot.resource(uri).ok_or_else(|| no_such("resource", uri, None))?;
        let mut result = member.request(|client| client.read_resource(original)).await?;
        for contents in &mut result.contents {
            if let Some(uri) = snapshot.uri(&member.name, &contents.uri) {
                contents.uri = uri;
            }
        }
        Ok(result)
    }

    /// Gets a prompt by its joined name, as [`Client::get_prompt`] does.
    pub async fn get_prompt(&self, name: &str, arguments: impl PromptArguments) -> Result<GetPromptResult> {
        let arguments = arguments.into_texts();
        let snapshot = self.snapshot();
        let (member, original) = snapshot.prompt(name).ok_or_else(|| snapshot.no_such_prompt(name))?;
        member.request(|client| client.get_prompt(original, arguments)).await
    }

    /// Requests completions for an argument of a prompt, as [`Client::complete_prompt`] does.
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        typed: &str,
        known: impl PromptArguments,
    ) -> Result<Completion> {
        let known = known.into_texts();
        let snapshot = self.snapshot();
        let (member, original) = snapshot.prompt(prompt).ok_or_else(|| snapshot.no_such_prompt(prompt))?;
        member.request(|client| client.complete_prompt(original, argument, typed, known)).await
    }

    /// Requests completions for a variable of a resource template, as [`Client::complete_resource`] does.
    pub async fn complete_resource(
        &self,
        template: &str,
        variable: &str,
        typed: &str,
        known: impl PromptArguments,
    ) -> Result<Completion> {
        let known = known.into_texts();
        let snapshot = self.snapshot();
        let (member, original) =
            snapshot.template(template).ok_or_else(|| no_such("resource template", template, None))?;
        member.request(|client| client.complete_resource(original, variable, typed, known)).await
    }
}

fn client_and_name(found: Option<(&Arc<Member>, &str)>) -> Option<(Client, String)> {
    let (member, original) = found?;
    Some((member.client().ok()?, original.to_owned()))
}

/// Creates a tool that fails as unavailable, for a server whose tools are not known yet.
fn unavailable_tool(name: &str, member: &Arc<Member>) -> impl AgentTool {
    let (tool, member) = (name.to_owned(), member.clone());
    agent::native_tool(name, "", serde_json::json!({}), move |_: RawJson| {
        let failure = ToolFailure::unavailable(&*tool);
        let failure = match member.client() {
            Err(error) => failure.caused_by(error),
            Ok(_) => failure,
        };
        std::future::ready(Err::<ToolOutput, _>(failure))
    })
}
