//! How is the endpoint configured, and how is a request admitted?

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::Poll;

use ::http::header::{ACCEPT, AsHeaderName, HeaderMap, HeaderName, HeaderValue};
use ::http::request::Parts;
use ::http::{Response, StatusCode};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolway_protocol::http::header::{MirroredHeader, MirroredHeaders};
use toolway_protocol::{Method, RpcError};

use super::body::ResponseBody;
use super::guard::{self, Hosts, Origins};
use super::limits::Limits;
use super::reply::{error_reply_without_id, refusal_reply, unavailable};
use crate::ground::error::Result;
use crate::ground::extensions::Extensions;
use crate::ground::poll_once::poll_once;
use crate::server::Server;
use crate::server::admission::connect_request::ConnectRequest;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The address that a request came from. [`HttpService::serve`](super::super::HttpService::serve) puts the address into
/// the extensions of each request. A web application that mounts the service can insert it itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAddr(pub SocketAddr);

/// The configuration of the endpoint, and its state while it is open.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) server: Server,
    pub(crate) hosts: Hosts,
    pub(crate) origins: Origins,
    pub(crate) limits: Limits,
    state: OnceLock<Arc<EndpointState>>,
}

/// The state of an open endpoint.
struct EndpointState {
    /// Permits for running requests.
    request_permits: Arc<Semaphore>,
    /// Permits for notification streams.
    stream_permits: Arc<Semaphore>,
    /// Cancelled when the server shuts down.
    shutdown_token: Arc<CancellationToken>,
}

