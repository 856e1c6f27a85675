//! How is a conversation of the handshake era opened, and how are its requests written?

use std::sync::Arc;

use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::era::handshake::{Initialize, Initialized, write_call, write_initialize};
use toolway_protocol::jsonrpc::{write_notification, write_request};
use toolway_protocol::types::Implementation;
use toolway_protocol::{Era, Id, Method, ProtocolVersion, RawJson, Request};

use crate::client::answer::answers::{Answers, takes_forms};
use crate::client::handshake::questions::Questions;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::{Outgoing, put_params, split_meta};
use crate::client::wire::server_facts::ServerFacts;
use crate::client::wire::transport::{Transport, exchange};
use crate::ground::error::{Error, ErrorKind, Result};

/// A conversation that was opened.
#[derive(Debug)]
pub(crate) struct HandshakeLink {
    version: ProtocolVersion,
    questions: Arc<Questions>,
}

/// Opens a conversation, asking for `version`.
pub(crate) async fn open(
    transport: &dyn Transport,
    inbox: &Inbox,
    answers: &Answers,
    version: ProtocolVersion,
    info: Implementation,
    id: Id,
) -> Result<(HandshakeLink, ServerFacts)> {
    let questions = Arc::new(Questions::new(answers.clone(), inbox.calls.clone()));
    inbox.answer_with(questions.clone());
    let capabilities = declared(answers, version);
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
    let link = HandshakeLink { version, questions };
    // The server may ask as soon as it hears the next message.
    link.questions.open(version, declared(answers, version));
    transport.carry(link.initialized()).await?;
    let facts = ServerFacts {
        info: Some(answer.server_info),
        capabilities: answer.capabilities,
        instructions: answer.instructions,
    };
    Ok((link, facts))
}

impl HandshakeLink {
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// What the server asks while calls wait.
    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(crate) fn request(
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

    pub(crate) fn bare(&self, id: Id, method: Method) -> Outgoing {
        let mut frame = Vec::new();
        write_request(&mut frame, self.version, &id, &method, |_| {});
        self.outgoing(frame, Some(id), method)
    }

    fn initialized(&self) -> Outgoing {
        self.notification(Method::Initialized, None)
    }

    pub(crate) fn notification(&self, method: Method, params: Option<&RawJson>) -> Outgoing {
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
