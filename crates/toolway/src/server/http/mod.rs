//! Streamable HTTP: one URL for every revision, as a tower service.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | How does a request find its era? |
//! | `service.rs` | How is the door described, and what does it keep? |
//! | `limits.rs` | How much may a peer take? |
//! | `guard.rs` | May this request come in at all? |
//! | `body.rs`, `exchange.rs` | What is in a reply: a message, or a stream that ends with it? |
//! | `stateless.rs`, `handshake/` | How does each era answer? |
//! | `listen.rs` | How is the service put behind a socket, and how does it stop? |
//! | `h1.rs`, `h2c.rs` | How is HTTP spoken on a socket? |
//! | `seen.rs` | What is seen of a request from outside? |
//! | `socket.rs`, `signal.rs` | What does the system have to do for it? |

mod body;
mod exchange;
mod guard;
mod handshake;
mod limits;
mod listen;
#[cfg(not(feature = "h2c"))]
#[path = "h1.rs"]
mod protocol;
#[cfg(feature = "h2c")]
#[path = "h2c.rs"]
mod protocol;
mod seen;
mod service;
mod signal;
mod socket;
mod stateless;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use ::http::header::{
    ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use ::http::request::Parts;
use ::http::{Method as HttpMethod, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::OwnedSemaphorePermit;
use toolway_protocol::era::{Claim, Door, batch, classify_in};
use toolway_protocol::http::header::{Mirrored, MirroredHeaders};
use toolway_protocol::jsonrpc::{Incoming, Rejected, parse, write_error};
use toolway_protocol::{Era, Message, Method, RpcError};

pub use body::HttpBody;
pub use guard::{Hosts, Origins};
pub use service::HttpService;
pub use signal::told_to_stop;

use self::seen::Seen;
use self::service::{Settings, State};
use crate::ground::error::Result;
use crate::ground::extensions::Extensions;
use crate::ground::poll_once::poll_once;
use crate::server::admission::admit::{Admitted, Refuse};
use crate::server::admission::connecting::Connecting;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::observe::hooks::Parting;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl HttpService {
    /// Answers one request, in the task of the caller.
    ///
    /// A web application that has values for the handlers of this request puts an [`Extensions`] into
    /// the extensions of the request; handlers get them as [`Extension<T>`](crate::Extension).
    pub async fn handle<B>(&self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let seen = Seen::begin(request.method());
        let response = self.answer(request).await;
        if let Some(seen) = seen {
            seen.end(&response);
        }
        response
    }

    async fn answer<B>(&self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        if let Some(refusal) = self.settings.refusal(&parts) {
            return refusal;
        }
        let visit = match Visit::admit(&self.settings, parts).await {
            Ok(visit) => visit,
            Err(refusal) => return refusal,
        };
        // Told when the reply is over, or when this future is dropped before there is one.
        let parting =
            Parting::of_request(&self.settings.server, &visit.parts.method, || visit.arrival_again());
        let response = match visit.parts.method {
            HttpMethod::POST => match visit.read(body).await {
                Ok(frame) => visit.post(frame).await,
                Err(refusal) => refusal,
            },
            _ if !self.settings.server.serves(Era::Handshake) => visit.not_allowed(),
            // Boxed, as are the rarer ways below: what is not on the way of a call shall not make its future larger.
            HttpMethod::GET => Box::pin(handshake::get(visit)).await,
            HttpMethod::DELETE => Box::pin(handshake::delete(visit)).await,
            _ => visit.not_allowed(),
        };
        match parting {
            Some(parting) => response.map(|body| body.watched(parting)),
            None => response,
        }
    }
}

/// The address that a request came from. [`HttpService::serve`] puts it into the extensions of each request; an application
/// that mounts the service and knows the address can do the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote(pub SocketAddr);

/// A request that was let in.
struct Visit<'s> {
    settings: &'s Settings,
    state: &'s State,
    parts: Parts,
    admitted: Admitted,
}

impl<'s> Visit<'s> {
    async fn admit(settings: &'s Settings, mut parts: Parts) -> Result<Self, Response<HttpBody>> {
        let state = settings.state();
        if state.closing.is_cancelled() {
            return Err(unavailable(None, &busy("the server is about to stop")));
        }
        let extensions: Extensions = parts.extensions.remove().unwrap_or_default();
        let mut admitted = if settings.server.has_admission() {
            let connecting = connecting(&parts);
            let admission = Box::pin(settings.server.admit(connecting, extensions));
            admission.await.map_err(|refuse| turned_away(&refuse))?
        } else {
            Admitted { extensions, ..Admitted::default() }
        };
        // An application that has found out who calls says so.
        if admitted.principal.is_none() {
            admitted.principal = admitted.extensions.get::<Principal>().as_deref().cloned();
        }
        Ok(Self { settings, state, parts, admitted })
    }

