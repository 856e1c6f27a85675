//! Which state does the handshake era keep at the endpoint, and what is known about one request?

use std::sync::{Arc, OnceLock};

use ::http::header::{HeaderMap, HeaderName};
use ::http::request::Parts;
use ::http::{Response, StatusCode};
use toolway_protocol::{Era, Id, ProtocolVersion, RpcError};

use super::super::endpoint::body::ResponseBody;
use super::super::endpoint::reply::{error_reply, not_allowed, not_allowed_because, unavailable};
use super::super::endpoint::request::{Endpoint, accepts_events, headers};
use super::legacy_sse::{self, SsePipes};
use super::limits::SessionLimits;
use super::live_session::{LiveSession, still_running};
use super::sessions::{FoundSession, SessionError, Sessions};
use super::shared::remote_log::lost_request;
use crate::ground::budget::Account;
use crate::server::Server;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::handshake::Session;
use crate::store::StoreError;

pub(super) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Returns the id of the session that a request names.
pub(crate) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(&SESSION_ID).and_then(|id| id.to_str().ok())
}

/// The configuration of the handshake era, and its state while the endpoint is open.
#[derive(Clone)]
pub(crate) struct HandshakeEndpoint {
    server: Server,
    pub(crate) limits: SessionLimits,
    pub(crate) is_sessionless: bool,
    pub(crate) has_legacy_sse: bool,
    state: OnceLock<Arc<HandshakeState>>,
}

struct HandshakeState {
    sessions: Sessions,
    pipes: SsePipes,
}

impl HandshakeEndpoint {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            server: server.clone(),
            limits: SessionLimits::new(),
            is_sessionless: false,
            has_legacy_sse: false,
            state: OnceLock::new(),
        }
    }

    /// Discards the state after a change of the configuration.
    pub(crate) fn reset(&mut self) {
        self.state = OnceLock::new();
    }

    fn state(&self) -> &HandshakeState {
        self.state.get_or_init(|| {
            let sessions = Sessions::new(&self.server, &self.limits);
            Arc::new(HandshakeState { sessions, pipes: SsePipes::default() })
        })
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.state().sessions
    }

    pub(super) fn pipes(&self) -> &SsePipes {
        &self.state().pipes
    }

    /// Returns whether the store that servers share can be used; `true` if there is none.
    pub(crate) async fn is_store_reachable(&self) -> bool {
        self.sessions().is_store_reachable().await
    }

    /// Cancels the running requests and ends the streams of all sessions.
    pub(crate) fn stop(&self) {
        self.sessions().stop();
    }

    /// Returns the query of a request that names a pipe, if the server serves the transport of 2024-11-05.
    pub(crate) fn pipe_query(&self, parts: &Parts) -> Option<String> {
        let query = parts.uri.query().filter(|_| self.has_legacy_sse && self.server.serves(Era::Handshake));
        query.filter(|query| legacy_sse::pipe_id_in_query(query).is_some()).map(str::to_owned)
    }

    /// Returns the supported HTTP methods, for the `Allow` header.
    fn methods(&self) -> &'static str {
        match (self.is_sessionless, self.has_legacy_sse) {
            (true, false) => "POST",
            (true, true) => "GET, POST",
            (false, _) => "GET, POST, DELETE",
        }
    }
}

/// A request that was admitted.
pub(crate) struct AdmittedRequest<'s> {
    pub(crate) endpoint: &'s Endpoint,
    pub(crate) handshake: &'s HandshakeEndpoint,
    pub(crate) arrival: Box<Arrival>,
}

