//! Which methods exist, and what are the properties of each? One table has a row for every method.
//!
//! The table is the only version check for methods: a method cannot be dispatched in a revision that does not have it.
//! The rows generate [`Method`], [`Request`](crate::Request), [`Reply`](crate::Reply),
//! [`Notification`](crate::Notification), [`InputRequest`](crate::types::InputRequest) and
//! [`InputResponse`](crate::types::InputResponse), and the code that reads and writes them. The types that a row names
//! are defined in the same files as these enums. The experimental task methods of 2025-11-25 are left out on purpose.
//! Methods of extensions are read as [`Method::Other`].

use serde_json::Value;

use crate::capability::{JsonObject, ServerCapabilities};
use crate::version::ProtocolVersion as V;

/// Passes the table to a macro.
///
/// | part of a row | meaning |
/// |---|---|
/// | `(ListParams) -> Tools(…)` | the parameters of a request, and the variant of `Reply` with its result, or `Reply::Empty` |
/// | `V2024_11_05..=V2026_07_28` | the revisions that know the method |
/// | `offered by Tools` | the capability that a server must declare before it answers the method |
/// | `from Client` | the sender of the method; in `requests` and `questions` all rows have the same sender |
/// | `named uri` | the member of the parameters that the header `Mcp-Name` mirrors |
/// | `asks in rounds` | the handler may ask the client questions; the member `rounds` holds the client's answers |
/// | `needs roots` | the capability that a client must declare before a server sends it the question |
/// | `is [cacheable]` | more members of [`Facts`] that are `true` |
macro_rules! methods {
    ($make:ident) => {
        $make! {
            // Requests from a client that reach the handlers of a server.
            requests {
                /// Lists the tools.
                ListTools {
                    "tools/list": (ListParams) -> Tools(Arc<Listing<Tool>>),
                    V2024_11_05..=V2026_07_28, offered by Tools, is [cacheable]
                }
                /// Calls a tool.
                CallTool {
                    "tools/call": (CallTool) -> ToolCalled(CallToolResult),
                    V2024_11_05..=V2026_07_28, offered by Tools, named name, asks in rounds, is [effectful]
                }
                /// Lists the resources.
                ListResources {
                    "resources/list": (ListParams) -> Resources(Arc<Listing<Resource>>),
                    V2024_11_05..=V2026_07_28, offered by Resources, is [cacheable]
                }
                /// Lists the resource templates.
                ListResourceTemplates {
                    "resources/templates/list": (ListParams) -> ResourceTemplates(Arc<Listing<ResourceTemplate>>),
                    V2024_11_05..=V2026_07_28, offered by Resources, is [cacheable]
                }
                /// Reads a resource.
                ReadResource {
                    "resources/read": (ReadResource) -> ResourceRead(ReadResourceResult),
                    V2024_11_05..=V2026_07_28, offered by Resources, named uri, asks in rounds, is [cacheable]
                }
                /// Subscribes to the changes of a resource.
                Subscribe {
                    "resources/subscribe": (ResourceUri), V2024_11_05..=V2025_11_25, offered by Subscriptions
                }
                /// Ends the subscription to a resource.
                Unsubscribe {
                    "resources/unsubscribe": (ResourceUri), V2024_11_05..=V2025_11_25, offered by Subscriptions
                }
                /// Lists the prompts.
                ListPrompts {
                    "prompts/list": (ListParams) -> Prompts(Arc<Listing<Prompt>>),
                    V2024_11_05..=V2026_07_28, offered by Prompts, is [cacheable]
                }
                /// Fills in a prompt.
                GetPrompt {
                    "prompts/get": (GetPrompt) -> PromptFilled(GetPromptResult),
                    V2024_11_05..=V2026_07_28, offered by Prompts, named name, asks in rounds
                }
                /// Suggests values for an argument.
                Complete {
                    "completion/complete": (Box<Complete>) -> Completed(CompleteResult),
                    V2024_11_05..=V2026_07_28, offered by Completions
                }
                /// Sets the lowest level of the log messages that a session receives.
                SetLogLevel {
                    "logging/setLevel": (SetLogLevel), V2024_11_05..=V2025_11_25, offered by Logging
                }
                /// Opens a stream of change notifications.
                Listen {
                    "subscriptions/listen": (Listen), V2026_07_28..=V2026_07_28, offered by Changes
                }
            }
            // Requests that open or maintain the connection to a server. The code of the era answers these requests;
            // they do not reach handlers.
            conversation {
                /// Begins the handshake of a client with a server.
                Initialize { "initialize": from Client, V2024_11_05..=V2025_11_25 }
                /// Checks that the other side responds.
                Ping { "ping": from Either, V2024_11_05..=V2025_11_25 }
                /// Asks for the capabilities of a stateless server.
                Discover { "server/discover": from Client, V2026_07_28..=V2026_07_28, is [cacheable] }
            }
            // Requests from a server: questions to the client. In the stateless era a question is a part of a result.
            questions {
                /// Requests sampling from the client's model.
                CreateMessage {
                    "sampling/createMessage": (Box<CreateMessage>) -> Box<CreateMessageResult>,
                    V2024_11_05..=V2025_11_25, needs sampling
                }
                /// Requests the client's roots.
                ListRoots { "roots/list": (Option<EmptyParams>) -> ListRootsResult, V2024_11_05..=V2025_11_25, needs roots }
                /// Asks the client's user for input.
                Elicit { "elicitation/create": (Elicit) -> ElicitResult, V2025_06_18..=V2025_11_25, needs elicitation }
            }
            notifications {
                /// The client has received the reply to `initialize`.
                Initialized { "notifications/initialized": (EmptyParams), from Client, V2024_11_05..=V2025_11_25 }
                /// A request was cancelled.
                Cancelled { "notifications/cancelled": (Cancelled), from Either, V2024_11_05..=V2026_07_28 }
                /// The progress of a request.
                Progress { "notifications/progress": (Progress), from Either, V2024_11_05..=V2026_07_28 }
                /// A log message.
                LogMessage { "notifications/message": (LogMessage), from Server, V2024_11_05..=V2026_07_28 }
                /// The tool list changed.
                ToolsChanged {
                    "notifications/tools/list_changed": (EmptyParams), from Server, V2024_11_05..=V2026_07_28
                }
                /// The prompt list changed.
                PromptsChanged {
                    "notifications/prompts/list_changed": (EmptyParams), from Server, V2024_11_05..=V2026_07_28
                }
                /// The resource list changed.
                ResourcesChanged {
                    "notifications/resources/list_changed": (EmptyParams), from Server, V2024_11_05..=V2026_07_28
                }
                /// The content of a resource changed.
                ResourceUpdated {
                    "notifications/resources/updated": (ResourceUpdated), from Server, V2024_11_05..=V2026_07_28
                }
                /// The client's roots changed.
                RootsChanged {
                    "notifications/roots/list_changed": (EmptyParams), from Client, V2024_11_05..=V2025_11_25
                }
                /// The user has completed an interaction that takes place outside the client.
                ElicitationComplete {
                    "notifications/elicitation/complete": (ElicitationComplete),
                    from Server, V2025_11_25..=V2025_11_25
                }
                /// The stream of change notifications is open.
                SubscriptionAcknowledged {
                    "notifications/subscriptions/acknowledged": (SubscriptionAcknowledged),
                    from Server, V2026_07_28..=V2026_07_28
                }
            }
        }
    };
}
pub(crate) use methods;

