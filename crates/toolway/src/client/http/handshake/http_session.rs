//! What is the state of a conversation, and how does a conversation end?

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use ::http::{Method as HttpMethod, StatusCode};
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use toolway_protocol::ProtocolVersion;

use crate::client::http::handshake::cursor::StreamCursor;
use crate::client::http::handshake::gate::Gate;
use crate::client::http::handshake::pending::PendingReplies;
use crate::client::http::handshake::session_id::SessionId;
use crate::client::http::request::endpoint::HttpEndpoint;
use crate::client::http::request::events::{EventReader, is_event_stream};
use crate::client::http::request::headers::insert_header;
use crate::client::http::request::refusal;
use crate::client::http::request::url::Url;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// The time limit for a request that no call waits for: a POST with the answer to a question of the server, or the
/// DELETE that ends the session.
pub(super) const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of one conversation with a server, from `initialize` until the client closes the conversation or the
/// server ends it.
pub(crate) struct HttpSession {
    pub(super) endpoint: Arc<HttpEndpoint>,
    pub(super) session_id: OnceLock<SessionId>,
    pub(super) version: OnceLock<ProtocolVersion>,
    /// The URL to post messages to, if the server uses the two-URL transport of 2024-11-05.
    pub(super) post_url: OnceLock<Url>,
    /// The task that reads the server's own stream.
    pub(super) listen_task: OnceLock<AbortHandle>,
    pub(super) gate: Gate,
    pub(super) pending: PendingReplies,
    /// The tasks that answer questions of the server, or send answers again.
    pub(super) answer_tasks: Mutex<JoinSet<()>>,
    /// `true` once the client has closed the conversation or the server has ended it.
    has_ended: watch::Sender<bool>,
}

/// The outcome of a GET request for a stream.
pub(super) enum StreamOpenOutcome {
    Stream(EventReader),
    /// The server does not offer the stream.
    Refused(StatusCode),
    /// The request failed, but may succeed later.
    Failed(Error),
}

impl HttpSession {
    pub(crate) fn new(endpoint: Arc<HttpEndpoint>) -> Self {
        Self {
            endpoint,
            session_id: OnceLock::new(),
            version: OnceLock::new(),
            post_url: OnceLock::new(),
            listen_task: OnceLock::new(),
            gate: Gate::default(),
            pending: PendingReplies::default(),
            answer_tasks: Mutex::default(),
            has_ended: watch::Sender::new(false),
        }
    }

    /// Returns whether the conversation has ended.
    pub(crate) fn has_ended(&self) -> bool {
        *self.has_ended.borrow()
    }

    /// Waits until the conversation has ended.
    pub(crate) async fn ended(&self) {
        // This cannot fail: `self` holds the sender.
        let _ = self.has_ended.subscribe().wait_for(|over| *over).await;
    }

    /// Waits until the server's own stream is open, the server has refused to open one, or the wait has timed out.
    pub(crate) async fn wait_for_stream(&self) {
        self.gate.wait_until_open().await;
    }

    /// Marks the conversation as ended. Returns `false` if the conversation had already ended.
    pub(super) fn end(&self) -> bool {
        self.has_ended.send_if_modified(|over| !std::mem::replace(over, true))
    }

    /// Ends the conversation. If the server has assigned a session id, tells the server to end that session.
    pub(crate) async fn close(&self) -> Result<()> {
        self.abort_tasks();
        if self.end() && self.session_id.get().is_some() {
            return delete_session(&self.endpoint, self.headers(&HeaderMap::new())).await;
        }
        Ok(())
    }

    /// Stops the tasks of a conversation whose transport is dropped. Within a Tokio runtime, also ends the
    /// conversation and, if the server has assigned a session id, tells the server to end that session.
    pub(crate) fn detach(&self) {
        self.abort_tasks();
        if let Ok(runtime) = Handle::try_current()
            && self.end()
            && self.session_id.get().is_some()
        {
            let (endpoint, headers) = (self.endpoint.without_inbox(), self.headers(&HeaderMap::new()));
            // The task is detached; `BACKGROUND_TIMEOUT` limits how long it runs.
            runtime.spawn(async move {
                if let Err(error) = delete_session(&endpoint, headers).await {
                    tracing::debug!(%error, "the request to end the session failed");
                }
            });
        }
    }

    /// Aborts the tasks of the conversation.
    fn abort_tasks(&self) {
        if let Some(task) = self.listen_task.get() {
            task.abort();
        }
        self.answer_tasks.lock().abort_all();
    }

    /// Returns the headers of a request: the headers of the caller, the negotiated revision, and the session id.
    pub(super) fn headers(&self, of_caller: &HeaderMap) -> HeaderMap {
        let mut headers = of_caller.clone();
        if let Some(version) = self.version.get() {
            insert_header(&mut headers, "mcp-protocol-version", version.as_str());
        }
        if let Some(session) = self.session_id.get() {
            session.add_to(&mut headers);
        }
        headers
    }

    /// Requests a stream. If `cursor` contains an event id, asks the server to resume the stream after that event.
    /// Otherwise asks for a new stream.
    pub(super) async fn open_stream(
        &self,
        cursor: &mut StreamCursor,
        of_caller: &HeaderMap,
    ) -> StreamOpenOutcome {
        let mut headers = self.headers(of_caller);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = cursor.start_attempt() {
            headers.insert(HeaderName::from_static("last-event-id"), id);
        }
        match self.endpoint.send(HttpMethod::GET, headers, Bytes::new()).await {
            Ok(response) if response.status() == StatusCode::OK && is_event_stream(&response) => {
                StreamOpenOutcome::Stream(EventReader::new(response, self.endpoint.max_message()))
            }
            Ok(response) if may_succeed_later(response.status()) => {
                cursor.set_retry_after(refusal::retry_after(response.headers()));
                StreamOpenOutcome::Failed(refusal::page_error(&self.endpoint.url, response).await)
            }
            Ok(response) => StreamOpenOutcome::Refused(response.status()),
            // An error with a status comes from a redirect that was not followed. It counts as a refusal.
            Err(error) => match error.http_status().and_then(|status| StatusCode::from_u16(status).ok()) {
                Some(status) => StreamOpenOutcome::Refused(status),
                None => StreamOpenOutcome::Failed(error),
            },
        }
    }
}

/// Returns whether a request that got this status may succeed later.
fn may_succeed_later(status: StatusCode) -> bool {
    match status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => false,
        _ => status.is_server_error(),
    }
}

/// Sends the DELETE request that ends the session. The statuses 404 (the server has already ended the session) and 405
/// (the server does not support DELETE) are not errors.
async fn delete_session(endpoint: &HttpEndpoint, headers: HeaderMap) -> Result<()> {
    let farewell = async {
        let response = endpoint.send(HttpMethod::DELETE, headers, Bytes::new()).await?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => endpoint.check_accepted(response).await,
        }
    };
    timeout(BACKGROUND_TIMEOUT, farewell).await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, "the server did not answer the request to end the session"))
    })
}

pub(super) fn session_ended_error() -> Error {
    Error::new(ErrorKind::PeerRefused, "the session has ended: connect again").session_ended()
}
