//! Which headers does a stateless request carry? Those that mirror its body.

use ::http::header::HeaderMap;
use toolway_protocol::ProtocolVersion;
use toolway_protocol::http::header::encode;

use super::insert;
use crate::client::transport::Outgoing;

pub(super) fn dress(headers: &mut HeaderMap, version: ProtocolVersion, outgoing: &Outgoing) {
    insert(headers, "mcp-protocol-version", version.as_str());
    insert(headers, "mcp-method", outgoing.method.name());
    if let Some(name) = &outgoing.name {
        insert(headers, "mcp-name", &encode(name));
    }
}
