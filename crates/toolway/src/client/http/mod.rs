//! How do messages travel over HTTP? One POST each; the reply is JSON or a stream of events that ends with it.

mod handshake;
mod stateless;

use std::fmt;
use std::sync::OnceLock;

use ::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use ::http::{HeaderName, Request, Response, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming as HyperBody;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Incoming, parse};
use toolway_protocol::{Era, Id, Message};

use super::transport::{Carried, Inbox, Outgoing, Transport};
use super::{Client, ClientBuilder};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::frame::MAX_LINE;
use crate::transport::sse::Parser;

impl ClientBuilder {
    /// Connects to the server at a URL.
    pub async fn connect_http(self, url: &str) -> Result<Client> {
        self.connect(Endpoint::new(url)?).await
    }
}

impl Client {
    /// Connects to the server at a URL: see [`ClientBuilder::connect_http`].
    pub async fn connect_http(url: &str) -> Result<Self> {
        Self::builder().connect_http(url).await
    }
}

/// The longest reply, or event of a reply, that is read.
const MAX_REPLY: usize = MAX_LINE;

struct Endpoint {
    uri: Uri,
    client: HyperClient<HttpConnector, Full<Bytes>>,
    inbox: OnceLock<Inbox>,
}

impl Endpoint {
    fn new(url: &str) -> Result<Self> {
        let uri: Uri = url.parse().map_err(|error| {
            Error::new(ErrorKind::Misuse, format!("{url:?} is not a URL")).caused_by(error_of(error))
        })?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(Error::new(
                    ErrorKind::Misuse,
                    format!("{url:?}: this build speaks plain HTTP only, not HTTPS"),
                ));
            }
            _ => {
                return Err(Error::new(
                    ErrorKind::Misuse,
                    format!("{url:?} is not an HTTP URL: it must begin with http://"),
                ));
            }
        }
        let client = HyperClient::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build_http();
        Ok(Self { uri, client, inbox: OnceLock::new() })
    }

    async fn post(&self, outgoing: Outgoing) -> Result<Option<Message>> {
        let mut request = Request::new(Full::new(outgoing.frame.clone()));
        *request.method_mut() = ::http::Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        match outgoing.version.map(|version| (version, version.era())) {
            Some((version, Era::Stateless)) => stateless::dress(headers, version, &outgoing),
            Some((version, Era::Handshake)) => handshake::dress(headers, version),
            None => {}
        }
        let response = self.client.request(request).await.map_err(|error| {
            Error::new(ErrorKind::Transport, format!("failed to connect to {}", self.uri)).caused_by(error)
        })?;
        match outgoing.id {
            Some(id) => self.reply(response, &id).await.map(Some),
            None if response.status().is_success() => Ok(None),
            None => Err(self.unexpected(response.status())),
        }
    }

    async fn reply(&self, response: Response<HyperBody>, id: &Id) -> Result<Message> {
        let status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        match content_type
            .map(|value| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        {
            Some(kind) if kind == "text/event-stream" => self.stream(response, id).await,
            Some(kind) if kind == "application/json" => {
                let body = Limited::new(response.into_body(), MAX_REPLY).collect().await;
                let body = body
                    .map_err(|error| {
                        Error::new(ErrorKind::Transport, "the reply broke off").caused_by(error)
                    })?
                    .to_bytes();
                match parse(&body, Limits::default()) {
                    Ok(Incoming::One(message @ Message::Response { .. })) => Ok(message),
                    // Proxies and web frameworks answer errors with JSON of their own.
                    _ => Err(self.unexpected(status)),
                }
            }
            _ => Err(self.unexpected(status)),
        }
    }

    /// Reads events until the reply comes; what else is told on the way is for callers who asked for it.
    async fn stream(&self, response: Response<HyperBody>, id: &Id) -> Result<Message> {
        let broken = |reason: &str| Error::new(ErrorKind::PeerMisbehaved, format!("{}: {reason}", self.uri));
        let mut parser = Parser::new(MAX_REPLY);
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let frame = frame
                .map_err(|error| Error::new(ErrorKind::Transport, "the reply broke off").caused_by(error))?;
            let Some(chunk) = frame.data_ref() else { continue };
            parser.push(chunk);
            while let Some(event) = parser.next_event().map_err(|_| broken("an event is too long"))? {
                if event.data.is_empty() || event.event.as_deref().is_some_and(|kind| kind != "message") {
                    continue;
                }
                match parse(&event.data, Limits::default()) {
                    Ok(Incoming::One(message @ Message::Response { .. })) if message.id() == Some(id) => {
                        return Ok(message);
                    }
                    Ok(Incoming::One(message)) => {
                        if let Some(inbox) = self.inbox.get() {
                            inbox.take(&message);
                        }
                    }
                    Ok(Incoming::Batch(_)) => {}
                    Err(_) => return Err(broken("an event is not a message")),
                }
            }
        }
        Err(Error::new(ErrorKind::Transport, "the reply broke off"))
    }

    fn unexpected(&self, status: StatusCode) -> Error {
        Error::new(ErrorKind::PeerMisbehaved, format!("{} answered {status} without a message", self.uri))
            .with_http_status(status.as_u16())
    }
}

impl Transport for Endpoint {
    fn carry(&self, outgoing: Outgoing) -> Carried<'_> {
        Box::pin(self.post(outgoing))
    }

    fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("uri", &self.uri).finish_non_exhaustive()
    }
}

fn error_of(error: ::http::uri::InvalidUri) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(error)
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    // Names and revisions are plain, and `header::encode` makes anything else so.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
