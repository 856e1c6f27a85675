//! What does a host with a handshake get? A server of its own, and the streams on which it reads what the server says.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use toolway::ProtocolVersion;
use toolway::server::http::{ResponseBody, StreamWriter};

use super::line_pipe::LinePipe;
use super::reply::{self, accepts_events};
use super::streams::{Answer, GENERAL, Next, Streams};
use crate::failure::Result;
use crate::proxy::Upstream;
use crate::proxy::ledger::error_line;
use crate::proxy::line::Message;

/// How long a stream may be silent before a comment is written, which keeps the connection open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The error of a request whose server has ended for good.
pub(super) const LOST: &str =
    "the server ended before it answered: whether it has done the work is not known";

/// How long a host is to wait before it resumes a stream, in milliseconds.
const RETRY: u32 = 1_000;

/// A host, and the server that it has for itself.
pub(super) struct Session {
    pub(super) id: String,
    pipe: LinePipe,
    streams: Mutex<Streams>,
    /// Changes with the streams.
    changes: watch::Sender<()>,
    /// The revision that the server has chosen.
    version: OnceLock<String>,
    used: Mutex<Instant>,
}

impl Session {
    /// Returns a session, and what [`run`](Self::run) takes.
    pub(super) fn new(id: String) -> (Arc<Self>, mpsc::Receiver<Vec<u8>>) {
        let (pipe, lines) = LinePipe::new();
        let session = Self {
            id,
            pipe,
            streams: Mutex::default(),
            changes: watch::Sender::new(()),
            version: OnceLock::new(),
            used: Mutex::new(Instant::now()),
        };
        (Arc::new(session), lines)
    }

    /// Runs the server of this session until one of both ends.
    pub(super) async fn run(
        self: Arc<Self>,
        upstream: Upstream,
        lines: mpsc::Receiver<Vec<u8>>,
        max_message: Option<usize>,
    ) -> Result<()> {
        let take = |line| self.take_line(line);
        let outcome = self.pipe.run(&upstream, lines, max_message, take).await;
        self.end_streams();
        outcome
    }

    /// Answers what waits for a server that has ended.
    fn end_streams(&self) {
        self.streams().end(|id| error_line(id, LOST, "serverEnded"));
        self.changes.send_replace(());
    }

    /// Ends the session and its server.
    pub(super) fn end(&self) {
        self.pipe.close();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.pipe.is_closed()
    }

