//! What is being asked, and what is the answer? Typed, and the same in every era.
//!
//! The variants come from the table in `method.rs`; the types of their parameters stand below.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::capability::Settings;
use crate::json::{Members, RawJson, reason};
use crate::jsonrpc::{Params, RpcError};
use crate::method::{Facts, Method, methods};
use crate::types::{
    CallToolResult, Complete, CompleteResult, GetPromptResult, InputRequired, Listing, LogLevel, Prompt,
    ReadResourceResult, Resource, ResourceTemplate, SubscriptionFilter, Tool,
};
use crate::wire::wire;

macro_rules! request {
    (
        requests {$(
            $(#[doc = $doc:literal])* $variant:ident {
                $name:literal: ($params:ty) $(-> $reply:ident($result:ty))?, $first:ident..=$last:ident,
                offered by $offer:ident $(, named $member:ident)? $(, asks in $rounds:ident)?
                $(, is [$($flag:ident),*])?
            }
        )*}
        conversation {$($(#[$conversation_doc:meta])* $conversation:ident $conversation_row:tt)*}
        questions {$($(#[$question_doc:meta])* $question:ident $question_row:tt)*}
        notifications {$($(#[$notification_doc:meta])* $notification:ident $notification_row:tt)*}
    ) => {
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
        pub enum Request {
            $($(#[doc = $doc])* $variant($params),)*
            /// A method outside the protocol, its parameters as they came.
            Other(Method, Option<RawJson>),
        }

        impl Request {
            /// Reads a request by its method. `Ok(None)`: a method that the era's adapter answers, or that no client
            /// sends.
            pub fn decode(method: &Method, params: &Params) -> Result<Option<Self>, RpcError> {
                Ok(Some(match method {
                    $(Method::$variant => Self::$variant(ReadParams::read_params(params)?),)*
                    Method::Other(_) => Self::Other(method.clone(), params.text()),
                    $(Method::$conversation)|* | $(Method::$question)|* | $(Method::$notification)|* => {
                        return Ok(None);
                    }
                }))
            }

            /// The request's method.
            pub fn method(&self) -> Method {
                match self {
                    $(Self::$variant(_) => Method::$variant,)*
                    Self::Other(method, _) => method.clone(),
                }
            }

            /// What the table says about the method; `None` outside the protocol.
            pub fn facts(&self) -> Option<Facts> {
                match self {
                    $(Self::$variant(_) => Method::$variant.facts(),)*
                    Self::Other(..) => None,
                }
            }

            /// The tool, prompt or resource that the request is about: what the header `Mcp-Name` mirrors.
            pub fn name(&self) -> Option<&str> {
                match self {
                    $(Self::$variant(_params) => request!(@member _params $($member)?),)*
                    Self::Other(..) => None,
                }
            }

            /// What earlier rounds left; `None` where a handler may not ask.
            pub fn rounds(&self) -> Option<&Rounds> {
                match self {
                    $(Self::$variant(_params) => request!(@member _params $($rounds)?),)*
                    Self::Other(..) => None,
                }
            }

            /// The same, to fill in.
            pub fn rounds_mut(&mut self) -> Option<&mut Rounds> {
                match self {
                    $(Self::$variant(_params) => request!(@member_mut _params $($rounds)?),)*
                    Self::Other(..) => None,
                }
            }

            /// Writes the members of `params`; the codec adds what its era wants around them.
            pub fn put(&self, members: &mut Members<'_, '_>) {
                match self {
                    $(Self::$variant(params) => params.put(members),)*
                    Self::Other(_, params) => {
                        // The members of the object as they came, without its braces.
                        let text = params.as_ref().map_or(&b"{}"[..], RawJson::as_bytes);
                        members.splice(text[1..text.len() - 1].trim_ascii());
                    }
                }
            }
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
        pub enum Reply {
            $($(
                #[doc = concat!("What `", $name, "` gives back.")]
                $reply($result),
            )?)*
            /// What a method outside the protocol gave back; any JSON.
            Custom(RawJson),
            /// Done, and nothing to say.
            Done,
        }

        impl Reply {
            /// Whether a peer can read this as the answer to a method.
            pub fn answers(&self, method: &Method) -> bool {
                match self {
                    $($(Self::$reply(_) => *method == Method::$variant,)?)*
                    Self::Custom(_) => matches!(method, Method::Other(_)),
                    Self::Done => false $(|| request!(@done method $variant $($reply)?))*,
                }
            }

            /// Writes the members of the result that every era shares, without `_meta`.
            pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
                match self {
                    $($(Self::$reply(result) => result.put_body(members),)?)*
                    Self::Custom(result) => {
                        let text = result.as_bytes();
                        if result.is_object() {
                            members.splice(text[1..text.len() - 1].trim_ascii());
                        }
                    }
                    Self::Done => {}
                }
            }

            /// The result's own `_meta`.
            pub(crate) fn meta(&self) -> Option<&Settings> {
                match self {
                    $($(Self::$reply(result) => result.meta.as_ref(),)?)*
                    Self::Custom(_) | Self::Done => None,
                }
            }

            /// Whether the result says how long it may be kept (stateless era).
            pub(crate) fn is_cacheable(&self) -> bool {
                match self {
                    $($(Self::$reply(_) => Method::$variant.is_cacheable(),)?)*
                    Self::Custom(_) | Self::Done => false,
                }
            }
        }
    };
    (@member $params:ident $member:ident) => { Some(&$params.$member) };
    (@member $params:ident) => { None };
    (@member_mut $params:ident $member:ident) => { Some(&mut $params.$member) };
    (@member_mut $params:ident) => { None };
    (@done $method:ident $variant:ident) => { *$method == Method::$variant };
    (@done $method:ident $variant:ident $reply:ident) => { false };
}
methods!(request);

impl Reply {
    /// A result that is not an object, and so has no members to add to.
    pub(crate) fn bare(&self) -> Option<&RawJson> {
        if let Self::Custom(result) = self { Some(result).filter(|result| !result.is_object()) } else { None }
    }
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
pub enum Outcome {
    /// Here is the answer.
    Complete(Reply),
    /// The client must be asked first.
    NeedInput(InputRequired),
}

/// Parameters of a request, read from a message.
trait ReadParams: Sized {
    fn read_params(params: &Params) -> Result<Self, RpcError>;
}

/// Reads what `wire!` makes, member by member.
macro_rules! read_by_members {
    ($($type:ty),*) => {$(
        impl ReadParams for $type {
            fn read_params(params: &Params) -> Result<Self, RpcError> {
                let mut body: Self = params.decode()?;
                // What the protocol put among the members is read by the era.
                body.extra.remove("_meta");
                Ok(body)
            }
        }
    )*};
}
read_by_members!(ResourceUri, SetLogLevel, Listen, Box<Complete>);

wire! {
    /// Which page of a list is wanted.
    ///
    /// ```
    /// use toolway_protocol::request::Page;
    ///
    /// assert_eq!(Page::new().with_cursor("").cursor.as_deref(), Some(""));
    /// ```
    pub struct Page {
        /// Where the page before ended; the first page has none. The empty text is a cursor like any other.
        cursor (with_cursor): Option<String> = "cursor";
    }
}

impl ReadParams for Page {
    /// Not through the decoder: lists are asked for often, and there is nothing else in them.
    fn read_params(params: &Params) -> Result<Self, RpcError> {
        Ok(Self { cursor: params.cursor()?.map(String::from), ..Self::new() })
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

    fn put(&self, members: &mut Members<'_, '_>) {
        members.put("name", &self.name);
        members.maybe("arguments", self.arguments.as_ref());
        self.rounds.put(members);
    }
}

impl ReadParams for CallTool {
    fn read_params(params: &Params) -> Result<Self, RpcError> {
        Ok(Self { name: name(params)?, arguments: params.arguments()?, rounds: Rounds::read(params)? })
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

    fn put(&self, members: &mut Members<'_, '_>) {
        members.put("uri", &self.uri);
        self.rounds.put(members);
    }
}

impl ReadParams for ReadResource {
    fn read_params(params: &Params) -> Result<Self, RpcError> {
        let uri = params.uri()?.map(String::from).ok_or_else(|| missing("uri"))?;
        Ok(Self { uri, rounds: Rounds::read(params)? })
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

    fn put(&self, members: &mut Members<'_, '_>) {
        members.put("name", &self.name);
        members.maybe("arguments", self.arguments.as_ref());
        self.rounds.put(members);
    }
}

impl ReadParams for GetPrompt {
    fn read_params(params: &Params) -> Result<Self, RpcError> {
        let arguments = params.arguments()?.map(|text| text.decode()).transpose().map_err(|error| {
            RpcError::invalid_params(format!(
                "`params.arguments` must be an object of strings: {}",
                reason(&error)
            ))
        })?;
        Ok(Self { name: name(params)?, arguments, rounds: Rounds::read(params)? })
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
        /// Where it is.
        uri: String = "uri";
    }

    /// How much of the log a session gets.
    ///
    /// ```
    /// use toolway_protocol::request::SetLogLevel;
    /// use toolway_protocol::types::LogLevel;
    ///
    /// assert_eq!(SetLogLevel::new(LogLevel::Info).level, LogLevel::Info);
    /// ```
    pub struct SetLogLevel {
        /// This and everything that matters more.
        level: LogLevel = "level";
    }

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
        /// Those.
        notifications: SubscriptionFilter = "notifications";
    }
}

fn name(params: &Params) -> Result<String, RpcError> {
    params.name()?.map(String::from).ok_or_else(|| missing("name"))
}

fn missing(member: &str) -> RpcError {
    RpcError::invalid_params(format!("`params.{member}` is missing"))
}
