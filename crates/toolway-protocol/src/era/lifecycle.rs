//! A conversation of the handshake era as a state machine: what may be said when?

use crate::era::{handshake, negotiate};
use crate::jsonrpc::RpcError;
use crate::method::Method;
use crate::version::ProtocolVersion;

/// How far a conversation is.
///
/// ```
/// use toolway_protocol::era::lifecycle::Lifecycle;
/// use toolway_protocol::Method;
///
/// let mut conversation = Lifecycle::default();
/// assert_eq!(conversation.initialize("2025-06-18").unwrap().as_str(), "2025-06-18");
/// assert!(!conversation.may_tell(&Method::ToolsChanged), "the client has not read our answer yet");
/// conversation.initialized();
/// assert!(conversation.may_tell(&Method::ToolsChanged));
/// assert!(conversation.initialize("2025-11-25").is_err(), "it is open already");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// There was no `initialize`. Requests are served all the same, as the newest revision with a handshake
    /// has them: a person can type `tools/list`.
    #[default]
    Unopened,
    /// `initialize` was answered; the client has not confirmed it.
    Answered(ProtocolVersion),
    /// The client has confirmed it.
    Open(ProtocolVersion),
}

impl Lifecycle {
    /// `initialize` came, asking for a revision: the one to answer with.
    ///
    /// # Errors
    ///
    /// The conversation is open already.
    pub fn initialize(&mut self, requested: &str) -> Result<ProtocolVersion, RpcError> {
        self.initialize_as(negotiate::answer(requested))
    }

    /// `initialize` came, and this is the revision to answer with, whatever it asks for.
    ///
    /// # Errors
    ///
    /// The conversation is open already.
    pub fn initialize_as(&mut self, version: ProtocolVersion) -> Result<ProtocolVersion, RpcError> {
        if *self != Self::Unopened {
            return Err(RpcError::invalid_request("this conversation is initialized already"));
        }
        *self = Self::Answered(version);
        Ok(version)
    }

    /// `notifications/initialized` came. Out of order it means nothing.
    pub fn initialized(&mut self) {
        if let Self::Answered(version) = *self {
            *self = Self::Open(version);
        }
    }

    /// The revision that is spoken.
    pub fn version(self) -> ProtocolVersion {
        match self {
            Self::Unopened => ProtocolVersion::LATEST_HANDSHAKE,
            Self::Answered(version) | Self::Open(version) => version,
        }
    }

    /// Whether the server may say this without being asked: before the client has confirmed, only pings and
    /// log messages.
    pub fn may_tell(self, method: &Method) -> bool {
        match self {
            Self::Open(version) => method.is_known_in(version),
            Self::Answered(version) => {
                matches!(method, Method::Ping | Method::LogMessage) && method.is_known_in(version)
            }
            Self::Unopened => false,
        }
    }

    /// Whether several messages may come in one frame.
    pub fn has_batches(self) -> bool {
        handshake::has_batches(self.version())
    }
}