    /// Reads the body of a POST.
    async fn read<B>(&self, body: B) -> Result<Bytes, Response<HttpBody>>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let headers = &self.parts.headers;
        if !guard::is_json(headers) {
            let error = RpcError::invalid_request("the Content-Type must be application/json");
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error));
        }
        if !guard::is_plain(headers) {
            let error = RpcError::invalid_request("a body with a Content-Encoding is not taken");
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error));
        }
        if !guard::takes_json(&headers.get_all(ACCEPT)) {
            let error = RpcError::invalid_request(
                "the Accept header must allow application/json and text/event-stream",
            );
            return Err(refused(StatusCode::NOT_ACCEPTABLE, &error));
        }
        let limits = &self.settings.limits;
        let mut reading = pin!(read(body, limits.body));
        // Most bodies are here already, and need no clock.
        if let Poll::Ready(outcome) = poll_once(reading.as_mut()).await {
            return outcome;
        }
        match tokio::time::timeout(limits.body_timeout, reading).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let error = RpcError::invalid_request("the body took too long to come");
                Err(refused(StatusCode::REQUEST_TIMEOUT, &error))
            }
        }
    }

    async fn post(self, frame: Bytes) -> Response<HttpBody> {
        let server = &self.settings.server;
        let has_handshake = server.serves(Era::Handshake);
        if has_handshake && handshake::is_for_pipe(&self) {
            return Box::pin(handshake::post_to_pipe(self, frame)).await;
        }
        let message = match parse(&frame, server.inner.limits) {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(_)) if !has_handshake => {
                return refused(StatusCode::BAD_REQUEST, &batch::refused());
            }
            Ok(Incoming::Batch(messages)) => return Box::pin(handshake::post_batch(self, messages)).await,
            Err(Rejected { id, error }) => return failed(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        match classify_in(server.inner.era, &message, Door::Http(&mirrored_headers(&self.parts.headers))) {
            Ok(Claim::Stateless(envelope)) => stateless::post(self, message, envelope).await,
            Ok(Claim::Handshake(version)) => Box::pin(handshake::post(self, message, version)).await,
            Err(error) => failed(StatusCode::BAD_REQUEST, message_id(&message), &error),
        }
    }

    /// Who the request comes from, if that is known.
    fn owner(&self) -> Option<&str> {
        self.admitted.principal.as_ref().map(Principal::as_str)
    }

    /// Where it comes from, if that is known.
    fn remote(&self) -> Option<SocketAddr> {
        self.parts.extensions.get::<Remote>().map(|Remote(address)| *address)
    }

    /// Against whose share of sessions it counts.
    fn peer(&self) -> Option<String> {
        match (self.owner(), self.remote()) {
            (Some(owner), _) => Some(format!("principal {owner}")),
            (None, Some(address)) => Some(format!("address {}", address.ip())),
            (None, None) => None,
        }
    }

    /// Whether the reply may be a stream.
    fn takes_events(&self) -> bool {
        guard::takes_events(&self.parts.headers.get_all(ACCEPT))
    }

    /// A place among the requests that run. What is answered at once needs none.
    fn place(&self, method: &Method) -> Result<Option<OwnedSemaphorePermit>, RpcError> {
        if matches!(method, Method::Ping | Method::Initialize | Method::Discover | Method::Listen) {
            return Ok(None);
        }
        self.state.place().map(Some)
    }

    /// What handlers may ask for about the HTTP request.
    fn arrival(self) -> Arrival {
        let remote = self.remote();
        arrival(self.state, self.parts.headers, remote, self.admitted)
    }

    /// The same, when there is more than one message.
    fn arrival_again(&self) -> Arrival {
        arrival(self.state, self.parts.headers.clone(), self.remote(), self.admitted.clone())
    }

    fn methods(&self) -> &'static str {
        match (self.settings.is_sessionless, self.settings.has_legacy_sse) {
            _ if !self.settings.server.serves(Era::Handshake) => "POST",
            (true, false) => "POST",
            (true, true) => "GET, POST",
            (false, _) => "GET, POST, DELETE",
        }
    }

    fn not_allowed(&self) -> Response<HttpBody> {
        self.not_allowed_because(format!("this endpoint takes {}", self.methods()))
    }

    fn not_allowed_because(&self, text: impl Into<Cow<'static, str>>) -> Response<HttpBody> {
        let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, &RpcError::invalid_request(text));
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(self.methods()));
        response
    }
}

