//! Which requests are there, and which replies? Each has a type, which is the same in every era.
//!
//! The variants come from the table in `method.rs`; the types of their parameters are defined below.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::capability::JsonObject;
use crate::json::{Members, RawJson, message_without_position};
use crate::jsonrpc::{Params, RpcError, SharedPart};
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
        /// A request from a client, one variant per method. Requests that only open or maintain the connection to a
        /// server (handshake, ping, discovery) are answered by the code of the era and are not listed here.
        ///
        /// ```
        /// use toolway_protocol::json::Limits;
        /// use toolway_protocol::jsonrpc::{Message, ParsedFrame, parse};
        /// use toolway_protocol::Request;
        ///
        /// let frame = br#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"notes://7"}}"#;
        /// let Ok(ParsedFrame::One(Message::Request { method, params, .. })) = parse(&frame[..].into(), Limits::default()) else {
        ///     panic!()
        /// };
        /// let Ok(Some(Request::ReadResource(read))) = Request::decode(&method, &params) else { panic!() };
        /// assert_eq!(read.uri, "notes://7");
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        pub enum Request {
            $($(#[doc = $doc])* $variant($params),)*
            /// A method outside the protocol, with its parameters as received.
            Other(Method, Option<RawJson>),
        }

        impl Request {
            /// Decodes a request by its method. Returns `Ok(None)` for a method that the code of the era answers, or
            /// that clients do not send.
            pub fn decode(method: &Method, params: &Params) -> Result<Option<Self>, RpcError> {
                Ok(Some(match method {
                    $(Method::$variant => Self::$variant(ReadParams::read_params(params)?),)*
                    Method::Other(_) => Self::Other(method.clone(), params.text()),
                    $(Method::$conversation)|* | $(Method::$question)|* | $(Method::$notification)|* => {
                        return Ok(None);
                    }
                }))
            }

            /// Returns the request's method.
            pub fn method(&self) -> Method {
                match self {
                    $(Self::$variant(_) => Method::$variant,)*
                    Self::Other(method, _) => method.clone(),
                }
            }

            /// Returns the facts about the method, or `None` for a method outside the protocol.
            pub fn facts(&self) -> Option<Facts> {
                match self {
                    $(Self::$variant(_) => Method::$variant.facts(),)*
                    Self::Other(..) => None,
                }
            }

            /// Returns the name of the tool or prompt, or the URI of the resource, that the request is about. The
            /// header `Mcp-Name` mirrors it.
            pub fn name(&self) -> Option<&str> {
                match self {
                    $(Self::$variant(_params) => request!(@member _params $($member)?),)*
                    Self::Other(..) => None,
                }
            }

            /// Returns the client's answers to earlier questions, or `None` if the handler of this method may not ask
            /// the client.
            pub fn rounds(&self) -> Option<&Rounds> {
                match self {
                    $(Self::$variant(_params) => request!(@member _params $($rounds)?),)*
                    Self::Other(..) => None,
                }
            }

            /// Returns the client's answers to earlier questions, to be modified.
            pub fn rounds_mut(&mut self) -> Option<&mut Rounds> {
                match self {
                    $(Self::$variant(_params) => request!(@member_mut _params $($rounds)?),)*
                    Self::Other(..) => None,
                }
            }

            /// Writes the members of `params`. The codec adds the members that its era needs.
            pub fn put(&self, members: &mut Members<'_, '_>) {
                match self {
                    $(Self::$variant(params) => params.put(members),)*
                    Self::Other(_, params) => {
                        // The members of the object unchanged, without its braces.
                        let text = params.as_ref().map_or(&b"{}"[..], RawJson::as_bytes);
                        members.splice(text[1..text.len() - 1].trim_ascii());
                    }
                }
            }
        }

        /// The reply to a request.
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
                #[doc = concat!("The result of `", $name, "`.")]
                $reply($result),
            )?)*
            /// The result of a method outside the protocol; any JSON.
            Custom(RawJson),
            /// An empty result.
            Empty,
        }

        impl Reply {
            /// Returns whether this reply has the right type for a method.
            pub fn answers(&self, method: &Method) -> bool {
                match self {
                    $($(Self::$reply(_) => *method == Method::$variant,)?)*
                    Self::Custom(_) => matches!(method, Method::Other(_)),
                    Self::Empty => false $(|| request!(@done method $variant $($reply)?))*,
                }
            }

            /// Writes the members of the result that are the same in every era, without `_meta`.
            pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
                match self {
                    $($(Self::$reply(result) => result.put_body(members),)?)*
                    Self::Custom(result) => {
                        let text = result.as_bytes();
                        if result.is_object() {
                            members.splice(text[1..text.len() - 1].trim_ascii());
                        }
                    }
                    Self::Empty => {}
                }
            }

            /// Returns the result's own `_meta`.
            pub(crate) fn meta(&self) -> Option<&JsonObject> {
                match self {
                    $($(Self::$reply(result) => result.meta.as_ref(),)?)*
                    Self::Custom(_) | Self::Empty => None,
                }
            }

            /// Returns whether the result carries cache hints (stateless era).
            pub(crate) fn is_cacheable(&self) -> bool {
                match self {
                    $($(Self::$reply(_) => Method::$variant.is_cacheable(),)?)*
                    Self::Custom(_) | Self::Empty => false,
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
    /// Like [`put`](Self::put), but the page of a list may be left out: the frame has to insert the returned part.
    pub(crate) fn put_around_page(&self, members: &mut Members<'_, '_>) -> Option<SharedPart> {
        match self {
            Self::Tools(page) => page.put_body_around_page(members),
            Self::Prompts(page) => page.put_body_around_page(members),
            Self::Resources(page) => page.put_body_around_page(members),
            Self::ResourceTemplates(page) => page.put_body_around_page(members),
            other => {
                other.put(members);
                None
            }
        }
    }

    /// Returns the result of a custom method, if it is not an object. Members cannot be added to such a result.
    pub(crate) fn non_object(&self) -> Option<&RawJson> {
        if let Self::Custom(result) = self { Some(result).filter(|result| !result.is_object()) } else { None }
    }
}

/// The outcome of a successful request. A failure is an `Err`.
///
/// ```
/// use toolway_protocol::{Outcome, Reply};
/// use toolway_protocol::types::CallToolResult;
///
/// let outcome = Outcome::Complete(Reply::ToolCalled(CallToolResult::text("5")));
/// ```
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The reply.
    Complete(Reply),
    /// The client must answer questions first.
    NeedInput(InputRequired),
}