    /// Returns since when the host has not used the session.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_in_use = self.streams().is_in_use();
        (!is_in_use).then(|| *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Adds what the server says to the streams of the host.
    async fn take_line(&self, line: Vec<u8>) {
        for text in Message::split(&line) {
            let stream = self.streams().add(&text);
            self.changes.send_replace(());
            let Some(stream) = stream else { continue };
            // A host that reads slowly slows its own server down.
            let mut changes = self.changes.subscribe();
            while self.streams().is_full(stream) && !self.has_ended() {
                let _ = timeout(KEEP_ALIVE_INTERVAL, changes.changed()).await;
            }
        }
    }

    /// Answers a POST with `initialize`, which is the first of the session.
    pub(super) async fn initialize(&self, text: &[u8], id: &str) -> Option<Bytes> {
        let stream = self.streams().begin(vec![(id.to_owned(), None)]).ok()?;
        if !self.pipe.send(text).await {
            // The server may have ended before the stream began.
            self.end_streams();
        }
        let answer = self.answer(stream).await?;
        let messages = Message::read(&answer);
        if let Some(version) = messages.first().and_then(|answer| answer.result_text("protocolVersion")) {
            let _ = self.version.set(version);
        }
        Some(answer)
    }

    /// Answers a POST with further messages.
    pub(super) async fn post(
        self: &Arc<Self>,
        headers: &HeaderMap,
        texts: Vec<Vec<u8>>,
    ) -> Response<ResponseBody> {
        self.touch();
        if let Some(refusal) = self.version_refusal(headers) {
            return refusal;
        }
        let mut requests = Vec::new();
        for text in &texts {
            let messages = Message::read(text);
            let Some(message) = messages.first() else { continue };
            if let Some((id, _)) = message.request() {
                let token = message.meta("progressToken").map(|token| token.get().to_owned());
                requests.push((id.to_owned(), token));
            } else if message.method.as_deref() == Some("notifications/cancelled")
                && let Some(id) = message.param("requestId")
            {
                self.streams().cancel(id.get());
                self.changes.send_replace(());
            }
        }
        if requests.is_empty() {
            let is_sent = self.send_all(&texts).await;
            return if is_sent { reply::status(StatusCode::ACCEPTED) } else { not_found() };
        }
        let (first_id, count) = (requests[0].0.clone(), requests.len());
        let begun = self.streams().begin(requests);
        let stream = match begun {
            Ok(stream) => stream,
            Err(why) => {
                return reply::refusal(StatusCode::SERVICE_UNAVAILABLE, Some(&first_id), -32603, why);
            }
        };
        let mut unsent = UnsentGuard { session: self, stream: Some(stream) };
        if !self.send_all(&texts).await {
            return not_found();
        }
        unsent.stream = None;
        if accepts_events(headers) || count > 1 {
            return self.stream(stream, Some(0)).unwrap_or_else(not_found);
        }
        match self.answer(stream).await {
            Some(text) => reply::message(StatusCode::OK, text),
            None => reply::refusal(StatusCode::OK, Some(&first_id), -32603, "the request was cancelled"),
        }
    }

    /// Answers a GET: with the stream for messages that belong to no request, or with the rest of a stream.
    pub(super) fn get(self: &Arc<Self>, headers: &HeaderMap) -> Response<ResponseBody> {
        self.touch();
        if let Some(refusal) = self.version_refusal(headers) {
            return refusal;
        }
        let invalid = |text| reply::refusal(StatusCode::BAD_REQUEST, None, -32600, text);
        let (stream, after) = match headers.get("last-event-id") {
            None => (GENERAL, None),
            Some(id) => {
                let place = id.to_str().ok().and_then(|id| id.split_once('-'));
                match place.map(|(stream, event)| (stream.parse(), event.parse())) {
                    Some((Ok(stream), Ok(event))) => (stream, Some(event)),
                    _ => return invalid("the Last-Event-ID is not one of this session"),
                }
            }
        };
        self.stream(stream, after).unwrap_or_else(|| invalid("the stream is no longer kept"))
    }

    /// Sends messages to the server. Returns whether it still runs.
    async fn send_all(&self, texts: &[Vec<u8>]) -> bool {
        for text in texts {
            if !self.pipe.send(text).await {
                return false;
            }
        }
        true
    }

    /// Waits for the answer to the only request of a stream.
    async fn answer(&self, stream: u64) -> Option<Bytes> {
        let mut changes = self.changes.subscribe();
        loop {
            let answer = self.streams().take_answer(stream);
            match answer {
                Answer::Ready(text) => return Some(text),
                Answer::Missing => return None,
                Answer::Awaited => changes.changed().await.ok()?,
            }
        }
    }

    /// Returns a reply with the events of a stream.
    fn stream(self: &Arc<Self>, stream: u64, after: Option<u64>) -> Option<Response<ResponseBody>> {
        let (reader, after) = self.streams().attach(stream, after)?;
        self.changes.send_replace(());
        let guard = ReaderGuard { session: self.clone(), stream, reader };
        Some(reply::events(ResponseBody::streamed(move |writer| write_events(guard, after, writer))))
    }

    /// Refuses a request that names another revision than the one of the session.
    fn version_refusal(&self, headers: &HeaderMap) -> Option<Response<ResponseBody>> {
        let named = headers.get("mcp-protocol-version")?;
        let version = self.version.get()?;
        (named.as_bytes() != version.as_bytes()).then(|| {
            let text =
                format!("the header MCP-Protocol-Version is not {version}, the revision of this session");
            reply::refusal(StatusCode::BAD_REQUEST, None, -32600, &text)
        })
    }

    /// Returns whether the revision has events without data, which hosts of older revisions do not expect.
    fn has_primers(&self) -> bool {
        let version = self.version.get().and_then(|version| version.parse::<ProtocolVersion>().ok());
        version.is_some_and(|version| version >= ProtocolVersion::LATEST_HANDSHAKE)
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a request of a session that is not there.
pub(super) fn not_found() -> Response<ResponseBody> {
    reply::refusal(StatusCode::NOT_FOUND, None, -32600, "the session has ended: initialize a new one")
}

/// Forgets requests that could not be sent, because the host has left.
struct UnsentGuard<'s> {
    session: &'s Session,
    stream: Option<u64>,
}

impl Drop for UnsentGuard<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            self.session.streams().forget(stream);
        }
    }
}

/// A connection that reads a stream.
struct ReaderGuard {
    session: Arc<Session>,
    stream: u64,
    reader: u64,
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.session.streams().detach(self.stream, self.reader);
        self.session.touch();
        self.session.changes.send_replace(());
    }
}

/// Writes the events of a stream until it ends.
async fn write_events(guard: ReaderGuard, mut after: u64, writer: StreamWriter) {
    let ReaderGuard { session, stream, reader } = &guard;
    let mut changes = session.changes.subscribe();
    if session.has_primers() {
        // From now on, the stream can be resumed.
        writer.write(format!("id: {stream}-{after}\nretry: {RETRY}\ndata:\n\n")).await;
    }
    loop {
        changes.borrow_and_update();
        let next = session.streams().next(*stream, *reader, after);
        match next {
            Next::Event(number, text) => {
                let head = format!("id: {stream}-{number}\ndata: ");
                writer.write([head.as_bytes(), &text, b"\n\n"].concat()).await;
                after = number;
                session.changes.send_replace(());
            }
            Next::End => return,
            Next::Wait if session.has_ended() && *stream == GENERAL => return,
            Next::Wait => match timeout(KEEP_ALIVE_INTERVAL, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => writer.write(": alive\n\n").await,
            },
        }
    }
}
