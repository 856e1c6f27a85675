//! Which facts does a server remember about one peer of the handshake era?

use std::sync::Arc;

use toolway_protocol::era::handshake::Initialize;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::meta::Key;
use toolway_protocol::types::LogLevel;
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, RpcError};

use super::questions::SessionQuestions;
use crate::ground::peer::Peer;
use crate::server::call::question_log::AskMode;
use crate::server::call::scope::Arrival;
use crate::server::call::telemetry::RequestTelemetry;
use crate::server::call::threshold::{SharedLevel, Threshold};
use crate::server::changes::listeners::Listener;

/// A session: the facts that the server remembers about its peer.
#[derive(Debug, Clone)]
pub(in crate::server) struct Session {
    peer: Arc<Peer>,
    pub(in crate::server) log_level: Arc<SharedLevel>,
    /// Collects changes for the client. `None` if they cannot be sent.
    listener: Option<Arc<Listener>>,
    /// The questions to the client. `None` if the client cannot be asked.
    pub(in crate::server) questions: Option<Arc<SessionQuestions>>,
}

impl Session {
    /// The log level until the client sets another one.
    pub(in crate::server) const DEFAULT_LOG_LEVEL: LogLevel = LogLevel::Warning;

    /// Creates the session that an `initialize` opens.
    pub(in crate::server) fn open(
        version: ProtocolVersion,
        opening: Initialize,
        listener: Option<Arc<Listener>>,
    ) -> Self {
        let peer = Peer::new(version, opening.capabilities, opening.client_info);
        Self { questions: Some(Arc::default()), ..Self::with(peer, listener) }
    }

    /// Creates a session without a handshake: for requests that were typed by hand into a pipe, or for HTTP requests
    /// without a session.
    pub(in crate::server) fn without_handshake(
        version: ProtocolVersion,
        listener: Option<Arc<Listener>>,
    ) -> Self {
        Self::with(Peer::unknown(version), listener)
    }

    fn with(peer: Peer, listener: Option<Arc<Listener>>) -> Self {
        let log_level = Arc::new(SharedLevel::new(Self::DEFAULT_LOG_LEVEL));
        Self { peer: Arc::new(peer), log_level, listener, questions: None }
    }

    pub(in crate::server) fn version(&self) -> ProtocolVersion {
        self.peer.version
    }

    pub(in crate::server) fn set_log_level(&self, level: LogLevel) {
        self.log_level.set(level);
    }

    /// Returns the listener that keeps the subscriptions. Fails if the client cannot subscribe: then `method` does not
    /// exist for it.
    pub(super) fn listener(&self, method: &Method) -> Result<&Listener, RpcError> {
        let listener = self.listener.as_deref().filter(|listener| listener.can_subscribe());
        listener.ok_or_else(|| RpcError::method_not_found(method.name()))
    }

    /// Adds the facts about this session and about a message to `arrival`.
    pub(super) fn fill_arrival(&self, arrival: &mut Arrival, id: Option<&Id>, params: &Params) {
        arrival.peer = self.peer.clone();
        arrival.progress_token = params.meta_member(Key::ProgressToken);
        arrival.threshold = Threshold::Shared(self.log_level.clone());
        arrival.telemetry = RequestTelemetry::new(id, params);
        arrival.questions.mode = self.ask_mode();
    }

    fn ask_mode(&self) -> AskMode {
        match &self.questions {
            Some(questions) => AskMode::Live(questions.clone()),
            None => AskMode::Unreachable,
        }
    }

    /// Ends all questions, because the client will send no more answers.
    pub(in crate::server) fn end_questions(&self) {
        if let Some(questions) = &self.questions {
            questions.end();
        }
    }

    /// Hands the client's answer to the call that asked the question. If no call of this server waits for the answer,
    /// returns it as the error.
    pub(in crate::server) fn deliver_answer(
        &self,
        id: Option<&Id>,
        outcome: Result<RawJson, RpcError>,
    ) -> Result<(), Result<RawJson, RpcError>> {
        match (&self.questions, id) {
            (Some(questions), Some(id)) => questions.deliver_answer(id, outcome),
            _ => Err(outcome),
        }
    }
}
