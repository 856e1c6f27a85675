//! How do requests that describe themselves share one server? Each gets an id and a progress token of its own, which are
//! replaced in what the server says about it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use toolway::server::http::{ResponseBody, StreamWriter};
use toolway_protocol::http::status::for_code;
use toolway_protocol::jsonrpc::Code;

use super::line_pipe::LinePipe;
use super::reply::{self, accepts_events};
use super::session::LOST;
use crate::failure::Result;
use crate::proxy::Upstream;
use crate::proxy::ledger::error_line;
use crate::proxy::line::{Message, replace};

/// The maximum number of requests of all hosts that are under way at once.
const MAX_OPEN: usize = 1_000;

/// The maximum number of bytes that wait for one host. Beyond it, the host has lost its request, because others must not
/// wait for it.
const MAX_UNREAD: usize = 32 << 20;

/// How long a stream may be silent before a comment is written, which keeps the connection open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The member of `_meta` that names a subscription.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The member of `_meta` with which a request asks for the log.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The server that all requests without a handshake share.
pub(super) struct Shared {
    pipe: LinePipe,
    open: Mutex<OpenRequests>,
}

#[derive(Default)]
struct OpenRequests {
    last: u64,
    requests: HashMap<u64, OpenRequest>,
    used: Option<Instant>,
}

struct OpenRequest {
    /// The text of the id that the host has given it.
    host_id: String,
    host_token: Option<String>,
    wants_log: bool,
    messages: mpsc::UnboundedSender<Vec<u8>>,
    unread: Arc<AtomicUsize>,
}

impl Shared {
    /// Returns the shared server, and what [`run`](Self::run) takes.
    pub(super) fn new() -> (Arc<Self>, mpsc::Receiver<Vec<u8>>) {
        let (pipe, lines) = LinePipe::new();
        (Arc::new(Self { pipe, open: Mutex::default() }), lines)
    }

    /// Runs the server until it has ended.
    pub(super) async fn run(
        self: Arc<Self>,
        upstream: Upstream,
        lines: mpsc::Receiver<Vec<u8>>,
        max_message: Option<usize>,
    ) -> Result<()> {
        let take = |line: Vec<u8>| {
            for text in Message::split(&line) {
                self.take_message(&text);
            }
            std::future::ready(())
        };
        let outcome = self.pipe.run(&upstream, lines, max_message, take).await;
        for (_, request) in self.open().requests.drain() {
            let _ = request.messages.send(error_line(&request.host_id, LOST, "serverEnded"));
        }
        outcome
    }

    pub(super) fn end(&self) {
        self.pipe.close();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.pipe.is_closed()
    }

