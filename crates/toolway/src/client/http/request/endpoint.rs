//! How is one HTTP request sent, and what form does the reply have?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use ::http::{Method, Request, Response, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::mpsc;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{ParsedFrame, parse};
use toolway_protocol::{Id, Message};

use crate::client::http::request::client::{HttpBody, HttpClient, RequestSigner};
use crate::client::http::request::events::{
    EventReader, ReceivedMessage, StreamError, is_event_stream, media_type,
};
use crate::client::http::request::headers::{check_header, fill_headers};
use crate::client::http::request::redirect::{self, MAX_REDIRECTS};
use crate::client::http::request::refusal;
use crate::client::http::request::url::Url;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::transport::reply_too_long_error;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;
use crate::transport::frame::MAX_MESSAGE;

/// Sends HTTP requests to one server.
pub(crate) struct HttpEndpoint {
    pub(crate) url: Url,
    /// The headers that were set for this server. Every request carries them.
    headers: HeaderMap,
    /// The headers that were set for the client. Every request carries them, unless `headers` has the same name.
    client_headers: OnceLock<HeaderMap>,
    client: Arc<dyn HttpClient>,
    /// Signs in, if the server asks for it.
    signer: Option<Arc<dyn RequestSigner>>,
    redirects: RedirectPolicy,
    /// The URL that a permanent redirect named. It replaces `url` for later requests.
    permanent_url: Mutex<Option<Url>>,
    /// The maximum length of a reply, or of an event in a reply.
    max_message: AtomicUsize,
    inbox: OnceLock<Inbox>,
    /// Gets the messages of the server unread, in place of the inbox.
    relay: OnceLock<mpsc::Sender<Bytes>>,
}

/// The setting of whether redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectPolicy {
    /// A redirect within the same origin is followed.
    Allowed,
    /// Every redirect is an error.
    Refused,
}

/// A reply, and the URL that it came from after all redirects.
pub(crate) struct FinalResponse {
    pub(crate) response: Response<HttpBody>,
    pub(crate) url: Url,
    /// The last URL that was reached through permanent redirects only.
    permanent_url: Option<Url>,
}

/// The form of the reply to a request.
pub(crate) enum ReplyBody {
    /// The whole reply.
    Whole(ReceivedMessage),
    /// A stream of events that contains the reply.
    Stream(EventReader),
}

impl HttpEndpoint {
    pub(crate) fn new(
        url: Url,
        headers: HeaderMap,
        client: Arc<dyn HttpClient>,
        redirects: RedirectPolicy,
    ) -> Self {
        let (more, moved, inbox) = (OnceLock::new(), Mutex::default(), OnceLock::new());
        let max_message = AtomicUsize::new(MAX_MESSAGE);
        Self {
            url,
            headers,
            client_headers: more,
            client,
            signer: None,
            redirects,
            permanent_url: moved,
            max_message,
            inbox,
            relay: OnceLock::new(),
        }
    }

    /// Signs requests that the application has not signed itself.
    pub(crate) fn with_signer(mut self, signer: Option<Arc<dyn RequestSigner>>) -> Self {
        self.signer = signer;
        self
    }

    /// Returns for how long requests have waited for a user.
    pub(crate) fn user_time(&self) -> Duration {
        let signing_in = self.signer.as_ref().map(|signer| signer.user_time());
        self.client.user_time() + signing_in.unwrap_or_default()
    }

    /// Adds the headers that were set for the client to every request. Headers that were set for this server take
    /// precedence.
    pub(crate) fn set_client_headers(&self, headers: &[(String, String)]) -> Result<()> {
        let mut more = HeaderMap::new();
        for (name, value) in headers {
            let (name, value) = check_header(name, value)?;
            more.insert(name, value);
        }
        let _ = self.client_headers.set(more);
        Ok(())
    }