impl AdmittedRequest<'_> {
    pub(super) fn server(&self) -> &Server {
        &self.endpoint.server
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        headers(&self.arrival)
    }

    /// Returns whether the client accepts an event stream.
    pub(super) fn accepts_events(&self) -> bool {
        accepts_events(&self.arrival)
    }

    /// Returns the name of the caller's principal, if it is known.
    pub(super) fn owner(&self) -> Option<&str> {
        self.arrival.principal.as_ref().map(Principal::as_str)
    }

    /// Returns the account of the caller. A caller that is known only by its session has the account of the session.
    pub(super) fn account(&self, live: Option<&LiveSession>) -> Option<Arc<Account>> {
        match (&self.arrival.account, live) {
            (Some(account), Some(live)) if !account.is_named() => Some(live.account.clone()),
            (account, _) => account.clone(),
        }
    }

    /// Finds the session that the `Mcp-Session-Id` header names. `request` is the id for error replies.
    pub(super) async fn find_session(
        &self,
        request: Option<&Id>,
    ) -> Result<Arc<LiveSession>, Response<ResponseBody>> {
        self.enter_session(request, None).await.map(|found| found.live)
    }

    /// Finds the session that the `Mcp-Session-Id` header names, if this server has it in memory and nothing has to be
    /// waited for. If not, `enter_session` finds it, or says why it cannot be used.
    pub(super) fn find_known_session(&self) -> Option<Arc<LiveSession>> {
        let mut lines = self.headers().get_all(&SESSION_ID).iter();
        match (lines.next(), lines.next()) {
            (Some(id), None) => self.handshake.sessions().find_known(id.to_str().ok()?, self.owner()),
            _ => None,
        }
    }

    /// Finds the session that the `Mcp-Session-Id` header names, and claims a request in it. `request` is the id for error
    /// replies.
    pub(super) async fn enter_session(
        &self,
        request: Option<&Id>,
        claim: Option<&Id>,
    ) -> Result<FoundSession, Response<ResponseBody>> {
        let mut lines = self.headers().get_all(&SESSION_ID).iter();
        let id = match (lines.next(), lines.next()) {
            (Some(id), None) => id.to_str().unwrap_or_default(),
            (None, _) => {
                let error = RpcError::invalid_request(
                    "the Mcp-Session-Id header is missing: send `initialize` first, and then the id that its reply carries",
                );
                return Err(error_reply(StatusCode::BAD_REQUEST, request, &error));
            }
            (Some(_), Some(_)) => {
                let error = RpcError::invalid_request("the Mcp-Session-Id header must occur once");
                return Err(error_reply(StatusCode::BAD_REQUEST, request, &error));
            }
        };
        let account = self.arrival.account.as_ref();
        let found = self.handshake.sessions().find(id, self.owner(), account, claim).await;
        found.map_err(|error| session_error(request, error))
    }

    /// Creates a session for a request without `initialize`; only the revision is known.
    pub(super) fn session_without_handshake(&self, version: Option<ProtocolVersion>) -> Session {
        let version = self.server().inner.pinned.or(version).unwrap_or(ProtocolVersion::DEFAULT_HTTP);
        Session::without_handshake(version, None)
    }

    pub(super) fn not_allowed(&self) -> Response<ResponseBody> {
        not_allowed(self.handshake.methods())
    }

    pub(super) fn not_allowed_because(&self, text: &'static str) -> Response<ResponseBody> {
        not_allowed_because(self.handshake.methods(), text)
    }
}

/// Creates the reply to a request that cannot be served in its session.
pub(super) fn session_error(request: Option<&Id>, error: SessionError) -> Response<ResponseBody> {
    match error {
        SessionError::Unknown => {
            let error = RpcError::invalid_request("there is no such session: send `initialize` again");
            error_reply(StatusCode::NOT_FOUND, request, &error)
        }
        SessionError::Claimed => error_reply(StatusCode::OK, request, &still_running()),
        SessionError::Lost => error_reply(StatusCode::OK, request, &lost_request()),
        SessionError::Store(error) => store_unavailable(error),
    }
}

/// Creates the reply for a store that fails. The cause goes to the log; the client only learns that it can retry.
pub(super) fn store_unavailable(error: StoreError) -> Response<ResponseBody> {
    tracing::error!(%error, "the store failed");
    unavailable(None, &busy("the state of this session cannot be read at the moment"))
}
