//! What is being asked, and what is the answer? Typed, and the same in every era.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::capability::Settings;
use crate::json::{Members, RawJson, reason};
use crate::jsonrpc::{Params, RpcError};
use crate::method::Method;
use crate::types::{
    CallToolResult, Complete, CompleteResult, GetPromptResult, InputRequired, Listing, LogLevel, Prompt,
    ReadResourceResult, Resource, ResourceTemplate, SubscriptionFilter, Tool,
};
use crate::wire::wire;

/// A request of a client, one variant a method. What only keeps a conversation going (handshake, ping,
/// discovery) is answered by the era's adapter and does not appear here.
///
/// ```
/// use toolway_protocol::json::Limits;
/// use toolway_protocol::jsonrpc::{Incoming, Message, parse};
/// use toolway_protocol::Request;
///
/// let frame = br#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"notes://7"}}"#;
/// let Ok(Incoming::One(Message::Request { method, params, .. })) = parse(&frame[..].into(), Limits::default()) else {
///     panic!()
/// };
/// let Ok(Some(Request::ReadResource(read))) = Request::decode(&method, &params) else { panic!() };
/// assert_eq!(read.uri, "notes://7");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// Which tools are there?
    ListTools(Page),
    /// Call this tool.
    CallTool(CallTool),
    /// Which resources are there?
    ListResources(Page),
    /// Which families of resources are there?
    ListResourceTemplates(Page),
    /// Read this resource.
    ReadResource(ReadResource),
    /// Tell me when this resource changes.
    Subscribe(ResourceUri),
    /// Do not any more.
    Unsubscribe(ResourceUri),
    /// Which prompts are there?
    ListPrompts(Page),
    /// Fill in this prompt.
    GetPrompt(GetPrompt),
    /// How might this argument go on?
    Complete(Box<Complete>),
    /// How much of the log I want to hear.
    SetLogLevel(SetLogLevel),
    /// Tell me of these changes.
    Listen(Listen),
    /// A method outside the protocol, its parameters as they came.
    Other(Method, Option<RawJson>),
}

wire! {
    /// Which page of a list is wanted.
    ///
    /// ```
    /// use toolway_protocol::request::Page;
    ///
    /// assert_eq!(Page::new().with_cursor("").cursor.as_deref(), Some(""));
    /// ```
    pub struct Page {
        fixed {}
        required {}
        optional {
            /// Where the page before ended; the first page has none. The empty text is a cursor like any other.
            cursor (with_cursor): String = "cursor";
        }
    }
}

/// A tool call. The arguments are text until the tool, which alone knows their type, reads them.
///
/// ```
/// use toolway_protocol::request::CallTool;
///
/// let call = CallTool::new("add", Some(serde_json::json!({"a": 1}).into()));
/// assert_eq!(call.name, "add");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallTool {
    /// Which tool.
    pub name: String,
    /// With which arguments; nothing means `{}`.
    pub arguments: Option<RawJson>,
    /// What earlier rounds left.
    pub rounds: Rounds,
}

impl CallTool {
    /// A call with arguments.
    pub fn new(name: impl Into<String>, arguments: Option<RawJson>) -> Self {
        Self { name: name.into(), arguments, rounds: Rounds::default() }
    }
}

/// A wish to read a resource.
///
/// ```
/// use toolway_protocol::request::ReadResource;
///
/// assert_eq!(ReadResource::new("notes://7").uri, "notes://7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadResource {
    /// Which one.
    pub uri: String,
    /// What earlier rounds left.
    pub rounds: Rounds,
}

impl ReadResource {
    /// A wish to read `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), rounds: Rounds::default() }
    }
}

/// A wish to have a prompt filled in.
///
/// ```
/// use toolway_protocol::request::GetPrompt;
///
/// assert!(GetPrompt::new("review").arguments.is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetPrompt {
    /// Which one.
    pub name: String,
    /// With what; values are text.
    pub arguments: Option<BTreeMap<String, String>>,
    /// What earlier rounds left.
    pub rounds: Rounds,
}

impl GetPrompt {
    /// A wish to have `name` filled in.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: None, rounds: Rounds::default() }
    }
}

/// What a client sends back when it calls again with answers (stateless era).
///
/// ```
/// use toolway_protocol::request::Rounds;
///
/// assert!(Rounds::default().request_state.is_none(), "the first round has no past");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rounds {
    /// The answers of the last round, by key, as text: their kinds follow from the questions.
    pub input_responses: Option<RawJson>,
    /// What the server gave to be sent back as it is.
    pub request_state: Option<String>,
}

impl Rounds {
    fn read(params: &Params) -> Result<Self, RpcError> {
        Ok(Self {
            input_responses: params.input_responses()?,
            request_state: params.request_state()?.map(String::from),
        })
    }

