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

mod cursor;
mod elsewhere;
mod listen;
mod resume;
mod session;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ::http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use ::http::{Method as HttpMethod, StatusCode};
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use toolway_protocol::{Message, Method, ProtocolVersion};

use self::cursor::Cursor;
use self::elsewhere::Elsewhere;
use self::session::Session;
use super::events::{Events, is_events};
use super::insert;
use super::line::{Line, Reply};
use crate::client::transport::{Answering, Outgoing};
use crate::error::{Error, ErrorKind, Result};

/// How long the server may take over something that nobody's call waits for: an answer to its question, a farewell.
const MAX_ASIDE: Duration = Duration::from_secs(5);

/// One conversation, from `initialize` on.
pub(super) struct Conversation {
    line: Arc<Line>,
    session: OnceLock<Session>,
    version: OnceLock<ProtocolVersion>,
    listening: OnceLock<AbortHandle>,
    elsewhere: Elsewhere,
    /// The questions of the server that somebody thinks about.
    answering: Mutex<JoinSet<()>>,
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
            listening: OnceLock::new(),
            elsewhere: Elsewhere::default(),
            answering: Mutex::default(),
        }
    }

    pub(super) async fn carry(self: &Arc<Self>, outgoing: Outgoing) -> Result<Option<Message>> {
        if self.session.get().is_some_and(Session::is_over) {
            return Err(ended());
        }
        if let Some(version) = outgoing.version {
            self.version.get_or_init(|| version);
        }
        let mut expected = outgoing.id.as_ref().map(|id| self.elsewhere.expect(id));
        let response = self.line.post(self.headers(), outgoing.frame).await?;
        match self.session.get() {
            Some(session) if response.status() == StatusCode::NOT_FOUND => {
                session.end();
                return Err(ended().with_http_status(StatusCode::NOT_FOUND.as_u16()));
            }
            // An id in any other reply means nothing.
            None if outgoing.method == Method::Initialize && response.status().is_success() => {
                if let Some(session) = Session::named_in(response.headers())? {
                    self.session.get_or_init(|| session);
                }
            }
            _ => {}
        }
        let Some(id) = outgoing.id else {
            self.line.accepted(response.status())?;
            if outgoing.method == Method::Initialized && self.session.get().is_some() {
                self.listening.get_or_init(|| tokio::spawn(listen::listen(self.clone())).abort_handle());
            }
            return Ok(None);
        };
        let elsewhere = async {
            match &mut expected {
                Some(expected) => expected.reply().await,
                None => std::future::pending().await,
            }
        };
        match self.line.reply(response).await? {
            Reply::Whole(message) => Ok(Some(message)),
            Reply::Stream(events) => tokio::select! {
                biased;
                reply = resume::read(self, events, &id) => reply.map(Some),
                reply = elsewhere => Ok(Some(reply)),
            },
        }
    }

    /// Ends the conversation.
    pub(super) async fn close(&self) -> Result<()> {
        self.stop();
        match self.session.get() {
            Some(session) if session.end() => say_farewell(&self.line, self.headers()).await,
            _ => Ok(()),
        }
    }

    /// Nobody uses the conversation any more. The farewell is said if there is a runtime that can say it.
    pub(super) fn leave(&self) {
        self.stop();
        if let (Some(session), Ok(runtime)) = (self.session.get(), Handle::try_current())
            && session.end()
        {
            let (line, headers) = (self.line.without_inbox(), self.headers());
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

    /// What every request says: which conversation it belongs to, and what was agreed there.
    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(version) = self.version.get() {
            insert(&mut headers, "mcp-protocol-version", version.as_str());
        }
        if let Some(session) = self.session.get() {
            session.dress(&mut headers);
        }
        headers
    }

    /// Asks for a stream: from where `cursor` stands, or a new one.
    async fn open(&self, cursor: &mut Cursor) -> Opened {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = cursor.begin() {
            headers.insert(HeaderName::from_static("last-event-id"), id);
        }
        match self.line.send(HttpMethod::GET, headers, Bytes::new()).await {
            Ok(response) if response.status().is_server_error() => {
                Opened::Failed(self.line.unexpected(response.status()))
            }
            Ok(response) if response.status() == StatusCode::OK && is_events(&response) => {
                Opened::Stream(Events::of(response))
            }
            Ok(response) => Opened::Refused(response.status()),
            Err(error) => Opened::Failed(error),
        }
    }

    /// Takes what the server says besides replies. An answer that is known is sent before anything else is read, so that
    /// a server cannot pile them up; one that somebody has to think about is not waited for.
    async fn heed(&self, message: Message) {
        let Some(message) = self.elsewhere.take(message) else { return };
        self.line.deliver(&message);
        match self.line.answer(&message) {
            Some(Answering::Now(frame)) => say(&self.line, self.headers(), frame).await,
            Some(Answering::Later(frame)) => {
                let (line, headers) = (self.line.clone(), self.headers());
                let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
                while answering.try_join_next().is_some() {}
                answering.spawn(async move {
                    if let Some(frame) = frame.await {
                        say(&line, headers, frame).await;
                    }
                });
            }
            None => {}
        }
    }
}

/// Sends the answer to a question of the server.
async fn say(line: &Line, headers: HeaderMap, frame: Bytes) {
    match timeout(MAX_ASIDE, line.post(headers, frame)).await {
        Ok(Ok(response)) if response.status().is_success() => {}
        Ok(Ok(response)) => tracing::debug!(status = %response.status(), "an answer was not wanted"),
        Ok(Err(error)) => tracing::debug!(%error, "an answer did not arrive"),
        Err(_) => tracing::debug!("an answer was not taken in time"),
    }
}

/// Tells the server that a session is over. One that knows of no ending, or has forgotten it already, is content.
async fn say_farewell(line: &Line, headers: HeaderMap) -> Result<()> {
    let farewell = line.send(HttpMethod::DELETE, headers, Bytes::new());
    let response = timeout(MAX_ASIDE, farewell).await.map_err(|_| {
        Error::new(ErrorKind::Timeout, "the server did not answer when the conversation was closed")
    })??;
    match response.status() {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Ok(()),
        status => line.accepted(status),
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::PeerRefused, "the session has ended: connect again").session_ended()
}
