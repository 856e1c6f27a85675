//! How is a session of the handshake era opened, and how are its requests written?

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_protocol::capability::{ClientCapabilities, JsonObject};
use toolway_protocol::era::handshake::{Initialize, InitializeResult, write_call, write_initialize};
use toolway_protocol::jsonrpc::{write_notification, write_request};
use toolway_protocol::request::SetLogLevel;
use toolway_protocol::types::{Implementation, LogLevel};
use toolway_protocol::{Era, Id, Method, ProtocolVersion, RawJson, Request};

use crate::client::answer::answers::{AnswerHandlers, has_form_mode};
use crate::client::answer::caller::Caller;
use crate::client::handshake::questions::ServerQuestions;
use crate::client::handshake::subscriptions::subscribe;
use crate::client::wire::era_link::{EraLink, WatchRequest};
use crate::client::wire::inbox::Inbox;
use crate::client::wire::opening::ServerFacts;
use crate::client::wire::outgoing::{FRAME_CAPACITY, OutgoingMessage, put_params, split_meta};
use crate::client::wire::request_options::{RequestOptions, RequestRounds};
use crate::client::wire::transport::{Transport, exchange, malformed_reply};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// An open session.
pub(crate) struct HandshakeLink {
    version: ProtocolVersion,
    pub(super) questions: Arc<ServerQuestions>,
}

/// Opens a session. Proposes `version`; the server may choose another revision.
pub(super) async fn initialize(
    transport: &dyn Transport,
    inbox: &Inbox,
    answers: &AnswerHandlers,
    version: ProtocolVersion,
    info: Implementation,
    id: Id,
) -> Result<(HandshakeLink, ServerFacts)> {
    let questions = Arc::new(ServerQuestions::new(answers.clone(), inbox.calls.clone()));
    inbox.set_handler(questions.clone());
    let capabilities = declared_capabilities(answers, version);
    let mut frame = Vec::new();
    write_initialize(&mut frame, version, &id, &Initialize::new(version.as_str(), capabilities, info));
    let outgoing = OutgoingMessage::new(frame, Some(id), Method::Initialize, None);
    let answer = exchange(transport, outgoing).await?.decode::<InitializeResult>();
    let answer = answer.map_err(|error| malformed_reply(&Method::Initialize).caused_by(error))?;
    let version = match answer.protocol_version.parse::<ProtocolVersion>() {
        Ok(version) if version.era() == Era::Handshake => version,
        _ => {
            let message = format!(
                "the server chose protocol version {:?}, which this client cannot use",
                answer.protocol_version
            );
            return Err(Error::new(ErrorKind::PeerIncompatible, message));
        }
    };
    let link = HandshakeLink { version, questions };
    // The server may ask questions as soon as it has received the next message.
    link.questions.open(version, declared_capabilities(answers, version));
    transport.send(link.notification(Method::Initialized, None)).await?;
    let facts = ServerFacts {
        info: Some(answer.server_info),
        capabilities: answer.capabilities,
        instructions: answer.instructions,
    };
    Ok((link, facts.checked()?))
}

impl HandshakeLink {
    fn outgoing(&self, frame: Vec<u8>, id: Option<Id>, method: Method) -> OutgoingMessage {
        OutgoingMessage::new(frame, id, method, Some(self.version))
    }
}

impl EraLink for HandshakeLink {
    fn version(&self) -> ProtocolVersion {
        self.version
    }

    fn request(&self, id: Id, course: &RequestRounds<'_>, terms: &RequestOptions) -> Result<OutgoingMessage> {
        if course.is_past_first_round() {
            return Err(Error::new(
                ErrorKind::PeerIncompatible,
                "the server no longer supports the protocol version in which it asked a question; call again",
            ));
        }
        let (request, meta) = (course.request(), terms.meta.as_ref());
        let mut frame = Vec::with_capacity(FRAME_CAPACITY);
        let token = terms.wants_progress().then_some(&id);
        // Parameters that the caller gave as JSON may already contain `_meta`. An object may have only one `_meta`, so
        // the two are merged.
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
        Ok(self.outgoing(frame, Some(id), request.method()))
    }

    fn ping(&self, id: Id) -> OutgoingMessage {
        let mut frame = Vec::new();
        write_request(&mut frame, self.version, &id, &Method::Ping, |_| {});
        self.outgoing(frame, Some(id), Method::Ping)
    }

    fn notification(&self, method: Method, params: Option<&RawJson>) -> OutgoingMessage {
        let mut frame = Vec::new();
        write_notification(&mut frame, self.version, &method, |members| put_params(members, params));
        self.outgoing(frame, None, method)
    }

    fn watch<'w>(&'w self, watch: WatchRequest<'w>) -> BoxFuture<'w, Result<()>> {
        Box::pin(subscribe(watch))
    }

    fn log_level_request(&self, level: LogLevel) -> Option<Request> {
        Some(Request::SetLogLevel(SetLogLevel::new(level)))
    }

    fn note_caller(&self, caller: Option<&Arc<dyn Caller>>) {
        self.questions.note_caller(caller);
    }

    fn has_pending_question(&self, request: &Id, sent: Instant) -> bool {
        self.questions.has_pending_question(request, sent)
    }

    fn question_time(&self) -> Duration {
        self.questions.question_time()
    }

    fn has_subscriptions(&self) -> bool {
        true
    }
}

/// The capabilities to declare to a server of this revision.
fn declared_capabilities(answers: &AnswerHandlers, version: ProtocolVersion) -> ClientCapabilities {
    let mut capabilities = answers.capabilities();
    if version < ProtocolVersion::V2025_11_25 {
        // Before 2025-11-25, elicitation has forms only, and sampling has no tools.
        capabilities.elicitation = capabilities.elicitation.filter(has_form_mode).map(|_| JsonObject::new());
        capabilities.sampling = capabilities.sampling.map(|_| JsonObject::new());
    }
    if !Method::Elicit.is_known_in(version) {
        capabilities.elicitation = None;
    }
    capabilities
}
