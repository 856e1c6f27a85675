//! How is one HTTP request sent, and what form does the reply have?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use ::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use ::http::{Method, Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Incoming, parse};
use toolway_protocol::{Id, Message};

use crate::client::http::request::client::{HttpBody, HttpClient};
use crate::client::http::request::events::{Break, Events, is_events, media_type};
use crate::client::http::request::headers::{header, put_on};
use crate::client::http::request::redirect::{self, MAX_HOPS};
use crate::client::http::request::refusal;
use crate::client::http::request::url::Url;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::transport::too_long_a_reply;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;
use crate::transport::frame::MAX_MESSAGE;

/// Sends HTTP requests to one server.
pub(crate) struct HttpEndpoint {
    pub(crate) url: Url,
    /// The headers that were set for this server. Every request carries them.
    headers: HeaderMap,
    /// The headers that were set for the client. Every request carries them, unless `headers` has the same name.
    more: OnceLock<HeaderMap>,
    client: Arc<dyn HttpClient>,
    redirects: Redirects,
    /// The URL that a permanent redirect named. It replaces `url` for later requests.
    moved: Mutex<Option<Url>>,
    /// The maximum length of a reply, or of an event in a reply.
    max_message: AtomicUsize,
    inbox: OnceLock<Inbox>,
}

/// The setting of whether redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// A redirect within the same origin is followed.
    Allowed,
    /// Every redirect is an error.
    Refused,
}

/// A reply, and the URL that it came from after all redirects.
pub(crate) struct Arrived {
    pub(crate) response: Response<HttpBody>,
    pub(crate) at: Url,
    /// The last URL that was reached through permanent redirects only.
    for_good: Option<Url>,
}

/// The form of the reply to a request.
pub(crate) enum Reply {
    /// The whole reply.
    Whole(Message),
    /// A stream of events that contains the reply.
    Stream(Events),
}

impl HttpEndpoint {
    pub(crate) fn new(
        url: Url,
        headers: HeaderMap,
        client: Arc<dyn HttpClient>,
        redirects: Redirects,
    ) -> Self {
        let (more, moved, inbox) = (OnceLock::new(), Mutex::default(), OnceLock::new());
        let max_message = AtomicUsize::new(MAX_MESSAGE);
        Self { url, headers, more, client, redirects, moved, max_message, inbox }
    }

    /// Adds the headers that were set for the client to every request. Headers that were set for this server take
    /// precedence.
    pub(crate) fn use_headers(&self, headers: &[(String, String)]) -> Result<()> {
        let mut more = HeaderMap::new();
        for (name, value) in headers {
            let (name, value) = header(name, value)?;
            more.insert(name, value);
        }
        let _ = self.more.set(more);
        Ok(())
    }

    /// Returns a copy without the inbox, for a task that outlives the client. Without the inbox, the task does not keep
    /// the client's listeners alive.
    pub(crate) fn without_inbox(&self) -> Self {
        let (url, headers, client) = (self.url.clone(), self.headers.clone(), self.client.clone());
        let endpoint = Self::new(url, headers, client, self.redirects);
        Self { more: self.more.clone(), moved: Mutex::new(Some(self.place())), ..endpoint }
    }

    pub(crate) fn use_max_message(&self, bytes: usize) {
        self.max_message.store(bytes, Ordering::Relaxed);
    }

