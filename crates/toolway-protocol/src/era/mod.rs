//! Which era does a message belong to, and how does each era handle messages?
//!
//! There are two eras. In the *handshake* era `initialize` opens a conversation: the messages of one client and one
//! server, for which the server remembers the revision and the capabilities. In the *stateless* era every request
//! describes itself in `params._meta`. [`classify`] decides once per message. After that, each era has its own code
//! path, and the era is not checked again.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | Which era does this inbound message belong to, or why is it refused? |
//! | [`envelope`] | What does a stateless request say about itself? |
//! | [`stateless`], [`mod@handshake`] | How are requests read and replies written in each era? |
//! | [`lifecycle`] | Which messages are allowed in which state of a handshake conversation? |
//! | [`batch`] | Which revisions allow several messages in one frame? |
//! | [`questions`] | What may a server ask a client, and how is the question written? |
//! | [`negotiate`] | Which revision will both sides use? |

pub mod batch;
pub mod envelope;
pub mod handshake;
pub mod lifecycle;
pub mod negotiate;
pub mod questions;
pub mod stateless;

pub use envelope::Envelope;

use crate::http::header::{MirroredHeader, MirroredHeaders};
use crate::jsonrpc::{Message, RpcError};
use crate::meta::Key;
use crate::method::Method;
use crate::version::{Era, ProtocolVersion};

/// Returns the error for a resource that does not exist, as the given revision defines it.
///
/// ```
/// use toolway_protocol::era::resource_not_found;
/// use toolway_protocol::{ProtocolVersion, jsonrpc::Code};
///
/// assert_eq!(resource_not_found(ProtocolVersion::LATEST, "a://b").code, Code::INVALID_PARAMS);
/// assert_eq!(resource_not_found(ProtocolVersion::LATEST_HANDSHAKE, "a://b").code, Code(-32002));
/// ```
pub fn resource_not_found(version: ProtocolVersion, uri: &str) -> RpcError {
    match version.era() {
        Era::Handshake => handshake::resource_not_found(uri),
        Era::Stateless => stateless::resource_not_found(uri),
    }
}

/// The transport that delivered a message.
#[derive(Debug, Clone, Copy)]
pub enum Delivery<'a> {
    /// A two-way pipe (stdio), or text passed in process. Only the body shows the era.
    Pipe,
    /// An HTTP POST. The body decides the era, and the headers must agree with the body.
    Http(&'a MirroredHeaders<'a>),
}

impl<'a> Delivery<'a> {
    /// Returns the header that names the revision; a pipe has none.
    fn protocol_version(self) -> MirroredHeader<'a> {
        match self {
            Self::Pipe => MirroredHeader::Absent,
            Self::Http(headers) => headers.protocol_version,
        }
    }
}

/// The era that a message belongs to.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a claim lives for one call; a box would cost an allocation")]
pub enum Claim {
    /// The stateless era. Requests have an envelope; notifications do not.
    Stateless(Option<Envelope>),
    /// The handshake era, with the negotiated revision if an HTTP header names it.
    Handshake(Option<ProtocolVersion>),
}

/// Decides which era a message belongs to. The checks follow the precedence of the protocol's rules.
///
/// # Errors
///
/// The error to send to the peer. Over HTTP its status is always 400.
///
/// ```
/// use toolway_protocol::era::{Claim, Delivery, classify};
/// use toolway_protocol::json::Limits;
/// use toolway_protocol::jsonrpc::{ParsedFrame, parse};
///
/// let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
/// let Ok(ParsedFrame::One(message)) = parse(&frame[..].into(), Limits::default()) else { panic!() };
/// assert!(matches!(classify(&message, Delivery::Pipe), Ok(Claim::Handshake(None))));
/// ```
pub fn classify(message: &Message, door: Delivery<'_>) -> Result<Claim, RpcError> {
    let header = door.protocol_version();
    let (method, params, is_request) = match message {
        Message::Request { method, params, .. } => (method, params, true),
        Message::Notification { method, params } => (method, params, false),
        Message::Response { .. } => return handshake_claim(door, message),
    };
    let claimed = params.meta_member(Key::ProtocolVersion).is_some();
    if !claimed {
        if !names_stateless_version(header) {
            return handshake_claim(door, message);
        }
        if !is_request {
            return stateless_notification(door, method);
        }
        if *method == Method::Initialize {
            return Err(RpcError::header_mismatch(
                "the MCP-Protocol-Version header names a revision without handshake, but the body is `initialize`",
            ));
        }
        return Err(envelope::missing_members(params));
    }
    if !is_request {
        return stateless_notification(door, method);
    }
    let envelope = Envelope::read(params)?;
    if let Delivery::Http(headers) = door {
        headers.protocol_version.must_equal("MCP-Protocol-Version", envelope.requested.as_str())?;
        envelope.supported_version()?;
        headers.method.must_equal("Mcp-Method", method.name())?;
        if let Some(member) = method.facts().and_then(|facts| facts.name_member) {
            let named = if member == "uri" { params.uri()? } else { params.name()? };
            headers.name.must_decode_to("Mcp-Name", named.as_deref())?;
        }
    } else {
        envelope.supported_version()?;
    }
    Ok(Claim::Stateless(Some(envelope)))
}

