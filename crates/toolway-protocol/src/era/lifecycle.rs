//! The state machine of a conversation in the handshake era: which messages are allowed in which state?

use crate::era::{handshake, negotiate};
use crate::jsonrpc::RpcError;
use crate::method::Method;
use crate::version::ProtocolVersion;

/// The state of a conversation: the exchange between one client and one server that `initialize` opens.
///
/// ```
/// use toolway_protocol::era::lifecycle::Lifecycle;
/// use toolway_protocol::Method;
///
/// let mut conversation = Lifecycle::default();
/// assert_eq!(conversation.initialize("2025-06-18").unwrap().as_str(), "2025-06-18");
/// assert!(!conversation.may_send(&Method::ToolsChanged), "the client has not read our answer yet");
/// conversation.initialized();
/// assert!(conversation.may_send(&Method::ToolsChanged));
/// assert!(conversation.initialize("2025-11-25").is_err(), "it is open already");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// No `initialize` was received. Requests are served anyway, in the newest handshake revision, so that a person can
    /// try a server by typing a `tools/list` request.
    #[default]
    Unopened,
    /// `initialize` was answered, but the client has not confirmed it yet.
    Answered(ProtocolVersion),
    /// The client has confirmed the handshake.
    Open(ProtocolVersion),
}

impl Lifecycle {
    /// Handles an `initialize` that requests a revision. Returns the revision to answer with.
    ///
    /// # Errors
    ///
    /// The conversation is already initialized.
    pub fn initialize(&mut self, requested: &str) -> Result<ProtocolVersion, RpcError> {
        self.initialize_as(negotiate::answer(requested))
    }

    /// Handles an `initialize` that is answered with the given revision, whichever one the client requests.
    ///
    /// # Errors
    ///
    /// The conversation is already initialized.
    pub fn initialize_as(&mut self, version: ProtocolVersion) -> Result<ProtocolVersion, RpcError> {
        if *self != Self::Unopened {
            return Err(RpcError::invalid_request("this session is already initialized"));
        }
        *self = Self::Answered(version);
        Ok(version)
    }

    /// Handles `notifications/initialized`. The notification is ignored unless `initialize` was answered before it.
    pub fn initialized(&mut self) {
        if let Self::Answered(version) = *self {
            *self = Self::Open(version);
        }
    }

    /// Returns the revision of the conversation.
    pub fn version(self) -> ProtocolVersion {
        match self {
            Self::Unopened => ProtocolVersion::LATEST_HANDSHAKE,
            Self::Answered(version) | Self::Open(version) => version,
        }
    }

    /// Returns whether the server may send this message on its own initiative. Before `initialize` is answered, no
    /// message is allowed. Until the client has confirmed the handshake, only pings and log messages are allowed.
    pub fn may_send(self, method: &Method) -> bool {
        match self {
            Self::Open(version) => method.is_known_in(version),
            Self::Answered(version) => {
                matches!(method, Method::Ping | Method::LogMessage) && method.is_known_in(version)
            }
            Self::Unopened => false,
        }
    }

    /// Returns whether a frame may hold several messages.
    pub fn has_batches(self) -> bool {
        handshake::has_batches(self.version())
    }
}
