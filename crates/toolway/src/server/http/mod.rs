//! Streamable HTTP: one URL for every revision, as a tower service.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | How does a request find its era? |
//! | `guard.rs` | May this request come in at all? |
//! | `body.rs`, `exchange.rs` | What is in a reply: a message, or a stream that ends with it? |
//! | `stateless.rs`, `handshake.rs` | How does each era answer a POST? |
//! | `listen.rs` | How is the service put behind a socket? |

mod body;
mod exchange;
mod guard;
mod handshake;
mod listen;
mod stateless;

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ::http::request::Parts;
use ::http::{Method as HttpMethod, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::Semaphore;
use toolway_protocol::era::{Claim, Door, classify};
use toolway_protocol::http::header::{Mirrored, MirroredHeaders};
use toolway_protocol::jsonrpc::{Incoming, Rejected, parse, write_error};
use toolway_protocol::{Message, RpcError};

pub use body::HttpBody;
pub use guard::{Hosts, Origins};

use super::context::Arrival;
use super::{Server, ServerBuilder};
use crate::error::Result;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Server {
    /// This server as a tower service, to mount at any path of a web application, or to
    /// [`serve`](HttpService::serve) on a socket of its own.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # let server = Server::new("app", "1.0.0").build()?;
    /// let service = server.http().hosts(["app.example"]).origins(["https://app.example"]);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn http(&self) -> HttpService {
        HttpService {
            settings: Arc::new(Settings {
                server: self.clone(),
                hosts: Hosts::default(),
                origins: Origins::default(),
                max_body: self.inner.max_frame,
                listens: Arc::new(Semaphore::new(MAX_LISTENS)),
            }),
        }
    }
}

impl ServerBuilder {
    /// Builds the server and makes it a tower service: see [`Server::http`].
    pub fn http(self) -> Result<HttpService> {
        Ok(self.build()?.http())
    }
}

/// A server that answers HTTP requests.
///
/// By default it answers only requests that come to this machine by a loopback name (`localhost`,
/// `127.0.0.1`, `[::1]`) and, if a browser sends them, from a page of such a name: any web page can make a
/// browser send requests to servers on the user's machine, and this is what stops them.
#[derive(Clone)]
pub struct HttpService {
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    server: Server,
    hosts: Hosts,
    origins: Origins,
    max_body: usize,
    /// Room for streams of changes.
    listens: Arc<Semaphore>,
}

/// How many streams of changes may be open.
const MAX_LISTENS: usize = 10_000;

impl HttpService {
    /// The names by which the server may be reached, besides the loopback names.
    pub fn hosts(mut self, hosts: impl Into<Hosts>) -> Self {
        self.edit().hosts = hosts.into();
        self
    }

    /// The origins of web pages that may talk to the server, besides those of loopback names.
    pub fn origins(mut self, origins: impl Into<Origins>) -> Self {
        self.edit().origins = origins.into();
        self
    }

    /// The longest body that is accepted, in bytes.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.edit().max_body = bytes;
        self
    }

    fn edit(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }

    /// Answers one request, in the task of the caller.
    ///
    /// A web application that has values for the handlers of this request puts an [`Extensions`](crate::Extensions) into
    /// the extensions of the request; handlers get them as [`Extension<T>`](crate::Extension).
    pub async fn handle<B>(&self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let settings = &*self.settings;
        let (parts, body) = request.into_parts();
        if let Err(refusal) = guard::check(&parts, &settings.hosts, &settings.origins) {
            return refused(StatusCode::FORBIDDEN, &RpcError::invalid_request(refusal));
        }
        if parts.method != HttpMethod::POST {
            let error = RpcError::invalid_request("this endpoint takes POST");
            let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, &error);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        if !guard::is_json(parts.headers.get(CONTENT_TYPE)) {
            let error = RpcError::invalid_request("the Content-Type must be application/json");
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
        }
        if !guard::takes_json(&parts.headers.get_all(ACCEPT)) {
            let error = RpcError::invalid_request(
                "the Accept header must allow application/json and text/event-stream",
            );
            return refused(StatusCode::NOT_ACCEPTABLE, &error);
        }
        let frame = match read(body, settings.max_body).await {
            Ok(frame) => frame,
            Err(refusal) => return refusal,
        };
        self.post(parts, frame).await
    }

    async fn post(&self, parts: Parts, frame: Bytes) -> Response<HttpBody> {
        let headers = &parts.headers;
        let server = &self.settings.server;
        let message = match parse(&frame, server.inner.limits) {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(_)) => {
                return refused(
                    StatusCode::BAD_REQUEST,
                    &RpcError::invalid_request("batches are not accepted"),
                );
            }
            Err(Rejected { id, error }) => return failed(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        let mirrored = MirroredHeaders {
            protocol_version: mirrored(headers, &PROTOCOL_VERSION),
            method: mirrored(headers, &MCP_METHOD),
            name: mirrored(headers, &MCP_NAME),
        };
        match classify(&message, Door::Http(&mirrored)) {
            Ok(Claim::Stateless(envelope)) => {
                stateless::post(server, message, envelope, arrival(&self.settings, parts)).await
            }
            Ok(Claim::Handshake(version)) => {
                handshake::post(server, message, version, arrival(&self.settings, parts)).await
            }
            Err(error) => failed(StatusCode::BAD_REQUEST, message_id(&message), &error),
        }
    }
}

/// What handlers may ask for about the HTTP request.
fn arrival(settings: &Settings, parts: Parts) -> Arrival {
    let Parts { headers, mut extensions, .. } = parts;
    Arrival {
        headers: Some(Arc::new(headers)),
        extensions: extensions.remove().unwrap_or_default(),
        listens: Some(settings.listens.clone()),
        ..Arrival::default()
    }
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
        let error = RpcError::invalid_request(format!("the body is longer than {max} bytes"));
        refused(StatusCode::PAYLOAD_TOO_LARGE, &error)
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

/// An error about a request whose message nobody looked at.
fn refused(status: StatusCode, error: &RpcError) -> Response<HttpBody> {
    failed(status, None, error)
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { server, hosts, origins, max_body, .. } = &*self.settings;
        f.debug_struct("HttpService")
            .field("server", server)
            .field("hosts", hosts)
            .field("origins", origins)
            .field("max_body", max_body)
            .finish_non_exhaustive()
    }
}