impl Endpoint {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            server: server.clone(),
            hosts: Hosts::default(),
            origins: Origins::default(),
            limits: Limits::new(server.max_message()),
            state: OnceLock::new(),
        }
    }

    /// Discards the open state after a change of the configuration.
    pub(crate) fn reset(&mut self) {
        self.state = OnceLock::new();
    }

    fn state(&self) -> &EndpointState {
        self.state.get_or_init(|| {
            Arc::new(EndpointState {
                request_permits: Arc::new(Semaphore::new(self.limits.in_flight)),
                stream_permits: Arc::new(Semaphore::new(self.limits.streams)),
                shutdown_token: Arc::default(),
            })
        })
    }

    /// Returns the token that is cancelled when the server shuts down.
    pub(crate) fn shutdown_token(&self) -> &Arc<CancellationToken> {
        &self.state().shutdown_token
    }

    /// Starts the shutdown and waits for running requests, for at most the grace period.
    pub(crate) async fn close(&self) {
        let open = self.state();
        open.shutdown_token.cancel();
        let all = u32::try_from(self.limits.in_flight).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(self.limits.grace, open.request_permits.acquire_many(all)).await;
    }

    /// Acquires a permit for a request. Returns `None` for methods that need no permit: those that are answered
    /// immediately, and `subscriptions/listen`.
    pub(crate) fn permit(&self, method: &Method) -> Result<Option<OwnedSemaphorePermit>, RpcError> {
        if matches!(method, Method::Ping | Method::Initialize | Method::Discover | Method::Listen) {
            return Ok(None);
        }
        let permit = self.state().request_permits.clone().try_acquire_owned();
        permit.map(Some).map_err(|_| busy("too many requests are running"))
    }

    /// Acquires a permit for a notification stream.
    pub(crate) fn stream_permit(&self) -> Result<OwnedSemaphorePermit, RpcError> {
        self.state().stream_permits.clone().try_acquire_owned().map_err(|_| busy("too many streams are open"))
    }

    /// Checks `Host` and `Origin`. If the request is refused, returns the response. Called for every request, on every
    /// route and with every method.
    pub(crate) fn refusal(&self, parts: &Parts) -> Option<Response<ResponseBody>> {
        let refusal = guard::check(parts, &self.hosts, &self.origins).err()?;
        Some(error_reply_without_id(StatusCode::FORBIDDEN, &RpcError::invalid_request(refusal)))
    }

    /// Calls the `on_connect` hook, if there is one, and collects the facts about the request. `session_id` reads the
    /// id of the session from the headers.
    pub(crate) async fn admit(
        &self,
        mut parts: Parts,
        session_id: fn(&HeaderMap) -> Option<&str>,
    ) -> Result<Box<Arrival>, Response<ResponseBody>> {
        let open = self.state();
        if open.shutdown_token.is_cancelled() {
            return Err(unavailable(None, &busy("the server is shutting down")));
        }
        let extensions: Extensions = parts.extensions.remove().unwrap_or_default();
        let remote = parts.extensions.get::<RemoteAddr>().map(|RemoteAddr(address)| *address);
        let headers = Arc::new(std::mem::take(&mut parts.headers));
        let mut arrival = if self.server.inner.admission.is_some() {
            let session_id = session_id(&headers).map(str::to_owned);
            let query = parts.uri.query().map(str::to_owned);
            let connecting = ConnectRequest { headers: Some(headers.clone()), query, session_id, remote };
            let admission = Box::pin(self.server.admit(connecting, extensions));
            admission.await.map_err(|refuse| refusal_reply(&refuse))?
        } else {
            Box::new(Arrival { extensions, ..Arrival::default() })
        };
        // A web application that has authenticated the caller may pass the caller's principal in the extensions.
        if arrival.principal.is_none() {
            arrival.principal = arrival.extensions.get::<Principal>().as_deref().cloned();
        }
        arrival.headers = Some(headers);
        arrival.remote = remote;
        arrival.listen_permits = Some(open.stream_permits.clone());
        arrival.shutdown_token = Some(open.shutdown_token.clone());
        Ok(arrival)
    }

    /// Checks the media types of a POST and reads its body.
    pub(crate) async fn read_body<B>(
        &self,
        headers: &HeaderMap,
        body: B,
    ) -> Result<Bytes, Response<ResponseBody>>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let refusal = |status, text| error_reply_without_id(status, &RpcError::invalid_request(text));
        if !guard::is_json(headers) {
            return Err(refusal(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the Content-Type must be application/json",
            ));
        }
        if !guard::is_unencoded(headers) {
            let text = "a body with a Content-Encoding is not accepted";
            return Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        if !guard::accepts_json(&headers.get_all(ACCEPT)) {
            let text = "the Accept header must allow application/json and text/event-stream";
            return Err(refusal(StatusCode::NOT_ACCEPTABLE, text));
        }
        let limits = &self.limits;
        let mut reading = pin!(collect_body(body, limits.body));
        // Most bodies are already complete and need no timer.
        if let Poll::Ready(outcome) = poll_once(reading.as_mut()).await {
            return outcome;
        }
        match tokio::time::timeout(limits.body_timeout, reading).await {
            Ok(outcome) => outcome,
            Err(_) => Err(refusal(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
        }
    }
}

async fn collect_body<B>(body: B, max: usize) -> Result<Bytes, Response<ResponseBody>>
where
    B: Body + Send,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let too_large = || {
        let error = RpcError::invalid_request(format!(
            "the body is longer than {max} bytes: send less, or raise `max_message` on the server, or `max_body` where it is set"
        ));
        error_reply_without_id(StatusCode::PAYLOAD_TOO_LARGE, &error.with_max_message(max))
    };
    if usize::try_from(body.size_hint().lower()).is_ok_and(|length| length > max) {
        return Err(too_large());
    }
    match std::pin::pin!(Limited::new(body, max)).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(error_reply_without_id(
            StatusCode::BAD_REQUEST,
            &RpcError::invalid_request("the body could not be read to its end"),
        )),
    }
}

/// Returns the headers of a request, or an empty map if they are unknown.
pub(crate) fn headers(arrival: &Arrival) -> &HeaderMap {
    static NONE: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);
    arrival.headers.as_deref().unwrap_or(&NONE)
}

/// Returns whether the client accepts an event stream.
pub(crate) fn accepts_events(arrival: &Arrival) -> bool {
    guard::accepts_events(&headers(arrival).get_all(ACCEPT))
}

pub(crate) static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
static MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

pub(crate) fn mirrored_headers(arrival: &Arrival) -> MirroredHeaders<'_> {
    MirroredHeaders {
        protocol_version: mirrored(arrival, &PROTOCOL_VERSION),
        method: mirrored(arrival, &MCP_METHOD),
        name: mirrored(arrival, &MCP_NAME),
    }
}

/// Returns the value of a header that must equal a part of the message.
pub(crate) fn mirrored(arrival: &Arrival, name: impl AsHeaderName) -> MirroredHeader<'_> {
    MirroredHeader::from_lines(headers(arrival).get_all(name).iter().map(HeaderValue::as_bytes))
}
