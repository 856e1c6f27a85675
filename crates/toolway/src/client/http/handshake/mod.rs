//! What does an opened conversation add to its requests, and what else goes on in it?
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | How is a message of a conversation carried, and how does the conversation end? |
//! | `session.rs` | What does the server know the conversation by? |
//! | `cursor.rs` | Where was a stream when it ended, and when may it be asked for again? |
//! | `resume.rs` | How does a reply go on that broke off? |
//! | `elsewhere.rs` | What if a reply comes on another stream than its own? |
//! | `listen.rs` | How is heard what the server says unasked? |
//! | `gate.rs` | May a request be sent before that stream is there? |
//! | `say.rs` | What becomes of the server's questions, and how do the answers get there? |
//! | `legacy_sse.rs` | What if the server speaks the first of all HTTP transports, which has two URLs? |

mod answers;
mod cursor;
mod gate;
mod legacy_sse;
mod listen;
mod pending;
mod resume;
mod session;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ::http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use ::http::{Method as HttpMethod, StatusCode};
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use toolway_protocol::{Message, Method, ProtocolVersion};

use self::cursor::Cursor;
use self::gate::Gate;
use self::legacy_sse::Pipe;
use self::pending::Elsewhere;
use self::session::Session;
use crate::client::http::endpoint::{Line, Reply};
use crate::client::http::events::{Events, is_events};
use crate::client::http::headers::{OfCall, put_on};
use crate::client::http::insert;
use crate::client::http::refusal;
use crate::client::wire::transport::Outgoing;
use crate::error::{Error, ErrorKind, Result};

/// How long the server may take over something that nobody's call waits for: an answer to its question, a farewell.
const MAX_ASIDE: Duration = Duration::from_secs(5);

/// One conversation, from `initialize` on.
pub(super) struct Conversation {
    line: Arc<Line>,
    session: OnceLock<Session>,
    version: OnceLock<ProtocolVersion>,
    /// What is spoken through where there is no session.
    pipe: OnceLock<Pipe>,
    listening: OnceLock<AbortHandle>,
    gate: Gate,
    elsewhere: Elsewhere,
    /// The questions of the server that somebody thinks about, and answers that are on their way.
    answering: Mutex<JoinSet<()>>,
    /// Whether it was closed or the server has forgotten it.
    over: watch::Sender<bool>,
}

/// What came of asking for a stream.
enum Opened {
    Stream(Events),
    /// The server does not give it.
    Refused(StatusCode),
    /// It may work later.
    Failed(Error),
}

impl Conversation {
    pub(super) fn new(line: Arc<Line>) -> Self {
        Self {
            line,
            session: OnceLock::new(),
            version: OnceLock::new(),
            pipe: OnceLock::new(),
            listening: OnceLock::new(),
            gate: Gate::default(),
            elsewhere: Elsewhere::default(),
            answering: Mutex::default(),
            over: watch::Sender::new(false),
        }
    }

