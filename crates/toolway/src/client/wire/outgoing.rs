//! What does a transport know about a message that it sends, and how are the parameters of a message written?

use std::fmt;

use bytes::Bytes;
use serde_json::Value;
use toolway_protocol::capability::JsonObject;
use toolway_protocol::json::Members;
use toolway_protocol::jsonrpc::write_error;
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, RpcError};

/// The first capacity for the frame of a request: most fit into it, and need no larger memory while they are written.
pub(crate) const FRAME_CAPACITY: usize = 512;

/// A frame to send, with the facts that a transport may need without parsing the frame.
#[derive(Clone)]
#[non_exhaustive]
pub struct OutgoingMessage {
    /// The frame: one JSON-RPC message. If the caller gave JSON with line breaks between its tokens, the frame contains
    /// them too. A transport that sends lines must replace them with spaces.
    pub frame: Bytes,
    /// The id of the request. Notifications have none and get no reply.
    pub id: Option<Id>,
    /// The method of the request or notification.
    pub method: Method,
    /// The tool, prompt or resource that the message is about.
    pub name: Option<String>,
    /// The revision of the connection; `None` while a handshake negotiates it.
    pub version: Option<ProtocolVersion>,
    /// Headers of this request only, for transports that have headers: the headers that the caller has set, and tool
    /// arguments that are sent in headers. Names and values are sent as they are.
    pub headers: Vec<(String, String)>,
}

/// Shows only the names of the headers and the length of the frame: header values may be tokens, and the frame may hold
/// secrets.
impl fmt::Debug for OutgoingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("OutgoingMessage")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("name", &self.name)
            .field("version", &self.version)
            .field("headers", &headers)
            .field("bytes", &self.frame.len())
            .finish_non_exhaustive()
    }
}

impl OutgoingMessage {
    /// A frame without a name and headers.
    pub(crate) fn new(
        frame: Vec<u8>,
        id: Option<Id>,
        method: Method,
        version: Option<ProtocolVersion>,
    ) -> Self {
        Self { frame: frame.into(), id, method, name: None, version, headers: Vec::new() }
    }
}

/// An error reply to a request of the server.
pub(crate) fn error_frame(id: &Id, error: &RpcError) -> Bytes {
    let mut frame = Vec::new();
    write_error(&mut frame, Some(id), error);
    frame.into()
}

/// Writes the members of a parameters object.
pub(crate) fn put_params(members: &mut Members<'_, '_>, params: Option<&RawJson>) {
    if let Some(text) = params.filter(|params| params.is_object()) {
        let text = text.as_bytes();
        members.splice(text[1..text.len() - 1].trim_ascii());
    }
}

/// Separates the caller's `_meta` from the parameters. The client adds its own members to `_meta`, and an object may
/// have only one `_meta`.
pub(crate) fn split_meta(params: Option<&RawJson>) -> (Option<RawJson>, JsonObject) {
    match params.and_then(|params| params.decode().ok()) {
        Some(Value::Object(mut members)) if members.contains_key("_meta") => {
            let own = match members.remove("_meta") {
                Some(Value::Object(own)) => own,
                _ => JsonObject::new(),
            };
            (Some(Value::Object(members).into()), own)
        }
        _ => (params.cloned(), JsonObject::new()),
    }
}
