//! How are frames written? Each function appends one frame, on one line, to a buffer.

use super::{Id, RpcError};
use crate::json::{Encoder, Members, RawJson};
use crate::method::Method;
use crate::version::ProtocolVersion;

/// Appends a request; `params` writes the members of its `params` object.
///
/// ```
/// use toolway_protocol::jsonrpc::write_request;
/// use toolway_protocol::{Method, ProtocolVersion};
///
/// let mut frame = Vec::new();
/// write_request(&mut frame, ProtocolVersion::LATEST, &1.into(), &Method::ListTools, |params| params.put("cursor", "n"));
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"n"}}"#);
/// ```
pub fn write_request(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    id: &Id,
    method: &Method,
    params: impl FnOnce(&mut Members<'_, '_>),
) {
    write_frame(out, version, |members| {
        members.put("id", id);
        members.put("method", method.name());
        members.object("params", params);
    });
}

/// Appends a notification; `params` writes the members of its `params` object.
///
/// ```
/// use toolway_protocol::jsonrpc::write_notification;
/// use toolway_protocol::{Method, ProtocolVersion};
///
/// let mut frame = Vec::new();
/// write_notification(&mut frame, ProtocolVersion::LATEST_HANDSHAKE, &Method::Initialized, |_| {});
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#);
/// ```
pub fn write_notification(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    method: &Method,
    params: impl FnOnce(&mut Members<'_, '_>),
) {
    write_frame(out, version, |members| {
        members.put("method", method.name());
        members.object("params", params);
    });
}

/// Appends a successful reply; `result` writes the members of its `result` object.
///
/// ```
/// use toolway_protocol::jsonrpc::write_result;
/// use toolway_protocol::ProtocolVersion;
///
/// let mut frame = Vec::new();
/// write_result(&mut frame, ProtocolVersion::LATEST, &"a".into(), |result| result.put("ok", &true));
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","id":"a","result":{"ok":true}}"#);
/// ```
pub fn write_result(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    id: &Id,
    result: impl FnOnce(&mut Members<'_, '_>),
) {
    write_frame(out, version, |members| {
        members.put("id", id);
        members.object("result", result);
    });
}

/// Appends a successful reply whose result is not an object. Only methods outside the protocol have such results.
///
/// ```
/// use toolway_protocol::jsonrpc::write_raw_result;
///
/// let mut frame = Vec::new();
/// write_raw_result(&mut frame, &1.into(), &serde_json::json!(3).into());
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","id":1,"result":3}"#);
/// ```
pub fn write_raw_result(out: &mut Vec<u8>, id: &Id, result: &RawJson) {
    write_frame(out, ProtocolVersion::LATEST, |members| {
        members.put("id", id);
        members.put("result", result);
    });
}

/// Appends an error reply. An id that could not be read is left out, because no revision's schema allows `null`.
///
/// ```
/// use toolway_protocol::jsonrpc::write_error;
/// use toolway_protocol::RpcError;
///
/// let mut frame = Vec::new();
/// write_error(&mut frame, None, &RpcError::parse_error("not JSON"));
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON"}}"#);
/// ```
pub fn write_error(out: &mut Vec<u8>, id: Option<&Id>, error: &RpcError) {
    write_frame(out, ProtocolVersion::LATEST, |members| {
        members.maybe("id", id.as_ref());
        members.put("error", error);
    });
}

fn write_frame(out: &mut Vec<u8>, version: ProtocolVersion, fill: impl FnOnce(&mut Members<'_, '_>)) {
    Encoder::new(out, version).object(|members| {
        members.put_raw("jsonrpc", b"\"2.0\"");
        fill(members);
    });
}