    fn put(&self, members: &mut Members<'_, '_>) {
        members.maybe("inputResponses", self.input_responses.as_ref());
        members.maybe("requestState", self.request_state.as_ref());
    }
}

wire! {
    /// A resource by its URI.
    ///
    /// ```
    /// use toolway_protocol::request::ResourceUri;
    ///
    /// assert_eq!(ResourceUri::new("notes://7").uri, "notes://7");
    /// ```
    pub struct ResourceUri {
        fixed {}
        required {
            /// Where it is.
            uri: String = "uri";
        }
        optional {}
    }
}

wire! {
    /// How much of the log a session gets.
    ///
    /// ```
    /// use toolway_protocol::request::SetLogLevel;
    /// use toolway_protocol::types::LogLevel;
    ///
    /// assert_eq!(SetLogLevel::new(LogLevel::Info).level, LogLevel::Info);
    /// ```
    pub struct SetLogLevel {
        fixed {}
        required {
            /// This and everything that matters more.
            level: LogLevel = "level";
        }
        optional {}
    }
}

wire! {
    /// Which changes a stream is to tell.
    ///
    /// ```
    /// use toolway_protocol::request::Listen;
    /// use toolway_protocol::types::SubscriptionFilter;
    ///
    /// let listen = Listen::new(SubscriptionFilter::new().with_prompts_list_changed(true));
    /// assert_eq!(listen.notifications.prompts_list_changed, Some(true));
    /// ```
    pub struct Listen {
        fixed {}
        required {
            /// Those.
            notifications: SubscriptionFilter = "notifications";
        }
        optional {}
    }
}

impl Request {
    /// Reads a request by its method. `Ok(None)`: a method that the era's adapter answers, or that no client
    /// sends.
    pub fn decode(method: &Method, params: &Params) -> Result<Option<Self>, RpcError> {
        // Not through the decoder: lists are asked for often, and there is nothing else in them.
        let page = || params.cursor().map(|cursor| Page { cursor: cursor.map(String::from), ..Page::new() });
        let name = || params.name()?.map(String::from).ok_or_else(|| missing("name"));
        let request = match method {
            Method::ListTools => Self::ListTools(page()?),
            Method::CallTool => Self::CallTool(CallTool {
                name: name()?,
                arguments: params.arguments()?,
                rounds: Rounds::read(params)?,
            }),
            Method::ListResources => Self::ListResources(page()?),
            Method::ListResourceTemplates => Self::ListResourceTemplates(page()?),
            Method::ReadResource => {
                let uri = params.uri()?.map(String::from).ok_or_else(|| missing("uri"))?;
                Self::ReadResource(ReadResource { uri, rounds: Rounds::read(params)? })
            }
            Method::Subscribe => Self::Subscribe(params.decode_body()?),
            Method::Unsubscribe => Self::Unsubscribe(params.decode_body()?),
            Method::ListPrompts => Self::ListPrompts(page()?),
            Method::GetPrompt => {
                let arguments =
                    params.arguments()?.map(|text| text.decode()).transpose().map_err(|error| {
                        RpcError::invalid_params(format!(
                            "`params.arguments` must be an object of strings: {}",
                            reason(&error)
                        ))
                    })?;
                Self::GetPrompt(GetPrompt { name: name()?, arguments, rounds: Rounds::read(params)? })
            }
            Method::Complete => Self::Complete(Box::new(params.decode_body()?)),
            Method::SetLogLevel => Self::SetLogLevel(params.decode_body()?),
            Method::Listen => Self::Listen(params.decode_body()?),
            Method::Other(_) => Self::Other(method.clone(), params.text()),
            _ => return Ok(None),
        };
        Ok(Some(request))
    }

    /// The request's method.
    pub fn method(&self) -> Method {
        match self {
            Self::ListTools(_) => Method::ListTools,
            Self::CallTool(_) => Method::CallTool,
            Self::ListResources(_) => Method::ListResources,
            Self::ListResourceTemplates(_) => Method::ListResourceTemplates,
            Self::ReadResource(_) => Method::ReadResource,
            Self::Subscribe(_) => Method::Subscribe,
            Self::Unsubscribe(_) => Method::Unsubscribe,
            Self::ListPrompts(_) => Method::ListPrompts,
            Self::GetPrompt(_) => Method::GetPrompt,
            Self::Complete(_) => Method::Complete,
            Self::SetLogLevel(_) => Method::SetLogLevel,
            Self::Listen(_) => Method::Listen,
            Self::Other(method, _) => method.clone(),
        }
    }

