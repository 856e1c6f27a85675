//! Which methods exist, who sends them, and which revisions know them?
//!
//! The table is the version gate: a method that a revision does not list cannot be dispatched there, without
//! anybody comparing versions. Experimental tasks of 2025-11-25 are left out on purpose; extensions arrive as
//! [`Method::Other`].

use crate::version::ProtocolVersion as V;

/// Who may send a method.
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

/// What the table says about one method.
///
/// ```
/// use toolway_protocol::Method;
///
/// let facts = Method::ReadResource.facts().unwrap();
/// assert_eq!(facts.name_member, Some("uri"));
/// assert!(facts.cacheable && facts.may_need_input);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The name on the wire.
    pub name: &'static str,
    /// Who sends it.
    pub sender: Sender,
    /// The first revision that has it.
    pub first: V,
    /// The last revision that has it.
    pub last: V,
    /// The member of `params` that the header `Mcp-Name` mirrors.
    pub name_member: Option<&'static str>,
    /// Whether a complete result carries `ttlMs` and `cacheScope` in the stateless era.
    pub cacheable: bool,
    /// Whether the answer may be `input_required` in the stateless era.
    pub may_need_input: bool,
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $sender:ident, $first:ident ..= $last:ident
        $(, name $member:literal)? $(, cacheable $cacheable:literal)? $(, input $input:literal)?;)*) => {
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
        #[non_exhaustive]
        pub enum Method {
            $($(#[doc = $doc])* $variant,)*
            /// A method of an extension, of the application, or of nobody.
            Other(Box<str>),
        }

        impl Method {
            /// Every method of the protocol.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The method with this name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Other(name.into()),
                }
            }

            /// The table's row, or `None` for a method outside the protocol.
            pub fn facts(&self) -> Option<Facts> {
                match self {
                    $(Self::$variant => Some(Facts {
                        name: $name,
                        sender: Sender::$sender,
                        first: V::$first,
                        last: V::$last,
                        name_member: [$(Some($member),)? None][0],
                        cacheable: [$($cacheable,)? false][0],
                        may_need_input: [$($input,)? false][0],
                    }),)*
                    Self::Other(_) => None,
                }
            }

            /// The name on the wire.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }
        }
    };
}

methods! {
    /// Opens a handshake conversation.
    Initialize = "initialize", Client, V2024_11_05..=V2025_11_25;
    /// Asks whether the other side is there.
    Ping = "ping", Either, V2024_11_05..=V2025_11_25;
    /// Asks what a stateless server offers.
    Discover = "server/discover", Client, V2026_07_28..=V2026_07_28, cacheable true;
    /// Lists the tools.
    ListTools = "tools/list", Client, V2024_11_05..=V2026_07_28, cacheable true;
    /// Calls a tool.
    CallTool = "tools/call", Client, V2024_11_05..=V2026_07_28, name "name", input true;
    /// Lists the resources.
    ListResources = "resources/list", Client, V2024_11_05..=V2026_07_28, cacheable true;
    /// Lists the resource templates.
    ListResourceTemplates = "resources/templates/list", Client, V2024_11_05..=V2026_07_28, cacheable true;
    /// Reads a resource.
    ReadResource = "resources/read", Client, V2024_11_05..=V2026_07_28, name "uri", cacheable true, input true;
    /// Asks to be told when a resource changes.
    Subscribe = "resources/subscribe", Client, V2024_11_05..=V2025_11_25;
    /// Takes that back.
    Unsubscribe = "resources/unsubscribe", Client, V2024_11_05..=V2025_11_25;
    /// Lists the prompts.
    ListPrompts = "prompts/list", Client, V2024_11_05..=V2026_07_28, cacheable true;
    /// Fills in a prompt.
    GetPrompt = "prompts/get", Client, V2024_11_05..=V2026_07_28, name "name", input true;
    /// Suggests values for an argument.
    Complete = "completion/complete", Client, V2024_11_05..=V2026_07_28;
    /// Chooses which log messages a session gets.
    SetLogLevel = "logging/setLevel", Client, V2024_11_05..=V2025_11_25;
    /// Opens a stream of changes.
    Listen = "subscriptions/listen", Client, V2026_07_28..=V2026_07_28;
    /// Asks the client's model.
    CreateMessage = "sampling/createMessage", Server, V2024_11_05..=V2025_11_25;
    /// Asks for the client's roots.
    ListRoots = "roots/list", Server, V2024_11_05..=V2025_11_25;
    /// Asks the client's user.
    Elicit = "elicitation/create", Server, V2025_06_18..=V2025_11_25;

    /// The client has read the answer to `initialize`.
    Initialized = "notifications/initialized", Client, V2024_11_05..=V2025_11_25;
    /// A request is not wanted any more.
    Cancelled = "notifications/cancelled", Either, V2024_11_05..=V2026_07_28;
    /// A request is so far done.
    Progress = "notifications/progress", Either, V2024_11_05..=V2026_07_28;
    /// A log message.
    LogMessage = "notifications/message", Server, V2024_11_05..=V2026_07_28;
    /// The list of tools is another one now.
    ToolsChanged = "notifications/tools/list_changed", Server, V2024_11_05..=V2026_07_28;
    /// The list of prompts is another one now.
    PromptsChanged = "notifications/prompts/list_changed", Server, V2024_11_05..=V2026_07_28;
    /// The list of resources is another one now.
    ResourcesChanged = "notifications/resources/list_changed", Server, V2024_11_05..=V2026_07_28;
    /// A resource has another content now.
    ResourceUpdated = "notifications/resources/updated", Server, V2024_11_05..=V2026_07_28;
    /// The client's roots are others now.
    RootsChanged = "notifications/roots/list_changed", Client, V2024_11_05..=V2025_11_25;
    /// What the user was asked to do elsewhere is done.
    ElicitationComplete = "notifications/elicitation/complete", Server, V2025_11_25..=V2025_11_25;
    /// A stream of changes is open.
    SubscriptionAcknowledged = "notifications/subscriptions/acknowledged", Server, V2026_07_28..=V2026_07_28;
}

impl Method {
    /// Whether a revision has this method. Methods outside the protocol belong to no revision.
    pub fn is_known_in(&self, version: V) -> bool {
        self.facts().is_some_and(|facts| (facts.first..=facts.last).contains(&version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for method in Method::ALL {
            assert_eq!(&Method::from_name(method.name()), method);
        }
        assert_eq!(Method::from_name("Tools/Call").facts(), None, "names are exact");
    }
}