/// The parameters of a request, which can be read from a message.
trait ReadParams: Sized {
    fn read_params(params: &Params) -> Result<Self, RpcError>;
}

/// Implements `ReadParams` for types made by `wire!`.
macro_rules! read_by_members {
    ($($type:ty),*) => {$(
        impl ReadParams for $type {
            fn read_params(params: &Params) -> Result<Self, RpcError> {
                let mut body: Self = params.decode()?;
                // The era's codec reads `_meta`.
                body.extra.remove("_meta");
                Ok(body)
            }
        }
    )*};
}
read_by_members!(ResourceUri, SetLogLevel, Listen, Box<Complete>);

wire! {
    /// The parameters of a list request: which page to return.
    ///
    /// ```
    /// use toolway_protocol::request::ListParams;
    ///
    /// assert_eq!(ListParams::new().with_cursor("").cursor.as_deref(), Some(""));
    /// ```
    pub struct ListParams {
        /// The cursor from the previous page; `None` requests the first page. The empty text is a valid cursor.
        cursor (with_cursor): Option<String> = "cursor";
    }
}

impl ReadParams for ListParams {
    /// Reads only the cursor, without the decoder: lists are requested often, and have no other parameters.
    fn read_params(params: &Params) -> Result<Self, RpcError> {
        Ok(Self { cursor: params.cursor()?.map(String::from), ..Self::new() })
    }
}

