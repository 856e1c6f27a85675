//! What does a transport know of a message that it sends, and how are the parameters of one written?

use std::fmt;

use bytes::Bytes;
use serde_json::Value;
use toolway_protocol::capability::Settings;
use toolway_protocol::json::Members;
use toolway_protocol::jsonrpc::write_error;
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, RpcError};

/// A frame to send, and what a transport may need to know about it without reading it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Outgoing {
    /// The frame: one JSON-RPC message, without line breaks.
    pub frame: Bytes,
    /// The request's id; notifications have none and get no answer.
    pub id: Option<Id>,
    /// What is asked or told.
    pub method: Method,
    /// The tool, prompt or resource it is about.
    pub name: Option<String>,
    /// The revision that the conversation speaks; nothing while that is being found out by a handshake.
    pub version: Option<ProtocolVersion>,
    /// Headers of this request alone, for transports that have headers: those of the caller, and the arguments of a tool
    /// that travel in headers. Names and values are what goes out.
    pub headers: Vec<(String, String)>,
}

/// Shows what it is about, and of its headers the names: tokens may be among the values, and secrets in the frame.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Outgoing")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("name", &self.name)
            .field("version", &self.version)
            .field("headers", &headers)
            .field("bytes", &self.frame.len())
            .finish_non_exhaustive()
    }
}

impl Outgoing {
    /// A frame about nothing in particular.
    pub(crate) fn new(
        frame: Vec<u8>,
        id: Option<Id>,
        method: Method,
        version: Option<ProtocolVersion>,
    ) -> Self {
        Self { frame: frame.into(), id, method, name: None, version, headers: Vec::new() }
    }
}

/// The answer to a request of the server that has no result.
pub(crate) fn error_frame(id: &Id, error: &RpcError) -> Bytes {
    let mut frame = Vec::new();
    write_error(&mut frame, Some(id), error);
    frame.into()
}

/// Writes the members of an object of parameters.
pub(crate) fn put_params(members: &mut Members<'_, '_>, params: Option<&RawJson>) {
    if let Some(text) = params.filter(|params| params.is_object()) {
        let text = text.as_bytes();
        members.splice(text[1..text.len() - 1].trim_ascii());
    }
}

/// Takes what the caller wrote into `_meta` out of the parameters: an object has it once, and ours goes there too.
pub(crate) fn split_meta(params: Option<&RawJson>) -> (Option<RawJson>, Settings) {
    match params.and_then(|params| params.decode().ok()) {
        Some(Value::Object(mut members)) if members.contains_key("_meta") => {
            let own = match members.remove("_meta") {
                Some(Value::Object(own)) => own,
                _ => Settings::new(),
            };
            (Some(Value::Object(members).into()), own)
        }
        _ => (params.cloned(), Settings::new()),
    }
}
