//! What does an authorization server say about a token that it was asked about (RFC 7662)?

use serde_json::{Map, Value};

use super::document::Document;

/// The answer about one token.
///
/// ```
/// use toolway_protocol::oauth::IntrospectionReply;
///
/// assert_eq!(IntrospectionReply::read(br#"{"active": false}"#), Some(IntrospectionReply::Inactive));
/// assert!(matches!(IntrospectionReply::read(br#"{"active": true, "sub": "ann"}"#), Some(IntrospectionReply::Active(_))));
/// // This does not count as an answer, so it must not admit the caller.
/// assert_eq!(IntrospectionReply::read(br#"{"active": "true"}"#), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum IntrospectionReply {
    /// The token is valid, and has these claims.
    Active(Map<String, Value>),
    /// The token is not valid.
    Inactive,
}

impl IntrospectionReply {
    /// Reads an answer. Returns `None` if it is not one.
    pub fn read(reply: &[u8]) -> Option<Self> {
        let reply = Document::read(reply)?;
        let is_active = reply.get("active")?.as_bool()?;
        Some(if is_active { Self::Active(reply.into_members()) } else { Self::Inactive })
    }
}