/// A tool call. The arguments stay text until the tool reads them, because only the tool knows their type.
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
    /// The name of the tool.
    pub name: String,
    /// The arguments; `None` means `{}`.
    pub arguments: Option<RawJson>,
    /// The answers to questions that the server asked in reply to this request.
    pub rounds: Rounds,
}

impl CallTool {
    /// Creates a call with arguments.
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
        Ok(Self {
            name: required_name(params)?,
            arguments: params.arguments()?,
            rounds: Rounds::read(params)?,
        })
    }
}

/// A request to read a resource.
///
/// ```
/// use toolway_protocol::request::ReadResource;
///
/// assert_eq!(ReadResource::new("notes://7").uri, "notes://7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadResource {
    /// The URI of the resource.
    pub uri: String,
    /// The answers to questions that the server asked in reply to this request.
    pub rounds: Rounds,
}

impl ReadResource {
    /// Creates a request to read `uri`.
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
        let uri = params.uri()?.map(String::from).ok_or_else(|| missing_member("uri"))?;
        Ok(Self { uri, rounds: Rounds::read(params)? })
    }
}

/// A request to fill in a prompt.
///
/// ```
/// use toolway_protocol::request::GetPrompt;
///
/// assert!(GetPrompt::new("review").arguments.is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetPrompt {
    /// The name of the prompt.
    pub name: String,
    /// The arguments; all values are text.
    pub arguments: Option<BTreeMap<String, String>>,
    /// The answers to questions that the server asked in reply to this request.
    pub rounds: Rounds,
}

impl GetPrompt {
    /// Creates a request to fill in the prompt `name`.
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
                message_without_position(&error)
            ))
        })?;
        Ok(Self { name: required_name(params)?, arguments, rounds: Rounds::read(params)? })
    }
}

/// The data that a client sends when it repeats a request with answers (stateless era). Each repetition of the request
/// is one round.
///
/// ```
/// use toolway_protocol::request::Rounds;
///
/// assert!(Rounds::default().request_state.is_none(), "the first round has no past");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rounds {
    /// The answers by key, as text. The type of an answer follows from its question.
    pub input_responses: Option<RawJson>,
    /// The state that the server asked the client to send back unchanged.
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
    /// The parameters of `resources/subscribe` and `resources/unsubscribe`.
    ///
    /// ```
    /// use toolway_protocol::request::ResourceUri;
    ///
    /// assert_eq!(ResourceUri::new("notes://7").uri, "notes://7");
    /// ```
    pub struct ResourceUri {
        /// The URI of the resource.
        uri: String = "uri";
    }

    /// The parameters of `logging/setLevel`.
    ///
    /// ```
    /// use toolway_protocol::request::SetLogLevel;
    /// use toolway_protocol::types::LogLevel;
    ///
    /// assert_eq!(SetLogLevel::new(LogLevel::Info).level, LogLevel::Info);
    /// ```
    pub struct SetLogLevel {
        /// The lowest level that the session receives.
        level: LogLevel = "level";
    }

    /// The parameters of `subscriptions/listen`.
    ///
    /// ```
    /// use toolway_protocol::request::Listen;
    /// use toolway_protocol::types::SubscriptionFilter;
    ///
    /// let listen = Listen::new(SubscriptionFilter::new().with_prompts_list_changed(true));
    /// assert_eq!(listen.notifications.prompts_list_changed, Some(true));
    /// ```
    pub struct Listen {
        /// The changes that the stream reports.
        notifications: SubscriptionFilter = "notifications";
    }
}

fn required_name(params: &Params) -> Result<String, RpcError> {
    params.name()?.map(String::from).ok_or_else(|| missing_member("name"))
}

fn missing_member(member: &str) -> RpcError {
    RpcError::invalid_params(format!("`params.{member}` is missing"))
}
