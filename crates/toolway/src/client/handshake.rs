//! The handshake era: how is a conversation opened, and how are its requests dressed?

use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::era::handshake::{Initialize, Initialized, write_call, write_initialize};
use toolway_protocol::jsonrpc::{write_bare_result, write_error, write_notification, write_request};
use toolway_protocol::types::Implementation;
use toolway_protocol::{Era, Id, Message, Method, ProtocolVersion, RawJson, Request, RpcError};

use super::ServerFacts;
use super::transport::{Outgoing, Transport, exchange, put_params};
use crate::error::{Error, ErrorKind, Result};

/// A conversation that was opened.
#[derive(Debug)]
pub(super) struct Link {
    version: ProtocolVersion,
}

/// Opens a conversation, asking for `version`.
pub(super) async fn open(
    transport: &dyn Transport,
    version: ProtocolVersion,
    capabilities: ClientCapabilities,
    info: Implementation,
    id: Id,
) -> Result<(Link, ServerFacts)> {
    let mut frame = Vec::new();
    write_initialize(&mut frame, version, &id, &Initialize::new(version.as_str(), capabilities, info));
    let outgoing =
        Outgoing { frame: frame.into(), id: Some(id), method: Method::Initialize, name: None, version: None };
    let answer: Initialized = exchange(transport, outgoing).await?.decode().map_err(|error| {
        Error::new(ErrorKind::PeerMisbehaved, "the server's reply to initialize is malformed")
            .caused_by(error)
    })?;
    let version = match answer.protocol_version.parse::<ProtocolVersion>() {
        Ok(version) if version.era() == Era::Handshake => version,
        _ => {
            let message = format!("the server wants protocol version {:?}", answer.protocol_version);
            return Err(Error::new(ErrorKind::PeerIncompatible, message));
        }
    };
    let link = Link { version };
    transport.carry(link.initialized()).await?;
    let facts = ServerFacts {
        info: Some(answer.server_info),
        capabilities: answer.capabilities,
        instructions: answer.instructions,
    };
    Ok((link, facts))
}

impl Link {
    pub(super) fn version(&self) -> ProtocolVersion {
        self.version
    }

    pub(super) fn request(&self, id: Id, request: &Request, wants_progress: bool) -> Outgoing {
        let mut frame = Vec::new();
        write_call(&mut frame, self.version, &id, request, wants_progress.then_some(&id));
        self.outgoing(frame, Some(id), request.method())
    }

    pub(super) fn bare(&self, id: Id, method: Method) -> Outgoing {
        let mut frame = Vec::new();
        write_request(&mut frame, self.version, &id, &method, |_| {});
        self.outgoing(frame, Some(id), method)
    }

    fn initialized(&self) -> Outgoing {
        self.notification(Method::Initialized, None)
    }

    pub(super) fn notification(&self, method: Method, params: Option<&RawJson>) -> Outgoing {
        let mut frame = Vec::new();
        write_notification(&mut frame, self.version, &method, |members| put_params(members, params));
        self.outgoing(frame, None, method)
    }

    fn outgoing(&self, frame: Vec<u8>, id: Option<Id>, method: Method) -> Outgoing {
        Outgoing { frame: frame.into(), id, method, name: None, version: Some(self.version) }
    }
}

/// What to answer when the server asks something, so that it does not wait for ever: we are here, and know of nothing
/// else. Nothing for messages that are no questions.
pub(super) fn answer(message: &Message) -> Option<Vec<u8>> {
    let Message::Request { id, method, .. } = message else { return None };
    let mut frame = Vec::new();
    match method {
        Method::Ping => write_bare_result(&mut frame, id, &RawJson::from(serde_json::json!({}))),
        method => write_error(&mut frame, Some(id), &RpcError::method_not_found(method.name())),
    }
    Some(frame)
}