/// Decides which era a message belongs to. If `only` is an era, the server serves only this era, and answers messages
/// of the other era as if that era did not exist.
///
/// A server without the stateless era ignores envelopes and rejects headers that name a stateless revision. Clients
/// conclude that the server is older, and fall back to the handshake. A server without the handshake era answers
/// `initialize` with an error that lists the server's revisions. It answers any other request without an envelope with
/// an error that names the missing members of the envelope.
///
/// # Errors
///
/// As for [`classify`].
///
/// ```
/// use toolway_protocol::Era;
/// use toolway_protocol::era::{Delivery, classify_in};
/// use toolway_protocol::json::Limits;
/// use toolway_protocol::jsonrpc::{Code, ParsedFrame, parse};
///
/// let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
/// let Ok(ParsedFrame::One(message)) = parse(&frame[..].into(), Limits::default()) else { panic!() };
/// let refused = classify_in(Some(Era::Stateless), &message, Delivery::Pipe).unwrap_err();
/// assert_eq!(refused.code, Code::INVALID_PARAMS);
/// ```
pub fn classify_in(only: Option<Era>, message: &Message, door: Delivery<'_>) -> Result<Claim, RpcError> {
    match only {
        None => classify(message, door),
        Some(Era::Handshake) => handshake_claim(door, message),
        Some(Era::Stateless) => match message {
            Message::Request { params, .. } if params.meta_member(Key::ProtocolVersion).is_some() => {
                classify(message, door)
            }
            Message::Request { method: Method::Initialize, params, .. } => {
                let asked = params.decode::<handshake::Initialize>()?.protocol_version;
                Err(RpcError::unsupported_version(&asked, &ProtocolVersion::names(Era::Stateless)))
            }
            Message::Request { params, .. } => Err(envelope::missing_members(params)),
            Message::Notification { method, .. } => stateless_notification(door, method),
            Message::Response { .. } => {
                Err(RpcError::invalid_request("the response does not belong to a request of this server"))
            }
        },
    }
}

fn names_stateless_version(header: MirroredHeader<'_>) -> bool {
    matches!(header, MirroredHeader::One(value) if ProtocolVersion::is_stateless_name(value))
}

/// Accepts a notification of the stateless era. Its `Mcp-Method` header is optional, but must be right.
fn stateless_notification(door: Delivery<'_>, method: &Method) -> Result<Claim, RpcError> {
    if let Delivery::Http(headers) = door {
        headers.method.may_equal("Mcp-Method", method.name())?;
    }
    Ok(Claim::Stateless(None))
}

/// Checks the headers that name the method and its target, for revisions that do not require them. A proxy or a hook
/// may have judged the request by them, so they must be right.
fn check_optional_headers(headers: &MirroredHeaders<'_>, message: &Message) -> Result<(), RpcError> {
    let (Message::Request { method, params, .. } | Message::Notification { method, params }) = message else {
        return Ok(());
    };
    headers.method.may_equal("Mcp-Method", method.name())?;
    let Some(member) = method.facts().and_then(|facts| facts.name_member) else { return Ok(()) };
    let named = if member == "uri" { params.uri()? } else { params.name()? };
    headers.name.may_decode_to("Mcp-Name", named.as_deref())
}

fn handshake_claim(door: Delivery<'_>, message: &Message) -> Result<Claim, RpcError> {
    if let Delivery::Http(headers) = door {
        // The code for a wrong header is part of the stateless era only.
        check_optional_headers(headers, message).map_err(|error| RpcError::invalid_request(error.message))?;
    }
    match door.protocol_version() {
        MirroredHeader::Absent => Ok(Claim::Handshake(None)),
        MirroredHeader::One(name) => match name.parse::<ProtocolVersion>() {
            Ok(version) if version.era() == Era::Handshake => Ok(Claim::Handshake(Some(version))),
            _ => Err(RpcError::invalid_request(format!("unsupported MCP-Protocol-Version header: {name:?}"))),
        },
        MirroredHeader::Unreadable => {
            Err(RpcError::invalid_request("the MCP-Protocol-Version header is not readable"))
        }
    }
}
