//! Which headers does a request of an opened conversation carry? The revision that was negotiated.

use ::http::header::HeaderMap;
use toolway_protocol::ProtocolVersion;

use super::insert;

pub(super) fn dress(headers: &mut HeaderMap, version: ProtocolVersion) {
    insert(headers, "mcp-protocol-version", version.as_str());
}