    /// Returns a copy without the inbox, for a task that outlives the client. Without the inbox, the task does not keep
    /// the client's listeners alive.
    pub(crate) fn without_inbox(&self) -> Self {
        let (url, headers, client) = (self.url.clone(), self.headers.clone(), self.client.clone());
        let endpoint = Self::new(url, headers, client, self.redirects);
        Self {
            client_headers: self.client_headers.clone(),
            permanent_url: Mutex::new(Some(self.current_url())),
            signer: self.signer.clone(),
            ..endpoint
        }
    }

    pub(crate) fn set_max_message(&self, bytes: usize) {
        self.max_message.store(bytes, Ordering::Relaxed);
    }

    /// The maximum length of a reply, or of an event in a reply.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message.load(Ordering::Relaxed)
    }

    /// Posts one message.
    pub(crate) async fn post(&self, headers: HeaderMap, frame: Bytes) -> Result<Response<HttpBody>> {
        self.send(Method::POST, with_post_headers(headers), frame).await
    }

    /// Posts one message to another URL of the server.
    pub(crate) async fn post_to(
        &self,
        url: Url,
        headers: HeaderMap,
        frame: Bytes,
    ) -> Result<Response<HttpBody>> {
        Ok(self.send_to(url, Method::POST, with_post_headers(headers), frame).await?.response)
    }

    /// Returns the current URL of the server: the original URL, or the target of a permanent redirect.
    pub(crate) fn current_url(&self) -> Url {
        let moved = self.permanent_url.lock();
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
        let FinalResponse { response, permanent_url: for_good, .. } =
            self.send_to(self.current_url(), method, headers, body).await?;
        if for_good.is_some() {
            *self.permanent_url.lock() = for_good;
        }
        Ok(response)
    }

    /// Like [`send`](Self::send), but sends the request to `url`, and does not remember permanent redirects.
    pub(crate) async fn send_to(
        &self,
        mut url: Url,
        method: Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<FinalResponse> {
        fill_headers(&mut headers, &self.headers);
        if let Some(more) = self.client_headers.get() {
            fill_headers(&mut headers, more);
        }
        let signer = self.signer.as_deref().filter(|_| !headers.contains_key(AUTHORIZATION));
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let mut for_good = None;
        let mut is_for_good = true;
        for hop in 0.. {
            *request.uri_mut() = url.uri().clone();
            let sent = match signer {
                Some(signer) => self.send_signed(signer, &mut request).await,
                None => self.client.send(request.clone()).await,
            };
            let response = sent.map_err(|error| send_error(&url, error))?;
            let status = response.status();
            let Some(moved) = redirect::read(request.method(), &url, status, response.headers())? else {
                return Ok(FinalResponse { response, url, permanent_url: for_good });
            };
            if self.redirects == RedirectPolicy::Refused {
                return Err(redirect::disallowed_error(&url, &moved.url, status));
            }
            if hop == MAX_REDIRECTS {
                return Err(redirect::too_many_error(&self.url, status));
            }
            // A permanent redirect that follows a temporary redirect does not count as permanent.
            is_for_good &= moved.is_permanent;
            if is_for_good {
                for_good = Some(moved.url.clone());
            }
            url = moved.url;
        }
        unreachable!("the loop returns after the last redirect")
    }

    async fn send_signed(
        &self,
        signer: &dyn RequestSigner,
        request: &mut Request<Bytes>,
    ) -> Result<Response<HttpBody>> {
        if !signer.sign(request)? {
            signer.prepare(request).await?;
        }
        let response = self.client.send(request.clone()).await?;
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return signer.sign_in(&*self.client, request, response).await;
        }
        signer.note(request, response.headers());
        Ok(response)
    }

    /// Determines the form of the reply to the request `id`.
    pub(crate) async fn read_reply(
        &self,
        response: Response<HttpBody>,
        id: Option<&Id>,
    ) -> Result<ReplyBody> {
        if let Some(coding) = response.headers().get(CONTENT_ENCODING).filter(|coding| *coding != "identity")
        {
            let coding = String::from_utf8_lossy(coding.as_bytes());
            return Err(self.misbehaved_error(&format!(
                "the reply has the content encoding {coding}, which the client did not request"
            )));
        }
        if response.status().is_success() && is_event_stream(&response) {
            return Ok(ReplyBody::Stream(EventReader::new(response, self.max_message())));
        }
        if media_type(response.headers()).as_deref() != Some("application/json") {
            return Err(refusal::page_error(&self.url, response).await);
        }
        let (head, body) = response.into_parts();
        let max = self.max_message();
        let body = Limited::new(body, max).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                reply_too_long_error(max)
            } else {
                broken_reply_error().caused_by(error)
            }
        })?;
        let body = body.to_bytes();
        match parse(&body, Limits::default()) {
            Ok(ParsedFrame::One(Message::Response { outcome: Err(error), .. }))
                if refusal::is_about_access_or_load(head.status) =>
            {
                Err(refusal::message_error(&self.url, &head, error))
            }
            // The refusal is the reply to the POST of this request, so it is about this request even if its id is
            // missing or different. Some servers put an id of their own into every refusal.
            Ok(ParsedFrame::One(Message::Response { id: named, outcome: outcome @ Err(_) }))
                if !head.status.is_success() && named.as_ref() != id =>
            {
                let message = Message::Response { id: None, outcome };
                Ok(ReplyBody::Whole(ReceivedMessage { message, text: body }))
            }
            Ok(ParsedFrame::One(message @ Message::Response { .. })) => {
                Ok(ReplyBody::Whole(ReceivedMessage { message, text: body }))
            }
            // The body is JSON but not a reply. Proxies and web frameworks send their own errors as JSON.
            _ => Err(refusal::text_error(&self.url, &head, &body)),
        }
    }

    /// Checks the HTTP reply to a message that gets no JSON-RPC reply: a notification, or an answer to the server.
    pub(crate) async fn check_accepted(&self, response: Response<HttpBody>) -> Result<()> {
        if response.status().is_success() {
            return Ok(());
        }
        match self.read_reply(response, None).await? {
            ReplyBody::Whole(ReceivedMessage {
                message: Message::Response { outcome: Err(error), .. },
                ..
            }) => Err(error.into()),
            _ => Err(self.misbehaved_error("a message was refused without a reason")),
        }
    }

    pub(crate) fn misbehaved_error(&self, reason: &str) -> Error {
        Error::new(ErrorKind::PeerMisbehaved, format!("{}: {reason}", self.url))
    }

    /// Returns the error for a stream that cannot be read any further.
    pub(crate) fn stream_error(&self, reason: StreamError) -> Error {
        match reason {
            StreamError::Ended => broken_reply_error(),
            StreamError::Connection(error) => broken_reply_error().caused_by(error),
            StreamError::TooLong => reply_too_long_error(self.max_message()),
            StreamError::NotAMessage => self.misbehaved_error("an event is not a message"),
        }
    }

    /// Sets where the messages of the server go that are not replies, if they are passed on unread.
    pub(crate) fn set_relay(&self, relay: mpsc::Sender<Bytes>) {
        let _ = self.relay.set(relay);
    }

    /// Returns where messages are passed on unread, if they are.
    pub(crate) fn relay(&self) -> Option<&mpsc::Sender<Bytes>> {
        self.relay.get()
    }

    pub(crate) fn set_inbox(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    /// Returns the inbox for messages that arrive on the stream of the request `during`. If `during` is `None`, the
    /// stream does not belong to a request.
    pub(crate) fn inbox(&self, during: Option<&Id>) -> Option<Inbox> {
        let inbox = self.inbox.get()?;
        Some(during.map_or_else(|| inbox.clone(), |request| inbox.for_request(request)))
    }
}

fn with_post_headers(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers
}

/// Returns the error of a request without a reply.
fn send_error(url: &Url, error: Error) -> Error {
    // A request that was refused was not begun.
    if error.needs_sign_in() {
        return error;
    }
    let failed = |what| Error::new(error.kind(), format!("{what} {url}"));
    if error.is_unsent() {
        failed("failed to connect to").unsent().caused_by(error)
    } else {
        failed("no reply came from").reply_lost().caused_by(error)
    }
}

fn broken_reply_error() -> Error {
    Error::new(ErrorKind::Transport, "the reply broke off").reply_lost()
}
