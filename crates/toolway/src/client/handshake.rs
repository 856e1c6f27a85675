//! The handshake era: how is a conversation opened, and how are its requests dressed?

use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::era::handshake::{Initialize, Initialized, write_call, write_initialize};
use toolway_protocol::jsonrpc::{write_notification, write_request};
use toolway_protocol::types::Implementation;
use toolway_protocol::{Era, Id, Method, ProtocolVersion, RawJson, Request};

use super::ServerFacts;
use super::answer::{Answers, takes_forms};
use super::asked::Asked;
use super::transport::{Outgoing, Transport, exchange, put_params, split_meta};
use crate::error::{Error, ErrorKind, Result};

/// A conversation that was opened.
#[derive(Debug)]
pub(super) struct Link {
    version: ProtocolVersion,
}

/// Opens a conversation, asking for `version`.
pub(super) async fn open(
    transport: &dyn Transport,
    asked: &Asked,
    version: ProtocolVersion,
    info: Implementation,
    id: Id,
) -> Result<(Link, ServerFacts)> {
    asked.begin();
    let capabilities = declared(asked.answers(), version);
    let mut frame = Vec::new();
    write_initialize(&mut frame, version, &id, &Initialize::new(version.as_str(), capabilities, info));
    let outgoing = Outgoing::new(frame, Some(id), Method::Initialize, None);
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
    // The server may ask as soon as it hears the next message.
    asked.open(version, declared(asked.answers(), version));
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

    pub(super) fn request(
        &self,
        id: Id,
        request: &Request,
        wants_progress: bool,
        meta: Option<&Settings>,
    ) -> Outgoing {
        let mut frame = Vec::new();
        let token = wants_progress.then_some(&id);
        // Parameters that were put together by hand may have a `_meta` of their own, and an object has it once.
        if let Request::Other(method, params) = request
            && (token.is_some() || meta.is_some())
        {
            let (params, mut own) = split_meta(params.as_ref());
            own.extend(meta.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
            let rest = Request::Other(method.clone(), params);
            write_call(&mut frame, self.version, &id, &rest, token, Some(&own));
        } else {
            write_call(&mut frame, self.version, &id, request, token, meta);
        }
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
        Outgoing::new(frame, id, method, Some(self.version))
    }
}

/// What a server of a revision is told that it may ask.
fn declared(answers: &Answers, version: ProtocolVersion) -> ClientCapabilities {
    let mut capabilities = answers.capabilities();
    if version < ProtocolVersion::V2025_11_25 {
        // Before 2025-11-25 a user is asked by forms alone, and no model is given tools.
        capabilities.elicitation = capabilities.elicitation.filter(takes_forms).map(|_| Settings::new());
        capabilities.sampling = capabilities.sampling.map(|_| Settings::new());
    }
    if !Method::Elicit.is_known_in(version) {
        capabilities.elicitation = None;
    }
    capabilities
}
