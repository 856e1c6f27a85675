//! What is known of a conversation, and how does it end?

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

use crate::client::http::handshake::cursor::Cursor;
use crate::client::http::handshake::gate::Gate;
use crate::client::http::handshake::pending::PendingReplies;
use crate::client::http::handshake::session::Session;
use crate::client::http::request::endpoint::HttpEndpoint;
use crate::client::http::request::events::{Events, is_events};
use crate::client::http::request::headers::insert;
use crate::client::http::request::refusal;
use crate::client::http::request::url::Url;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// How long the server may take over something that nobody's call waits for: an answer to its question, a farewell.
pub(super) const MAX_ASIDE: Duration = Duration::from_secs(5);

/// One conversation, from `initialize` on.
pub(crate) struct Conversation {
    pub(super) endpoint: Arc<HttpEndpoint>,
    pub(super) session: OnceLock<Session>,
    pub(super) version: OnceLock<ProtocolVersion>,
    /// Where messages are posted, in the transport that has two URLs.
    pub(super) post_to: OnceLock<Url>,
    pub(super) listening: OnceLock<AbortHandle>,
    pub(super) gate: Gate,
    pub(super) pending: PendingReplies,
    /// The questions of the server that are being answered, and answers that are on their way.
    pub(super) answering: Mutex<JoinSet<()>>,
    /// Whether it was closed or the server has forgotten it.
    over: watch::Sender<bool>,
}

/// What came of asking for a stream.
pub(super) enum Opened {
    Stream(Events),
    /// The server does not give it.
    Refused(StatusCode),
    /// It may work later.
    Failed(Error),
}

impl Conversation {
    pub(crate) fn new(endpoint: Arc<HttpEndpoint>) -> Self {
        Self {
            endpoint,
            session: OnceLock::new(),
            version: OnceLock::new(),
            post_to: OnceLock::new(),
            listening: OnceLock::new(),
            gate: Gate::default(),
            pending: PendingReplies::default(),
            answering: Mutex::default(),
            over: watch::Sender::new(false),
        }
    }

    /// Whether nothing can be carried any more.
    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until nothing can be carried any more.
    pub(crate) async fn over(&self) {
        // The sender is ours: it is not gone.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Waits until what the server says unasked can be heard, as far as it offers that.
    pub(crate) async fn listening(&self) {
        self.gate.pass().await;
    }

    /// Marks the end; `false` when it was over before.
    pub(super) fn end(&self) -> bool {
        self.over.send_if_modified(|over| !std::mem::replace(over, true))
    }

    /// Ends the conversation.
    pub(crate) async fn close(&self) -> Result<()> {
        self.stop();
        if self.end() && self.session.get().is_some() {
            return say_farewell(&self.endpoint, self.headers(&HeaderMap::new())).await;
        }
        Ok(())
    }

    /// Nobody uses the conversation any more. The farewell is said if there is a runtime that can say it.
    pub(crate) fn leave(&self) {
        self.stop();
        if let Ok(runtime) = Handle::try_current()
            && self.end()
            && self.session.get().is_some()
        {
            let (endpoint, headers) = (self.endpoint.without_inbox(), self.headers(&HeaderMap::new()));
            // Nobody is left to own this task; it does not last long.
            runtime.spawn(async move {
                if let Err(error) = say_farewell(&endpoint, headers).await {
                    tracing::debug!(%error, "the farewell was not heard");
                }
            });
        }
    }

    fn stop(&self) {
        if let Some(task) = self.listening.get() {
            task.abort();
        }
        self.answering.lock().abort_all();
    }

    /// What every request says: which conversation it belongs to, and what was agreed there; then what its caller wants.
    pub(super) fn headers(&self, of_caller: &HeaderMap) -> HeaderMap {
        let mut headers = of_caller.clone();
        if let Some(version) = self.version.get() {
            insert(&mut headers, "mcp-protocol-version", version.as_str());
        }
        if let Some(session) = self.session.get() {
            session.dress(&mut headers);
        }
        headers
    }

    /// Asks for a stream: from where `cursor` stands, or a new one.
    pub(super) async fn open(&self, cursor: &mut Cursor, of_caller: &HeaderMap) -> Opened {
        let mut headers = self.headers(of_caller);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = cursor.begin() {
            headers.insert(HeaderName::from_static("last-event-id"), id);
        }
        match self.endpoint.send(HttpMethod::GET, headers, Bytes::new()).await {
            Ok(response) if response.status() == StatusCode::OK && is_events(&response) => {
                Opened::Stream(Events::of(response, self.endpoint.max_message()))
            }
            Ok(response) if may_pass(response.status()) => {
                cursor.hold(refusal::retry_after(response.headers()));
                Opened::Failed(refusal::of_page(&self.endpoint.url, response).await)
            }
            Ok(response) => Opened::Refused(response.status()),
            // A redirect that is not followed is an answer, too.
            Err(error) => match error.http_status().and_then(|status| StatusCode::from_u16(status).ok()) {
                Some(status) => Opened::Refused(status),
                None => Opened::Failed(error),
            },
        }
    }
}

/// Whether a server that answers so may answer otherwise later.
fn may_pass(status: StatusCode) -> bool {
    match status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => false,
        _ => status.is_server_error(),
    }
}

/// Tells the server that a session is over. One that knows of no ending, or has forgotten it already, is content.
async fn say_farewell(endpoint: &HttpEndpoint, headers: HeaderMap) -> Result<()> {
    let farewell = async {
        let response = endpoint.send(HttpMethod::DELETE, headers, Bytes::new()).await?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => endpoint.accepted(response).await,
        }
    };
    timeout(MAX_ASIDE, farewell).await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, "the server did not answer when the conversation was closed"))
    })
}

pub(super) fn ended() -> Error {
    Error::new(ErrorKind::PeerRefused, "the session has ended: connect again").session_ended()
}