/// The side that may send a method.
///
/// ```
/// use toolway_protocol::{Method, method::Sender};
///
/// assert_eq!(Method::Elicit.facts().unwrap().sender, Sender::Server);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Only the client.
    Client,
    /// Only the server.
    Server,
    /// Both sides.
    Either,
}

/// The kind of message that carries a method.
///
/// ```
/// use toolway_protocol::{Method, method::Kind};
///
/// assert_eq!(Method::Progress.facts().unwrap().kind, Kind::Notification);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A message with an id, which is answered.
    Request,
    /// A message without an answer.
    Notification,
}

/// The capability that a server must declare before it answers a method.
///
/// ```
/// use toolway_protocol::Method;
/// use toolway_protocol::capability::{JsonObject, ServerCapabilities};
///
/// let capabilities = ServerCapabilities::new().with_tools(JsonObject::new());
/// assert!(Method::CallTool.required_capability().unwrap().is_declared(&capabilities));
/// assert!(!Method::GetPrompt.required_capability().unwrap().is_declared(&capabilities));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredCapability {
    /// Tools.
    Tools,
    /// Resources.
    Resources,
    /// Subscriptions to the changes of a resource.
    Subscriptions,
    /// Prompts.
    Prompts,
    /// Completion of arguments.
    Completions,
    /// Log messages.
    Logging,
    /// Any of the capabilities tools, prompts and resources. A stream of change notifications can report their changes.
    Changes,
}

