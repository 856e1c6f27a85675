//! Batches: which revisions allow several messages in one frame, and which messages may be in a batch?

use std::collections::HashSet;

use super::handshake::has_batches;
use crate::jsonrpc::{Id, Message, Rejection, RpcError};
use crate::meta::Key;
use crate::method::Method;
use crate::version::ProtocolVersion;

/// Checks whether the given revision allows the messages of a batch. The results keep the order of the messages. The
/// parser has already limited the size of the batch.
///
/// Three kinds of messages are rejected individually: an `initialize`, a message with a stateless envelope (the
/// stateless era has no batches), and a request whose id occurs earlier in the batch. Notifications that are not
/// allowed in a batch are dropped, because a notification has no reply.
///
/// # Errors
///
/// The revision has no batches. The error is the only reply to the whole batch, and carries no id.
///
/// ```
/// use toolway_protocol::ProtocolVersion;
/// use toolway_protocol::era::batch;
/// use toolway_protocol::json::Limits;
/// use toolway_protocol::jsonrpc::{ParsedFrame, parse};
///
/// let frame = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"initialize"}]"#;
/// let judge = |version| match parse(&frame[..].into(), Limits::default()) {
///     Ok(ParsedFrame::Batch(messages)) => batch::check(version, messages),
///     _ => panic!(),
/// };
/// let messages = judge(ProtocolVersion::V2025_03_26).unwrap();
/// assert!(messages[0].is_ok());
/// assert_eq!(messages[1].as_ref().unwrap_err().id, Some(2.into()));
/// assert!(judge(ProtocolVersion::V2025_06_18).unwrap_err().message.contains("2025-03-26"));
/// ```
pub fn check(
    version: ProtocolVersion,
    messages: Vec<Result<Message, Rejection>>,
) -> Result<Vec<Result<Message, Rejection>>, RpcError> {
    if !has_batches(version) {
        return Err(unsupported_error());
    }
    let mut ids = HashSet::new();
    Ok(messages.into_iter().filter_map(|message| check_one(message, &mut ids)).collect())
}

/// Returns the error for a batch in a revision without batches.
///
/// ```
/// assert_eq!(toolway_protocol::era::batch::unsupported_error().code.0, -32600);
/// ```
pub fn unsupported_error() -> RpcError {
    let version = ProtocolVersion::V2025_03_26;
    RpcError::invalid_request(format!(
        "only protocol version {version} has batches: send one message at a time"
    ))
}

fn check_one(
    message: Result<Message, Rejection>,
    ids: &mut HashSet<Id>,
) -> Option<Result<Message, Rejection>> {
    let id = match &message {
        Ok(Message::Request { id, .. }) | Err(Rejection { id: Some(id), .. }) => Some(id.clone()),
        Ok(Message::Notification { .. } | Message::Response { .. }) | Err(Rejection { id: None, .. }) => None,
    };
    if let Some(twice) = id.as_ref().filter(|id| !ids.insert((*id).clone())) {
        let error = RpcError::invalid_request("another request of this batch has the same id");
        return Some(Err(Rejection { id: Some(twice.clone()), error }));
    }
    let Ok(message) = message else { return Some(message) };
    match forbidden_content(&message) {
        None => Some(Ok(message)),
        Some(what) => id.map(|id| {
            let error = RpcError::invalid_request(format!("{what} cannot be part of a batch"));
            Err(Rejection { id: Some(id), error })
        }),
    }
}

fn forbidden_content(message: &Message) -> Option<&'static str> {
    let speaks_for_itself =
        |params: &crate::jsonrpc::Params| params.meta_member(Key::ProtocolVersion).is_some();
    if let Message::Request { method: Method::Initialize, .. } = message {
        return Some("`initialize`");
    }
    let claims = message.params().is_some_and(speaks_for_itself);
    claims.then_some("a message that names its own protocol version")
}
