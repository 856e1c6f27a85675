//! The `_meta` object: which keys does the protocol define, and what do they mean?

use crate::capability::JsonObject;
use crate::json::Members;

/// A key of `_meta` that the protocol defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key {
    /// The revision of a stateless request.
    ProtocolVersion,
    /// The capabilities of the client of a stateless request.
    ClientCapabilities,
    /// The name and version of the client of a stateless request.
    ClientInfo,
    /// The lowest level of the log messages that the client wants to receive for a stateless request.
    LogLevel,
    /// The token that the progress notifications for a request carry.
    ProgressToken,
    /// The name and version of the server that answers a stateless request.
    ServerInfo,
    /// The id of the `subscriptions/listen` request that a notification belongs to.
    SubscriptionId,
    /// The span that a request came from (W3C Trace Context).
    TraceParent,
    /// The vendor-specific part of the trace context.
    TraceState,
    /// Application data that is passed along with the trace (W3C Baggage).
    Baggage,
}

/// All keys and their names, each at the index of its enum value.
pub(crate) const KEYS: [(Key, &str); 10] = [
    (Key::ProtocolVersion, "io.modelcontextprotocol/protocolVersion"),
    (Key::ClientCapabilities, "io.modelcontextprotocol/clientCapabilities"),
    (Key::ClientInfo, "io.modelcontextprotocol/clientInfo"),
    (Key::LogLevel, "io.modelcontextprotocol/logLevel"),
    (Key::ProgressToken, "progressToken"),
    (Key::ServerInfo, "io.modelcontextprotocol/serverInfo"),
    (Key::SubscriptionId, "io.modelcontextprotocol/subscriptionId"),
    (Key::TraceParent, "traceparent"),
    (Key::TraceState, "tracestate"),
    (Key::Baggage, "baggage"),
];

impl Key {
    /// Returns the name of the key in `_meta`.
    ///
    /// ```
    /// assert_eq!(toolway_protocol::meta::Key::ProgressToken.name(), "progressToken");
    /// ```
    pub fn name(self) -> &'static str {
        KEYS[self as usize].1
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        KEYS.iter().find(|(_, known)| *known == name).map(|(key, _)| *key)
    }
}

/// Returns whether only the protocol's own code may set this key of `_meta`.
///
/// ```
/// use toolway_protocol::meta::is_reserved;
///
/// assert!(is_reserved("progressToken") && is_reserved("io.modelcontextprotocol/clientInfo"));
/// assert!(!is_reserved("traceparent") && !is_reserved("example.com/team"));
/// ```
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("io.modelcontextprotocol/") || name == Key::ProgressToken.name()
}

/// Writes the caller's members of `_meta`, except the reserved keys.
pub(crate) fn put_own(meta: &mut Members<'_, '_>, own: Option<&JsonObject>) {
    for (name, value) in own.into_iter().flatten().filter(|(name, _)| !is_reserved(name)) {
        meta.put_escaped(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_stands_at_its_own_number() {
        for (place, (key, name)) in KEYS.into_iter().enumerate() {
            assert_eq!(key as usize, place);
            assert_eq!(Key::find(name), Some(key));
        }
    }
}