impl RequiredCapability {
    /// Returns whether a server with these capabilities makes this offer.
    pub fn is_declared(self, capabilities: &ServerCapabilities) -> bool {
        let ServerCapabilities { tools, resources, prompts, completions, logging, .. } = capabilities;
        let has_subscriptions = |settings: &JsonObject| settings.get("subscribe") == Some(&Value::Bool(true));
        match self {
            Self::Tools => tools.is_some(),
            Self::Resources => resources.is_some(),
            Self::Subscriptions => resources.as_ref().is_some_and(has_subscriptions),
            Self::Prompts => prompts.is_some(),
            Self::Completions => completions.is_some(),
            Self::Logging => logging.is_some(),
            Self::Changes => tools.is_some() || prompts.is_some() || resources.is_some(),
        }
    }
}

/// The properties of one method, from the table.
///
/// ```
/// use toolway_protocol::Method;
///
/// let facts = Method::ReadResource.facts().unwrap();
/// assert_eq!(facts.name_member, Some("uri"));
/// assert!(facts.cacheable && facts.may_need_input && !facts.effectful);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The name as it is written in messages, such as `tools/list`.
    pub name: &'static str,
    /// The kind of the message: request or notification.
    pub kind: Kind,
    /// The sender of the message.
    pub sender: Sender,
    /// The first revision that has the method.
    pub first: V,
    /// The last revision that has the method.
    pub last: V,
    /// The capability that a server must declare before it answers. `None` for methods that the code of the era
    /// answers, and for methods that a server does not answer.
    pub offered_by: Option<RequiredCapability>,
    /// The member of `params` that the header `Mcp-Name` mirrors.
    pub name_member: Option<&'static str>,
    /// `true` if a complete result carries `ttlMs` and `cacheScope` in the stateless era.
    pub cacheable: bool,
    /// `true` if the result may be `input_required` in the stateless era.
    pub may_need_input: bool,
    /// `true` if the request may have side effects, so that it is not safe to execute it twice.
    pub effectful: bool,
}

impl Facts {
    const fn new(name: &'static str, kind: Kind, sender: Sender, first: V, last: V) -> Self {
        Self {
            name,
            kind,
            sender,
            first,
            last,
            offered_by: None,
            name_member: None,
            cacheable: false,
            may_need_input: false,
            effectful: false,
        }
    }
}

