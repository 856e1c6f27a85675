//! The codec of the handshake era: how are requests read and replies written in the four older revisions?

use serde::Deserialize;

use crate::capability::{ClientCapabilities, ServerCapabilities};
use crate::json::{Encode, Encoder};
use crate::jsonrpc::{Id, Params, RpcError, write_request, write_result};
use crate::method::Method;
use crate::request::{Reply, Request};
use crate::types::Implementation;
use crate::version::ProtocolVersion;

/// What a client says when it opens a conversation.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Initialize {
    /// The newest revision it speaks; any text.
    pub protocol_version: String,
    /// What it can do.
    pub capabilities: ClientCapabilities,
    /// Who it is.
    pub client_info: Implementation,
}

impl Initialize {
    /// An opening to send.
    pub fn new(
        version: ProtocolVersion,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self { protocol_version: version.as_str().into(), capabilities, client_info }
    }

    /// Reads the opening.
    pub fn read(params: &Params) -> Result<Self, RpcError> {
        params.decode()
    }
}

/// What a server answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Initialized {
    /// The revision that both will speak.
    pub protocol_version: String,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Who it is.
    pub server_info: Implementation,
    /// How to use it, for the model.
    #[serde(default)]
    pub instructions: Option<String>,
}

/// Appends the reply to `initialize`.
pub fn write_initialized(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    id: &Id,
    capabilities: &ServerCapabilities,
    server: &Implementation,
    instructions: Option<&String>,
) {
    write_result(out, version, id, |members| {
        members.put("protocolVersion", version.as_str());
        members.put("capabilities", capabilities);
        members.put("serverInfo", server);
        members.maybe("instructions", instructions);
    });
}

/// Appends the reply to a request.
pub fn write_reply(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id, reply: &Reply) {
    write_result(out, version, id, |members| {
        reply.put(members);
        members.maybe("_meta", reply.meta());
    });
}

/// Appends the empty reply (`ping`).
pub fn write_empty(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id) {
    write_result(out, version, id, |_| {});
}

/// Appends a request.
pub fn write_call(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id, request: &Request) {
    write_request(out, version, id, &request.method(), |params| request.put(params));
}

/// Appends the request that opens a conversation.
pub fn write_initialize(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id, opening: &Initialize) {
    write_request(out, version, id, &Method::Initialize, |params| {
        params.put("protocolVersion", &opening.protocol_version);
        params.put("capabilities", &opening.capabilities);
        params.put("clientInfo", &opening.client_info);
    });
}

impl Encode for Initialized {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.put("protocolVersion", &self.protocol_version);
            members.put("capabilities", &self.capabilities);
            members.put("serverInfo", &self.server_info);
            members.maybe("instructions", self.instructions.as_ref());
        });
    }
}
