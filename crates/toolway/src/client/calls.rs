//! What may be asked of a server? One method a question.

use std::collections::BTreeMap;

use serde::Deserialize;
use toolway_protocol::request::{CallTool, GetPrompt, Page, ReadResource, ResourceUri, SetLogLevel};
use toolway_protocol::types::{
    CallToolResult, Complete, CompleteArgument, CompleteContext, CompleteResult, Completion, GetPromptResult,
    LogLevel, Prompt, PromptReference, ReadResourceResult, Reference, Resource, ResourceReference,
    ResourceTemplate, Tool,
};
use toolway_protocol::{Method, RawJson, Request};

use super::{Client, Dress};
use crate::error::{Error, ErrorKind, Result};

/// How many pages of a list are read. A server whose pages never end is not followed for ever.
const MAX_PAGES: usize = 1000;

macro_rules! lists {
    ($($(#[doc = $doc:literal])* $name:ident -> $item:ty, $request:ident, $member:literal;)*) => {
        impl Client {
            $($(#[doc = $doc])*
            pub async fn $name(&self) -> Result<Vec<$item>> {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Listed {
                    #[serde(rename = $member)]
                    items: Vec<$item>,
                    next_cursor: Option<String>,
                }
                let mut items = Vec::new();
                let mut page = Page::new();
                for _ in 0..MAX_PAGES {
                    let listed: Listed = self.ask(Request::$request(page.clone())).await?;
                    items.extend(listed.items);
                    if listed.next_cursor.is_none() {
                        return Ok(items);
                    }
                    if listed.next_cursor == page.cursor {
                        break;
                    }
                    page.cursor = listed.next_cursor;
                }
                Err(Error::new(
                    ErrorKind::PeerMisbehaved,
                    concat!("the server's list of ", $member, " does not end"),
                ))
            })*
        }
    };
}
lists! {
    /// All tools of the server, page after page.
    tools -> Tool, ListTools, "tools";
    /// All resources of the server, page after page.
    resources -> Resource, ListResources, "resources";
    /// All families of resources of the server, page after page.
    resource_templates -> ResourceTemplate, ListResourceTemplates, "resourceTemplates";
    /// All prompts of the server, page after page.
    prompts -> Prompt, ListPrompts, "prompts";
}

impl Client {
    /// Calls a tool. `arguments` is a JSON object: `json!({"a": 2, "b": 3})`.
    ///
    /// A tool that failed is no error here: see [`CallToolResult::is_error`].
    pub async fn call(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<RawJson>,
    ) -> Result<CallToolResult> {
        self.ask(Request::CallTool(CallTool::new(tool, Some(arguments.into())))).await
    }

    /// Reads a resource.
    pub async fn read_resource(&self, uri: impl Into<String>) -> Result<ReadResourceResult> {
        self.ask(Request::ReadResource(ReadResource::new(uri))).await
    }

    /// Fills in a prompt.
    pub async fn get_prompt(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Result<GetPromptResult> {
        let mut get = GetPrompt::new(name);
        get.arguments = Some(texts(arguments)).filter(|arguments| !arguments.is_empty());
        self.ask(Request::GetPrompt(get)).await
    }

    /// Asks how an argument of a prompt might go on; `known` are arguments that are filled in already.
    pub async fn complete_prompt(
        &self,
        prompt: impl Into<String>,
        argument: impl Into<String>,
        typed: impl Into<String>,
        known: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Result<Completion> {
        let reference = Reference::Prompt(PromptReference::new(prompt));
        self.complete(reference, CompleteArgument::new(argument, typed), texts(known)).await
    }

    /// Asks how a variable of a resource template might go on; `known` are variables that are filled in already.
    pub async fn complete_resource(
        &self,
        template: impl Into<String>,
        variable: impl Into<String>,
        typed: impl Into<String>,
        known: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Result<Completion> {
        let reference = Reference::Resource(ResourceReference::new(template));
        self.complete(reference, CompleteArgument::new(variable, typed), texts(known)).await
    }

    async fn complete(
        &self,
        reference: Reference,
        argument: CompleteArgument,
        known: BTreeMap<String, String>,
    ) -> Result<Completion> {
        let mut asked = Complete::new(reference, argument);
        if !known.is_empty() {
            asked.context = Some(CompleteContext::new().with_arguments(known));
        }
        let result: CompleteResult = self.ask(Request::Complete(Box::new(asked))).await?;
        Ok(result.completion)
    }

    /// Says how much of the log is wanted: a conversation of the handshake era remembers it, later requests of the
    /// stateless era carry it.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<()> {
        match &self.shared.era {
            Dress::Handshake(_) => {
                self.ask_raw(&Request::SetLogLevel(SetLogLevel::new(level))).await.map(drop)
            }
            Dress::Stateless(link) => {
                link.set_log_level(level);
                Ok(())
            }
        }
    }

    /// Asks to be told when a resource changes (handshake era).
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<()> {
        self.ask_raw(&Request::Subscribe(ResourceUri::new(uri))).await.map(drop)
    }

    /// Takes that back.
    pub async fn unsubscribe(&self, uri: impl Into<String>) -> Result<()> {
        self.ask_raw(&Request::Unsubscribe(ResourceUri::new(uri))).await.map(drop)
    }

    /// Calls a method outside the protocol. `params` is a JSON object, and the result is whatever the server sent.
    pub async fn request(&self, method: &str, params: impl Into<RawJson>) -> Result<RawJson> {
        let id = self.shared.next_id();
        let request = Request::Other(Method::from_name(method), Some(params.into()));
        let outgoing = match &self.shared.era {
            Dress::Handshake(link) => link.request(id, &request, false),
            Dress::Stateless(link) => link.request(id, &request, link.wishes(false)),
        };
        self.shared.send(outgoing).await
    }

    /// Sends a notification outside the protocol. `params` is a JSON object.
    pub async fn notify(&self, method: &str, params: impl Into<RawJson>) -> Result<()> {
        self.tell(Method::from_name(method), Some(&params.into())).await
    }
}

fn texts(
    pairs: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}
