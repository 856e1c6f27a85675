//! What may be asked of the servers of a hub, and who answers?

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
    /// The tools of all servers, for a model: those of now, under their joined names. It costs nothing to ask.
    ///
    /// Calls of them go through the hub as long as it is there. Whoever keeps the list does not keep the servers.
    pub fn tools(&self) -> ToolSet {
        self.snapshot().tools.clone()
    }

    /// The same tools as the protocol has them.
    pub fn tool_definitions(&self) -> Arc<[Tool]> {
        self.snapshot().definitions.clone()
    }

    /// The prompts of all servers, under their joined names.
    pub fn prompts(&self) -> Arc<[Prompt]> {
        self.snapshot().prompts.clone()
    }

    /// The resources of all servers. A URI that two servers have is `hub://server/` and the URI: see
    /// [`Uris`](super::Uris).
    pub fn resources(&self) -> Arc<[Resource]> {
        self.snapshot().resources.clone()
    }

    /// The families of resources of all servers.
    pub fn resource_templates(&self) -> Arc<[ResourceTemplate]> {
        self.snapshot().templates.clone()
    }

    /// Whose a tool is, and what it is called there; for calls that need more than [`call`](Hub::call) has to offer.
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
        reached(self.snapshot().tool(tool))
    }

    /// Whose a prompt is, and what it is called there.
    pub fn route_prompt(&self, prompt: &str) -> Option<(Client, String)> {
        reached(self.snapshot().prompt(prompt))
    }

    /// Whose a resource is, and what its URI is there.
    pub fn route_resource(&self, uri: &str) -> Option<(Client, String)> {
        reached(self.snapshot().resource(uri))
    }

    /// Whose a family of resources is, and what it is there.
    pub fn route_template(&self, template: &str) -> Option<(Client, String)> {
        reached(self.snapshot().template(template))
    }

    /// Calls a tool by its joined name, as [`Client::call`] does.
    ///
    /// # Errors
    ///
    /// There is no such tool, or its server is not there. A tool that failed is no error: see [`ToolResult`].
    pub async fn call(&self, tool: &str, arguments: impl Into<RawJson>) -> Result<ToolResult> {
        let arguments = arguments.into();
        let snapshot = self.snapshot();
        let Some((member, name)) = snapshot.tool(tool) else {
            // Nobody knows which tools a server has that was never reached.
            return Err(match snapshot.unknown_yet(tool) {
                Some(member) => member.client().err().unwrap_or_else(|| snapshot.no_such_tool(tool)),
                None => snapshot.no_such_tool(tool),
            });
        };
        member.ask(|client| client.call(name, arguments)).await
    }

    /// Makes the calls of a model at the same time, and answers them in their order. Nothing fails as a whole: a tool
    /// that fails, is not there, or whose server is gone is one answer that says so.
    ///
    /// # Cancellation
    ///
    /// Dropping the future gives up what is still under way, and the servers are told.
    pub async fn call_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolAnswer> {
        let snapshot = self.snapshot();
        let mut tools = snapshot.tools.clone();
        let calls: Vec<_> = calls.into_iter().collect();
        for call in &calls {
            if tools.get(&call.name).is_none()
                && let Some(member) = snapshot.unknown_yet(&call.name)
            {
                tools = tools.with(absent(&call.name, member));
            }
        }
        tools.call_all(calls).await
    }

    /// Reads a resource by its URI in the hub, as [`Client::read_resource`] does. URIs in the result are those of the hub too.
    ///
    /// # Errors
    ///
    /// The URI is of no server, or of more than one; or the server is not there.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult> {
        let snapshot = self.snapshot();
        let (member, original) = snapshot.resource(uri).ok_or_else(|| no_such("resource", uri, None))?;
        let mut result = member.ask(|client| client.read_resource(original)).await?;
        for contents in &mut result.contents {
            if let Some(uri) = snapshot.uri(&member.name, &contents.uri) {
                contents.uri = uri;
            }
        }
        Ok(result)
    }

    /// Fills in a prompt by its joined name, as [`Client::get_prompt`] does.
    pub async fn get_prompt(&self, name: &str, arguments: impl PromptArguments) -> Result<GetPromptResult> {
        let arguments = arguments.into_texts();
        let snapshot = self.snapshot();
        let (member, original) = snapshot.prompt(name).ok_or_else(|| snapshot.no_such_prompt(name))?;
        member.ask(|client| client.get_prompt(original, arguments)).await
    }

    /// Asks how an argument of a prompt might go on, as [`Client::complete_prompt`] does.
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
        member.ask(|client| client.complete_prompt(original, argument, typed, known)).await
    }

    /// Asks how a variable of a family of resources might go on, as [`Client::complete_resource`] does.
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
            snapshot.template(template).ok_or_else(|| no_such("family of resources", template, None))?;
        member.ask(|client| client.complete_resource(original, variable, typed, known)).await
    }
}

fn reached(found: Option<(&Arc<Member>, &str)>) -> Option<(Client, String)> {
    let (member, original) = found?;
    Some((member.client().ok()?, original.to_owned()))
}

/// A tool of a server of which nobody knows yet what it has.
fn absent(name: &str, member: &Arc<Member>) -> impl AgentTool {
    let (tool, member) = (name.to_owned(), member.clone());
    agent::tool(name, "", serde_json::json!({}), move |_: RawJson| {
        let failure = ToolFailure::unavailable(&*tool);
        let failure = match member.client() {
            Err(error) => failure.caused_by(error),
            Ok(_) => failure,
        };
        std::future::ready(Err::<ToolOutput, _>(failure))
    })
}