    /// Whether nothing can be carried any more.
    pub(super) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until nothing can be carried any more.
    pub(super) async fn over(&self) {
        // The sender is ours: it is not gone.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Waits until what the server says unasked can be heard, as far as it offers that.
    pub(super) async fn listening(&self) {
        self.gate.pass().await;
    }

    /// Marks the end; `false` when it was over before.
    fn end(&self) -> bool {
        self.over.send_if_modified(|over| !std::mem::replace(over, true))
    }

    pub(super) async fn carry(self: &Arc<Self>, outgoing: Outgoing) -> Result<Option<Message>> {
        if self.is_over() {
            return Err(ended());
        }
        if let Some(pipe) = self.pipe.get() {
            return pipe.carry(self, outgoing).await;
        }
        if self.gate.holds(&outgoing.method) {
            Box::pin(self.gate.pass()).await;
            if self.is_over() {
                return Err(ended());
            }
        }
        if let Some(version) = outgoing.version {
            self.version.get_or_init(|| version);
        }
        let OfCall { of_caller, of_tool } = OfCall::read(&outgoing.headers)?;
        let mut headers = self.headers(&of_caller);
        put_on(&mut headers, &of_tool);
        let mut expected = outgoing.id.as_ref().map(|id| self.elsewhere.expect(id));
        let response = self.line.post(headers, outgoing.frame.clone()).await?;
        let status = response.status();
        match self.session.get() {
            Some(_) if status == StatusCode::NOT_FOUND => {
                self.end();
                return Err(ended().with_http_status(status.as_u16()));
            }
            // An id in any other reply means nothing.
            None if outgoing.method == Method::Initialize && status.is_success() => {
                if let Some(session) = Session::named_in(response.headers())? {
                    self.session.get_or_init(|| session);
                }
            }
            _ => {}
        }
        let Some(id) = &outgoing.id else {
            self.line.accepted(response).await?;
            if outgoing.method == Method::Initialized && self.session.get().is_some() {
                self.listening.get_or_init(|| {
                    self.gate.close();
                    tokio::spawn(listen::listen(self.clone())).abort_handle()
                });
            }
            return Ok(None);
        };
        let elsewhere = async {
            match &mut expected {
                Some(expected) => expected.reply().await,
                None => std::future::pending().await,
            }
        };
        match self.line.reply(response, Some(id)).await {
            Ok(Reply::Whole(message)) if status == StatusCode::BAD_REQUEST && self.is_forgotten(&message) => {
                self.end();
                Err(ended().with_http_status(status.as_u16()))
            }
            Ok(Reply::Whole(message)) => Ok(Some(message)),
            Ok(Reply::Stream(events)) => tokio::select! {
                biased;
                reply = resume::read(self, events, id, &of_caller) => reply.map(Some),
                reply = elsewhere => Ok(Some(reply)),
            },
            Err(error) if outgoing.method == Method::Initialize && legacy_sse::is_likely(&error) => {
                match legacy_sse::open(self, &of_caller).await? {
                    Some(pipe) => self.pipe.get_or_init(|| pipe).carry(self, outgoing).await,
                    None => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a message with the status 400 means that the server does not know the session. 404 would, but many servers that
    /// keep their sessions themselves say it so, to no request in particular.
    fn is_forgotten(&self, message: &Message) -> bool {
        let Message::Response { id: None, outcome: Err(error) } = message else { return false };
        self.session.get().is_some() && error.message.to_ascii_lowercase().contains("session")
    }

    /// Ends the conversation.
    pub(super) async fn close(&self) -> Result<()> {
        self.stop();
        if self.end() && self.session.get().is_some() {
            return say_farewell(&self.line, self.headers(&HeaderMap::new())).await;
        }
        Ok(())
    }

    /// Nobody uses the conversation any more. The farewell is said if there is a runtime that can say it.
    pub(super) fn leave(&self) {
        self.stop();
        if let Ok(runtime) = Handle::try_current()
            && self.end()
            && self.session.get().is_some()
        {
            let (line, headers) = (self.line.without_inbox(), self.headers(&HeaderMap::new()));
            // Nobody is left to own this task; it does not last long.
            runtime.spawn(async move {
                if let Err(error) = say_farewell(&line, headers).await {
                    tracing::debug!(%error, "the farewell was not heard");
                }
            });
        }
    }

    fn stop(&self) {
        if let Some(task) = self.listening.get() {
            task.abort();
        }
        self.answering.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// What every request says: which conversation it belongs to, and what was agreed there; then what its caller wants.
    fn headers(&self, of_caller: &HeaderMap) -> HeaderMap {
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
    async fn open(&self, cursor: &mut Cursor, of_caller: &HeaderMap) -> Opened {
        let mut headers = self.headers(of_caller);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = cursor.begin() {
            headers.insert(HeaderName::from_static("last-event-id"), id);
        }
        match self.line.send(HttpMethod::GET, headers, Bytes::new()).await {
            Ok(response) if response.status() == StatusCode::OK && is_events(&response) => {
                Opened::Stream(Events::of(response, self.line.max_message()))
            }
            Ok(response) if may_pass(response.status()) => {
                cursor.hold(refusal::retry_after(response.headers()));
                Opened::Failed(refusal::of_page(self.line.url(), response).await)
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
async fn say_farewell(line: &Line, headers: HeaderMap) -> Result<()> {
    let farewell = async {
        let response = line.send(HttpMethod::DELETE, headers, Bytes::new()).await?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => line.accepted(response).await,
        }
    };
    timeout(MAX_ASIDE, farewell).await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, "the server did not answer when the conversation was closed"))
    })
}

fn ended() -> Error {
    Error::new(ErrorKind::PeerRefused, "the session has ended: connect again").session_ended()
}