    /// The maximum length of a reply, or of an event in a reply.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message.load(Ordering::Relaxed)
    }

    /// Posts one message.
    pub(crate) async fn post(&self, headers: HeaderMap, frame: Bytes) -> Result<Response<HttpBody>> {
        self.send(Method::POST, of_post(headers), frame).await
    }

    /// Posts one message to another URL of the server.
    pub(crate) async fn post_to(
        &self,
        url: Url,
        headers: HeaderMap,
        frame: Bytes,
    ) -> Result<Response<HttpBody>> {
        Ok(self.send_to(url, Method::POST, of_post(headers), frame).await?.response)
    }

    /// Returns the current URL of the server: the original URL, or the target of a permanent redirect.
    pub(crate) fn place(&self) -> Url {
        let moved = self.moved.lock();
        moved.clone().unwrap_or_else(|| self.url.clone())
    }

    /// Sends a request to the current URL of the server, and follows redirects. Remembers the new URL after a permanent
    /// redirect. `headers` take precedence over the headers that every request carries.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<HttpBody>> {
        let Arrived { response, for_good, .. } = self.send_to(self.place(), method, headers, body).await?;
        if for_good.is_some() {
            *self.moved.lock() = for_good;
        }
        Ok(response)
    }

    /// Like [`send`](Self::send), but sends the request to `url`, and does not remember permanent redirects.
    pub(crate) async fn send_to(
        &self,
        mut url: Url,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Arrived> {
        let mut all = self.more.get().cloned().unwrap_or_default();
        put_on(&mut all, &self.headers);
        put_on(&mut all, &headers);
        let mut for_good = None;
        let mut is_for_good = true;
        for hop in 0.. {
            let mut request = Request::new(body.clone());
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.uri().clone();
            *request.headers_mut() = all.clone();
            let response = self.client.send(request).await.map_err(|error| failed(&url, error))?;
            let status = response.status();
            let Some(moved) = redirect::read(&method, &url, status, response.headers())? else {
                return Ok(Arrived { response, at: url, for_good });
            };
            if self.redirects == Redirects::Refused {
                return Err(redirect::unwanted(&url, &moved.to, status));
            }
            if hop == MAX_HOPS {
                return Err(redirect::endless(&self.url, status));
            }
            // A permanent redirect that follows a temporary redirect does not count as permanent.
            is_for_good &= moved.is_for_good;
            if is_for_good {
                for_good = Some(moved.to.clone());
            }
            url = moved.to;
        }
        unreachable!("the loop returns after the last redirect")
    }

    /// Determines the form of the reply to the request `id`.
    pub(crate) async fn reply(&self, response: Response<HttpBody>, id: Option<&Id>) -> Result<Reply> {
        if let Some(coding) = response.headers().get(CONTENT_ENCODING).filter(|coding| *coding != "identity")
        {
            let coding = String::from_utf8_lossy(coding.as_bytes());
            return Err(self.misbehaved(&format!(
                "the reply has the content encoding {coding}, which the client did not request"
            )));
        }
        if response.status().is_success() && is_events(&response) {
            return Ok(Reply::Stream(Events::of(response, self.max_message())));
        }
        if media_type(response.headers()).as_deref() != Some("application/json") {
            return Err(refusal::of_page(&self.url, response).await);
        }
        let (head, body) = response.into_parts();
        let max = self.max_message();
        let body = Limited::new(body, max).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() { too_long_a_reply(max) } else { broke_off().caused_by(error) }
        })?;
        let body = body.to_bytes();
        match parse(&body, Limits::default()) {
            Ok(Incoming::One(Message::Response { outcome: Err(error), .. }))
                if refusal::is_about_more(head.status) =>
            {
                Err(refusal::of_message(&self.url, &head, error))
            }
            // A refusal without the id of the request is still about this request, because it is the reply to its POST.
            // Some servers put an id of their own into every refusal.
            Ok(Incoming::One(Message::Response { id: named, outcome: outcome @ Err(_) }))
                if !head.status.is_success() && named.as_ref() != id =>
            {
                Ok(Reply::Whole(Message::Response { id: None, outcome }))
            }
            Ok(Incoming::One(message @ Message::Response { .. })) => Ok(Reply::Whole(message)),
            // The body is JSON but not a reply. Proxies and web frameworks send their own errors as JSON.
            _ => Err(refusal::of_text(&self.url, &head, &body)),
        }
    }

    /// Checks the HTTP reply to a message without a JSON-RPC reply: a notification, or an answer to the server.
    pub(crate) async fn accepted(&self, response: Response<HttpBody>) -> Result<()> {
        if response.status().is_success() {
            return Ok(());
        }
        match self.reply(response, None).await? {
            Reply::Whole(Message::Response { outcome: Err(error), .. }) => Err(error.into()),
            _ => Err(self.misbehaved("a message was refused without a reason")),
        }
    }

    pub(crate) fn misbehaved(&self, reason: &str) -> Error {
        Error::new(ErrorKind::PeerMisbehaved, format!("{}: {reason}", self.url))
    }

    /// Returns the error for a stream that cannot be read any further.
    pub(crate) fn broken(&self, reason: Break) -> Error {
        match reason {
            Break::End => broke_off(),
            Break::Connection(error) => broke_off().caused_by(error),
            Break::TooLong => too_long_a_reply(self.max_message()),
            Break::NoMessage => self.misbehaved("an event is not a message"),
        }
    }

    pub(crate) fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    /// Returns the inbox for messages that arrive on the stream of the request `during`. If `during` is `None`, the
    /// stream does not belong to a request.
    pub(crate) fn inbox(&self, during: Option<&Id>) -> Option<Inbox> {
        let inbox = self.inbox.get()?;
        Some(during.map_or_else(|| inbox.clone(), |request| inbox.during(request)))
    }
}

fn of_post(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers
}

/// Returns the error of a request without a reply.
fn failed(url: &Url, error: Error) -> Error {
    let failed = |what| Error::new(error.kind(), format!("{what} {url}"));
    if error.is_unsent() {
        failed("failed to connect to").unsent().caused_by(error)
    } else {
        failed("no reply came from").broken_off().caused_by(error)
    }
}

fn broke_off() -> Error {
    Error::new(ErrorKind::Transport, "the reply broke off").broken_off()
}
