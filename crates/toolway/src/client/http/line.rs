//! How does one HTTP request reach the server, and what shape has the reply?

use std::sync::OnceLock;

use ::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use ::http::{Method, Request, Response, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming as HyperBody;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use toolway_protocol::Message;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Incoming, parse};

use super::events::{Break, Events, is_events, media_type};
use crate::client::transport::{Answering, Inbox};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::frame::MAX_LINE;

/// The longest reply, or event of a reply, that is read.
pub(super) const MAX_REPLY: usize = MAX_LINE;

/// The longest head of a reply: its status and all its headers.
const MAX_HEAD: usize = 64 << 10;

/// The way to one server.
pub(super) struct Line {
    uri: Uri,
    client: HyperClient<HttpConnector, Full<Bytes>>,
    inbox: OnceLock<Inbox>,
}

/// What came back for a request.
pub(super) enum Reply {
    /// The whole answer.
    Whole(Message),
    /// A stream that holds it.
    Stream(Events),
}

impl Line {
    pub(super) fn to(url: &str) -> Result<Self> {
        let uri: Uri = url.parse().map_err(|error: ::http::uri::InvalidUri| {
            Error::new(ErrorKind::Misuse, format!("{url:?} is not a URL")).caused_by(error)
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
        let client = HyperClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(MAX_HEAD)
            .build_http();
        Ok(Self { uri, client, inbox: OnceLock::new() })
    }

    /// The same way for somebody who outlives the client: its listeners do not wait for them.
    pub(super) fn without_inbox(&self) -> Self {
        Self { uri: self.uri.clone(), client: self.client.clone(), inbox: OnceLock::new() }
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Sends one message.
    pub(super) async fn post(&self, mut headers: HeaderMap, frame: Bytes) -> Result<Response<HyperBody>> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        self.send(Method::POST, headers, frame).await
    }

    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<HyperBody>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        self.client.request(request).await.map_err(|error| {
            let failed = |what| Error::new(ErrorKind::Transport, format!("{what} {}", self.uri));
            if error.is_connect() {
                failed("failed to connect to").caused_by(error)
            } else {
                failed("no reply came from").broken_off().caused_by(error)
            }
        })
    }

    /// Tells the shapes of a reply apart.
    pub(super) async fn reply(&self, response: Response<HyperBody>) -> Result<Reply> {
        let status = response.status();
        if is_events(&response) {
            return Ok(Reply::Stream(Events::of(response)));
        }
        if media_type(&response).as_deref() != Some("application/json") {
            return Err(self.unexpected(status));
        }
        let body = Limited::new(response.into_body(), MAX_REPLY).collect().await;
        let body = body.map_err(|error| broke_off().caused_by(error))?.to_bytes();
        match parse(&body, Limits::default()) {
            Ok(Incoming::One(message @ Message::Response { .. })) => Ok(Reply::Whole(message)),
            // Proxies and web frameworks answer errors with JSON of their own.
            _ => Err(self.unexpected(status)),
        }
    }

    /// What is answered to something that wants no reply.
    pub(super) fn accepted(&self, status: StatusCode) -> Result<()> {
        if status.is_success() { Ok(()) } else { Err(self.unexpected(status)) }
    }

    pub(super) fn unexpected(&self, status: StatusCode) -> Error {
        Error::new(ErrorKind::PeerMisbehaved, format!("{} answered {status} without a message", self.uri))
            .with_http_status(status.as_u16())
    }

    pub(super) fn misbehaved(&self, reason: &str) -> Error {
        Error::new(ErrorKind::PeerMisbehaved, format!("{}: {reason}", self.uri))
    }

    /// Why a stream cannot be read any further.
    pub(super) fn broken(&self, reason: Break) -> Error {
        match reason {
            Break::End => broke_off(),
            Break::Connection(error) => broke_off().caused_by(error),
            Break::TooLong => self.misbehaved("an event is too long"),
            Break::NoMessage => self.misbehaved("an event is not a message"),
        }
    }

    pub(super) fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    /// Hands over what the server tells.
    pub(super) fn deliver(&self, message: &Message) {
        if let Some(inbox) = self.inbox.get() {
            inbox.take(message);
        }
    }

    /// How a request of the server is answered; nothing for messages that are none.
    pub(super) fn answer(&self, message: &Message) -> Option<Answering> {
        self.inbox.get()?.answer(message)
    }
}

fn broke_off() -> Error {
    Error::new(ErrorKind::Transport, "the reply broke off").broken_off()
}