    /// The tool, prompt or resource that the request is about: what the header `Mcp-Name` mirrors.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::CallTool(call) => Some(&call.name),
            Self::GetPrompt(get) => Some(&get.name),
            Self::ReadResource(read) => Some(&read.uri),
            _ => None,
        }
    }

    /// Writes the members of `params`; the codec adds what its era wants around them.
    pub fn put(&self, members: &mut Members<'_, '_>) {
        match self {
            Self::ListTools(page)
            | Self::ListResources(page)
            | Self::ListResourceTemplates(page)
            | Self::ListPrompts(page) => page.put(members),
            Self::CallTool(call) => {
                members.put("name", &call.name);
                members.maybe("arguments", call.arguments.as_ref());
                call.rounds.put(members);
            }
            Self::ReadResource(read) => {
                members.put("uri", &read.uri);
                read.rounds.put(members);
            }
            Self::GetPrompt(get) => {
                members.put("name", &get.name);
                members.maybe("arguments", get.arguments.as_ref());
                get.rounds.put(members);
            }
            Self::Subscribe(uri) | Self::Unsubscribe(uri) => uri.put(members),
            Self::Complete(complete) => complete.put(members),
            Self::SetLogLevel(level) => level.put(members),
            Self::Listen(listen) => listen.put(members),
            Self::Other(_, params) => {
                // The members of the object as they came, without its braces.
                let text = params.as_ref().map_or(&b"{}"[..], RawJson::as_bytes);
                members.splice(text[1..text.len() - 1].trim_ascii());
            }
        }
    }
}

fn missing(member: &str) -> RpcError {
    RpcError::invalid_params(format!("`params.{member}` is missing"))
}

/// How a request ended well. Failures are `Err`.
///
/// ```
/// use toolway_protocol::{Outcome, Reply};
/// use toolway_protocol::types::CallToolResult;
///
/// let outcome = Outcome::Complete(Reply::ToolCalled(CallToolResult::text("5")));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// Here is the answer.
    Complete(Reply),
    /// The client must be asked first.
    NeedInput(InputRequired),
}

/// The answer to a request.
///
/// ```
/// use toolway_protocol::Reply;
/// use toolway_protocol::types::{Listing, Tool};
///
/// let nothing = Reply::Tools(Listing::<Tool>::new(Vec::new(), None).into());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reply {
    /// A page of tools.
    Tools(Arc<Listing<Tool>>),
    /// A page of resources.
    Resources(Arc<Listing<Resource>>),
    /// A page of resource templates.
    ResourceTemplates(Arc<Listing<ResourceTemplate>>),
    /// A page of prompts.
    Prompts(Arc<Listing<Prompt>>),
    /// What the tool gave back.
    ToolCalled(CallToolResult),
    /// What is in the resource.
    ResourceRead(ReadResourceResult),
    /// The prompt, filled in.
    PromptFilled(GetPromptResult),
    /// Suggestions.
    Completed(CompleteResult),
    /// What a method outside the protocol gave back; any JSON.
    Custom(RawJson),
    /// Done, and nothing to say.
    Done,
}

impl Reply {
    /// Writes the members of the result that every era shares, without `_meta`.
    pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
        match self {
            Self::Tools(page) => page.put("tools", members),
            Self::Resources(page) => page.put("resources", members),
            Self::ResourceTemplates(page) => page.put("resourceTemplates", members),
            Self::Prompts(page) => page.put("prompts", members),
            Self::ToolCalled(result) => result.put_body(members),
            Self::ResourceRead(result) => result.put_body(members),
            Self::PromptFilled(result) => result.put_body(members),
            Self::Completed(result) => result.put_body(members),
            Self::Custom(result) => {
                let text = result.as_bytes();
                if result.is_object() {
                    members.splice(text[1..text.len() - 1].trim_ascii());
                }
            }
            Self::Done => {}
        }
    }

    /// What is no object, and so has no members to add to.
    pub(crate) fn bare(&self) -> Option<&RawJson> {
        match self {
            Self::Custom(result) if !result.is_object() => Some(result),
            _ => None,
        }
    }

    /// The result's own `_meta`.
    pub(crate) fn meta(&self) -> Option<&Settings> {
        match self {
            Self::ToolCalled(result) => result.meta.as_ref(),
            Self::ResourceRead(result) => result.meta.as_ref(),
            Self::PromptFilled(result) => result.meta.as_ref(),
            Self::Completed(result) => result.meta.as_ref(),
            Self::Tools(page) => page.meta(),
            Self::Resources(page) => page.meta(),
            Self::ResourceTemplates(page) => page.meta(),
            Self::Prompts(page) => page.meta(),
            Self::Custom(_) | Self::Done => None,
        }
    }

    /// Whether the result says how long it may be kept (stateless era).
    pub(crate) fn is_cacheable(&self) -> bool {
        match self {
            Self::Tools(_)
            | Self::Resources(_)
            | Self::ResourceTemplates(_)
            | Self::Prompts(_)
            | Self::ResourceRead(_) => true,
            Self::ToolCalled(_)
            | Self::PromptFilled(_)
            | Self::Completed(_)
            | Self::Custom(_)
            | Self::Done => false,
        }
    }
}