fn arrival(state: &State, headers: HeaderMap, remote: Option<SocketAddr>, admitted: Admitted) -> Arrival {
    Arrival {
        headers: Some(Arc::new(headers)),
        remote,
        listens: Some(state.streams.clone()),
        closing: Some(state.closing.clone()),
        ..admitted.arrival()
    }
}

/// What is known about a request before anything of it is looked at.
fn connecting(parts: &Parts) -> Connecting {
    Connecting::over_http(
        Arc::new(parts.headers.clone()),
        parts.uri.query(),
        handshake::session_id(&parts.headers).map(str::to_owned),
        parts.extensions.get::<Remote>().map(|Remote(address)| *address),
    )
}

fn turned_away(refuse: &Refuse) -> Response<HttpBody> {
    let status = StatusCode::from_u16(refuse.status()).unwrap_or(StatusCode::FORBIDDEN);
    let mut response = refused(status, &refuse.error());
    if let Some(challenge) = refuse.header().and_then(|text| HeaderValue::from_str(text).ok()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

fn message_id(message: &Message) -> Option<&toolway_protocol::Id> {
    match message {
        Message::Request { id, .. } => Some(id),
        Message::Notification { .. } | Message::Response { .. } => None,
    }
}

static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
static MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

fn mirrored_headers(headers: &HeaderMap) -> MirroredHeaders<'_> {
    MirroredHeaders {
        protocol_version: mirrored(headers, &PROTOCOL_VERSION),
        method: mirrored(headers, &MCP_METHOD),
        name: mirrored(headers, &MCP_NAME),
    }
}

fn mirrored<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Mirrored<'h> {
    Mirrored::from_lines(headers.get_all(name).iter().map(HeaderValue::as_bytes))
}

async fn read<B>(body: B, max: usize) -> Result<Bytes, Response<HttpBody>>
where
    B: Body + Send,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let too_large = || {
        let error = RpcError::invalid_request(format!(
            "the body is longer than {max} bytes: send less, or raise `max_message` on the server, or `max_body` where it is set"
        ));
        refused(StatusCode::PAYLOAD_TOO_LARGE, &error.with_max_message(max))
    };
    if usize::try_from(body.size_hint().lower()).is_ok_and(|length| length > max) {
        return Err(too_large());
    }
    match std::pin::pin!(Limited::new(body, max)).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(refused(
            StatusCode::BAD_REQUEST,
            &RpcError::invalid_request("the body could not be read to its end"),
        )),
    }
}

/// A frame as the whole reply.
fn reply(status: StatusCode, frame: Vec<u8>) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::whole(frame));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The reply to what needs no answer.
fn accepted() -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// An error about a message that could be read so far.
fn failed(status: StatusCode, id: Option<&toolway_protocol::Id>, error: &RpcError) -> Response<HttpBody> {
    let mut frame = Vec::new();
    write_error(&mut frame, id, error);
    reply(status, frame)
}

/// There is no room now; later there may be.
fn unavailable(id: Option<&toolway_protocol::Id>, error: &RpcError) -> Response<HttpBody> {
    let mut response = failed(StatusCode::SERVICE_UNAVAILABLE, id, error);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// An error about a request whose message nobody looked at.
fn refused(status: StatusCode, error: &RpcError) -> Response<HttpBody> {
    failed(status, None, error)
}