macro_rules! method {
    (
        requests {$(
            $(#[doc = $request_doc:literal])* $request:ident {
                $request_name:literal: $params:tt $(-> $reply:ident $result:tt)?,
                $request_first:ident..=$request_last:ident, offered by $offer:ident
                $(, named $member:ident)? $(, asks in $rounds:ident)? $(, is [$($request_flag:ident),*])?
            }
        )*}
        conversation {$(
            $(#[doc = $adapter_doc:literal])* $adapter:ident {
                $adapter_name:literal: from $adapter_sender:ident,
                $adapter_first:ident..=$adapter_last:ident $(, is [$($adapter_flag:ident),*])?
            }
        )*}
        questions {$(
            $(#[doc = $question_doc:literal])* $question:ident {
                $question_name:literal: $asked:tt -> $answer:ty, $question_first:ident..=$question_last:ident,
                needs $capability:ident
            }
        )*}
        notifications {$(
            $(#[doc = $notification_doc:literal])* $notification:ident {
                $notification_name:literal: $told:tt, from $notification_sender:ident,
                $notification_first:ident..=$notification_last:ident
            }
        )*}
    ) => {
        method! {
            $($(#[doc = $adapter_doc])* $adapter = Facts {
                $($($adapter_flag: true,)*)?
                ..Facts::new(
                    $adapter_name,
                    Kind::Request,
                    Sender::$adapter_sender,
                    V::$adapter_first,
                    V::$adapter_last,
                )
            }, $adapter_name;)*
            $($(#[doc = $request_doc])* $request = Facts {
                offered_by: Some(RequiredCapability::$offer),
                $(name_member: Some(stringify!($member)),)?
                $(may_need_input: !stringify!($rounds).is_empty(),)?
                $($($request_flag: true,)*)?
                ..Facts::new(
                    $request_name,
                    Kind::Request,
                    Sender::Client,
                    V::$request_first,
                    V::$request_last,
                )
            }, $request_name;)*
            $($(#[doc = $question_doc])* $question = Facts::new(
                $question_name,
                Kind::Request,
                Sender::Server,
                V::$question_first,
                V::$question_last,
            ), $question_name;)*
            $($(#[doc = $notification_doc])* $notification = Facts::new(
                $notification_name,
                Kind::Notification,
                Sender::$notification_sender,
                V::$notification_first,
                V::$notification_last,
            ), $notification_name;)*
        }
    };
    ($($(#[doc = $doc:literal])* $variant:ident = $facts:expr, $name:literal;)*) => {
        /// A method of the protocol, or [`Other`](Method::Other).
        ///
        /// ```
        /// use toolway_protocol::{Method, ProtocolVersion};
        ///
        /// let ping = Method::from_name("ping");
        /// assert!(ping.is_known_in(ProtocolVersion::LATEST_HANDSHAKE));
        /// assert!(!ping.is_known_in(ProtocolVersion::LATEST));
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[doc = $doc])* $variant,)*
            /// Any other name: a method of an extension or of the application, or a method that does not exist.
            Other(Box<str>),
        }

        impl Method {
            /// Every method of the protocol.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the method with this name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Other(name.into()),
                }
            }

            /// Returns the properties of the method, or `None` for a method outside the protocol.
            pub const fn facts(&self) -> Option<Facts> {
                match self {
                    $(Self::$variant => Some($facts),)*
                    Self::Other(_) => None,
                }
            }

            /// Returns the name as it is written in messages, such as `tools/list`.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }
        }
    };
}
methods!(method);

impl Method {
    /// Returns whether a revision has this method. Methods outside the protocol belong to no revision.
    pub fn is_known_in(&self, version: V) -> bool {
        self.facts().is_some_and(|facts| (facts.first..=facts.last).contains(&version))
    }

    /// Returns whether the handler may ask the client before it answers.
    pub const fn may_ask(&self) -> bool {
        matches!(self.facts(), Some(Facts { may_need_input: true, .. }))
    }

    /// Returns whether the result carries cache hints (stateless era).
    pub fn is_cacheable(&self) -> bool {
        self.facts().is_some_and(|facts| facts.cacheable)
    }

    /// Returns the capability that a server must declare before it answers, or `None` if no handler of a server
    /// answers the method.
    pub fn required_capability(&self) -> Option<RequiredCapability> {
        self.facts()?.offered_by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for method in Method::ALL {
            assert_eq!(&Method::from_name(method.name()), method);
            assert_eq!(method.facts().map(|facts| facts.name), Some(method.name()));
        }
        assert_eq!(Method::from_name("Tools/Call").facts(), None, "names are exact");
    }
}