    /// Returns since when no request has used the server.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let open = self.open();
        if open.requests.is_empty() { open.used } else { None }
    }

    /// Passes a notification on.
    pub(super) async fn notify(&self, text: &[u8]) -> Response<ResponseBody> {
        self.pipe.send(text).await;
        reply::status(StatusCode::ACCEPTED)
    }

    /// Passes a request on, and answers it.
    pub(super) async fn post(self: Arc<Self>, headers: &HeaderMap, text: &[u8]) -> Response<ResponseBody> {
        let invalid = || reply::refusal(StatusCode::BAD_REQUEST, None, -32600, "this is not a request");
        let Ok(text) = std::str::from_utf8(text) else { return invalid() };
        let messages = Message::read(text.as_bytes());
        let Some((host_id, _)) = messages.first().and_then(Message::request) else { return invalid() };
        let host_token = messages[0].meta("progressToken").map(|token| token.get().to_owned());
        let wants_log = messages[0].meta(LOG_LEVEL).is_some();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let unread = Arc::<AtomicUsize>::default();
        let number = {
            let mut open = self.open();
            if open.requests.len() >= MAX_OPEN {
                let busy = StatusCode::SERVICE_UNAVAILABLE;
                return reply::refusal(busy, Some(host_id), -32603, "too many requests are under way");
            }
            open.last += 1;
            let number = open.last;
            open.used = Some(Instant::now());
            let request = OpenRequest {
                host_id: host_id.to_owned(),
                host_token: host_token.clone(),
                wants_log,
                messages: sender,
                unread: unread.clone(),
            };
            open.requests.insert(number, request);
            number
        };
        let guard = RequestGuard { shared: self, number };
        let own = number.to_string();
        let Some(mut line) = replace(text, &["id"], &own) else { return invalid() };
        if host_token.is_some() {
            line = replace(&line, &["params", "_meta", "progressToken"], &own).unwrap_or(line);
        }
        let host_id = host_id.to_owned();
        let gone = || reply::message(StatusCode::BAD_GATEWAY, error_line(&host_id, LOST, "serverEnded"));
        if !guard.shared.pipe.send(line.as_bytes()).await {
            return gone();
        }
        let mut passed = Vec::new();
        loop {
            let Some(text) = receiver.recv().await else { return gone() };
            if let Some(status) = answer_status(&text) {
                // The first message is the reply, or the host reads only that.
                return reply::message(status, text);
            }
            if accepts_events(headers) {
                passed.push(text);
                break;
            }
            unread.fetch_sub(text.len(), Ordering::Relaxed);
        }
        reply::events(ResponseBody::streamed(move |writer| {
            write_events(guard, passed, receiver, unread, writer)
        }))
    }

    /// Passes on what the server says, to the request that it is about.
    fn take_message(&self, text: &[u8]) {
        let messages = Message::read(text);
        let Some(message) = messages.first() else { return };
        let Ok(text) = std::str::from_utf8(text) else { return };
        let number = |value: Option<&str>| value.and_then(|value| value.parse::<u64>().ok());
        let mut open = self.open();
        if let Some(id) = message.response() {
            let Some(request) = number(Some(id)).and_then(|id| open.requests.remove(&id)) else { return };
            open.used = Some(Instant::now());
            // A reply may name the subscription that it ends.
            let replaced = replace(text, &["id"], &request.host_id).unwrap_or_default();
            let meta = ["result", "_meta", SUBSCRIPTION_ID];
            let replaced = replace(&replaced, &meta, &request.host_id).unwrap_or(replaced);
            let _ = request.messages.send(replaced.into_bytes());
            return;
        }
        let method = message.method.as_deref().unwrap_or_default();
        let (id, path): (_, &[&str]) = if let Some(id) = message.meta(SUBSCRIPTION_ID) {
            (number(Some(id.get())), &["params", "_meta", SUBSCRIPTION_ID])
        } else if method == "notifications/progress" {
            (number(message.param("progressToken").map(RawValue::get)), &["params", "progressToken"])
        } else if method == "notifications/cancelled" {
            (number(message.param("requestId").map(RawValue::get)), &["params", "requestId"])
        } else {
            // A line of the log does not name its request. If several hosts ask for the log, it may be about any of them,
            // and must not reach the others.
            let mut asking = open.requests.iter().filter(|(_, request)| request.wants_log);
            let only = asking.next().filter(|_| asking.next().is_none()).map(|(id, _)| *id);
            (only, &[])
        };
        let Some((id, request)) = id.and_then(|id| Some((id, open.requests.get(&id)?))) else { return };
        let value = match path {
            ["params", "progressToken"] => request.host_token.as_deref().unwrap_or("null"),
            _ => &request.host_id,
        };
        let replaced = if path.is_empty() { None } else { replace(text, path, value) };
        let bytes = replaced.map_or_else(|| text.as_bytes().to_owned(), String::into_bytes);
        let unread = request.unread.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
        if unread > MAX_UNREAD {
            open.requests.remove(&id);
            drop(open);
            self.cancel(id);
            return;
        }
        let _ = request.messages.send(bytes);
    }

    fn cancel(&self, number: u64) {
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{number}}}}}"
        );
        self.pipe.send_soon(text.into_bytes());
    }

    fn open(&self) -> MutexGuard<'_, OpenRequests> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels a request whose host has closed its connection.
struct RequestGuard {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let open = self.shared.open().requests.remove(&self.number);
        if open.is_some() {
            self.shared.cancel(self.number);
        }
    }
}

/// Returns the status of a reply; `None` if this is another message.
fn answer_status(text: &[u8]) -> Option<StatusCode> {
    let messages = Message::read(text);
    let message = messages.first()?;
    message.response()?;
    let status = message.error_code().map_or(200, |code| for_code(Code(code)));
    StatusCode::from_u16(status).ok()
}

/// Writes what the server says about a request, up to its reply.
async fn write_events(
    guard: RequestGuard,
    mut texts: Vec<Vec<u8>>,
    mut receiver: mpsc::UnboundedReceiver<Vec<u8>>,
    unread: Arc<AtomicUsize>,
    writer: StreamWriter,
) {
    let _guard = guard;
    loop {
        for text in texts.drain(..) {
            writer.write([b"data: ", text.trim_ascii(), b"\n\n"].concat()).await;
            if answer_status(&text).is_some() {
                return;
            }
            unread.fetch_sub(text.len(), Ordering::Relaxed);
        }
        match timeout(KEEP_ALIVE_INTERVAL, receiver.recv()).await {
            Ok(Some(text)) => texts.push(text),
            Ok(None) => return,
            Err(_) => writer.write(": alive\n\n").await,
        }
    }
}
