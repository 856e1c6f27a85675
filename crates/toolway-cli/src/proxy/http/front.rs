//! Which session does an HTTP request belong to, and how is it answered?

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, AsHeaderName};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};
use toolway::BoxFuture;
use toolway::server::http::{HttpHandler, ResponseBody};
use toolway_protocol::era::{Claim, Delivery, classify};
use toolway_protocol::http::header::{MirroredHeader, MirroredHeaders};
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Message, ParsedFrame, parse};

use super::reply::{self, SESSION_ID, accepts_events};
use super::session::{Session, not_found};
use super::shared::Shared;
use crate::console::write_stderr;
use crate::proxy::{Upstream, line};

/// The maximum number of sessions, each with a server of its own.
const MAX_SESSIONS: usize = 64;

/// How long a session may be idle before it ends, and the shared server before it is ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How often idle sessions are looked for.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// How long servers may take to end with the proxy.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers the requests of hosts.
#[derive(Clone)]
pub(crate) struct Front(Arc<State>);

struct State {
    upstream: Upstream,
    max_message: Option<usize>,
    servers: Mutex<Servers>,
    random: SystemRandom,
}

#[derive(Default)]
struct Servers {
    sessions: HashMap<String, Arc<Session>>,
    shared: Option<Arc<Shared>>,
    /// The tasks that run the servers.
    tasks: JoinSet<()>,
    is_closed: bool,
}

impl Front {
    pub(crate) fn new(upstream: Upstream, max_message: Option<usize>) -> Self {
        Self(Arc::new(State {
            upstream,
            max_message,
            servers: Mutex::default(),
            random: SystemRandom::new(),
        }))
    }

    /// Ends what is idle, until the future is dropped.
    pub(crate) async fn end_idle(&self) {
        let mut interval = interval(IDLE_CHECK_INTERVAL);
        loop {
            interval.tick().await;
            let servers = self.0.servers();
            let is_idle = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() > IDLE_TIMEOUT);
            for session in servers.sessions.values().filter(|session| is_idle(session.idle_since())) {
                session.end();
            }
            if let Some(shared) = servers.shared.as_ref().filter(|shared| is_idle(shared.idle_since())) {
                shared.end();
            }
        }
    }

    /// Ends all servers, and waits for them. Nothing is answered afterwards.
    pub(crate) async fn close(&self) {
        let mut tasks = {
            let mut servers = self.0.servers();
            servers.is_closed = true;
            servers.sessions.values().for_each(|session| session.end());
            servers.shared.iter().for_each(|shared| shared.end());
            std::mem::take(&mut servers.tasks)
        };
        let _ = timeout(CLOSING_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await;
        tasks.shutdown().await;
    }
}

impl HttpHandler for Front {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<ResponseBody>> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            match head.method {
                Method::POST => self.0.post(&head.headers, body).await,
                Method::GET => match self.0.session(&head.headers) {
                    Ok(_) if !accepts_events(&head.headers) => {
                        let text = "the Accept header must allow text/event-stream";
                        reply::refusal(StatusCode::NOT_ACCEPTABLE, None, -32600, text)
                    }
                    Ok(session) => session.get(&head.headers),
                    Err(refusal) => *refusal,
                },
                Method::DELETE => match self.0.session(&head.headers) {
                    Ok(session) => {
                        session.end();
                        reply::status(StatusCode::NO_CONTENT)
                    }
                    Err(refusal) => *refusal,
                },
                _ => {
                    let text = "this endpoint takes POST, GET and DELETE";
                    let mut refusal = reply::refusal(StatusCode::METHOD_NOT_ALLOWED, None, -32600, text);
                    let methods = HeaderValue::from_static("POST, GET, DELETE");
                    refusal.headers_mut().insert(ALLOW, methods);
                    refusal
                }
            }
        })
    }
}

impl State {
    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn post(self: &Arc<Self>, headers: &HeaderMap, body: Bytes) -> Response<ResponseBody> {
        let invalid =
            |id: Option<&str>, code: i64, text: &str| reply::refusal(StatusCode::BAD_REQUEST, id, code, text);
        let text = one_line(&body);
        let message = match parse(&body, Limits::default()) {
            Ok(ParsedFrame::One(message)) => message,
            Ok(ParsedFrame::Batch(_)) => {
                return match self.session(headers) {
                    Ok(session) => session.post(headers, line::Message::split(&text)).await,
                    Err(refusal) => *refusal,
                };
            }
            Err(rejection) => {
                return invalid(None, rejection.error.code.0, &rejection.error.message);
            }
        };
        let claim = classify(&message, Delivery::Http(&mirrored_headers(headers)));
        let messages = line::Message::read(&text);
        let id = messages.first().and_then(line::Message::request).map(|(id, _)| id);
        match (claim, &message) {
            (Err(error), _) => {
                let mut text = Vec::new();
                toolway_protocol::jsonrpc::write_error(&mut text, message.id(), &error);
                reply::message(StatusCode::BAD_REQUEST, text)
            }
            // Over HTTP, closing the connection cancels a request of this era.
            (Ok(Claim::Stateless(_)), Message::Notification { method, .. })
                if method.name() == "notifications/cancelled" =>
            {
                reply::status(StatusCode::ACCEPTED)
            }
            (Ok(Claim::Stateless(_)), _) => match (self.shared(), &message) {
                (None, _) => closing(id),
                (Some(shared), Message::Request { .. }) => shared.post(headers, &text).await,
                (Some(shared), _) => shared.notify(&text).await,
            },
            (Ok(Claim::Handshake(_)), Message::Request { method, .. })
                if method.name() == "initialize" && !headers.contains_key(SESSION_ID) =>
            {
                self.initialize(&text, id.unwrap_or("null")).await
            }
            (Ok(Claim::Handshake(_)), _) => match self.session(headers) {
                Ok(session) => session.post(headers, vec![text]).await,
                Err(refusal) => *refusal,
            },
        }
    }

    /// Starts a server for a host.
    async fn initialize(self: &Arc<Self>, text: &[u8], id: &str) -> Response<ResponseBody> {
        let mut random = [0; 24];
        if self.random.fill(&mut random).is_err() {
            return reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, Some(id), -32603, "no random numbers");
        }
        let mut session_id = String::new();
        for byte in random {
            let _ = write!(session_id, "{byte:02x}");
        }
        let (session, lines) = Session::new(session_id);
        if !self.admit(&session, lines) {
            let text = format!("{MAX_SESSIONS} sessions are open, and all are in use");
            return reply::refusal(StatusCode::SERVICE_UNAVAILABLE, Some(id), -32603, &text);
        }
        let mut guard = NewSessionGuard(Some(session.clone()));
        match session.initialize(text, id).await {
            Some(answer) if is_result(&answer) => {
                guard.0 = None;
                let mut response = reply::message(StatusCode::OK, answer);
                if let Ok(value) = HeaderValue::from_str(&session.id) {
                    response.headers_mut().insert(SESSION_ID, value);
                }
                response
            }
            Some(answer) => reply::message(StatusCode::OK, answer),
            None => {
                reply::refusal(StatusCode::BAD_GATEWAY, Some(id), -32603, "the server did not initialize")
            }
        }
    }

    /// Puts a session into the table and starts its server. The session that was idle the longest makes room, if one has
    /// to. Returns whether there is room.
    fn admit(self: &Arc<Self>, session: &Arc<Session>, lines: mpsc::Receiver<Vec<u8>>) -> bool {
        let mut servers = self.servers();
        if servers.is_closed {
            return false;
        }
        if servers.sessions.len() >= MAX_SESSIONS {
            let idle = servers.sessions.values().filter_map(|session| Some((session.idle_since()?, session)));
            let Some((_, oldest)) = idle.min_by_key(|(since, _)| *since) else { return false };
            let oldest = oldest.clone();
            oldest.end();
            servers.sessions.remove(&oldest.id);
        }
        servers.sessions.insert(session.id.clone(), session.clone());
        let (state, session) = (self.clone(), session.clone());
        while servers.tasks.try_join_next().is_some() {}
        servers.tasks.spawn(async move {
            let id = session.id.clone();
            let outcome = session.run(state.upstream.clone(), lines, state.max_message).await;
            report(outcome);
            state.servers().sessions.remove(&id);
        });
        true
    }

    /// Returns the server of requests that describe themselves. It is started when it is needed. `None` if the proxy
    /// ends.
    fn shared(self: &Arc<Self>) -> Option<Arc<Shared>> {
        let mut servers = self.servers();
        if servers.is_closed {
            return None;
        }
        if let Some(shared) = servers.shared.as_ref().filter(|shared| !shared.has_ended()) {
            return Some(shared.clone());
        }
        let (shared, lines) = Shared::new();
        servers.shared = Some(shared.clone());
        while servers.tasks.try_join_next().is_some() {}
        let (state, running) = (self.clone(), shared.clone());
        servers.tasks.spawn(async move {
            report(running.run(state.upstream.clone(), lines, state.max_message).await);
        });
        Some(shared)
    }

    /// Returns the session that a request names.
    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Box<Response<ResponseBody>>> {
        let Some(id) = headers.get(SESSION_ID) else {
            let text = "the header Mcp-Session-Id is missing: `initialize` opens a session";
            return Err(Box::new(reply::refusal(StatusCode::BAD_REQUEST, None, -32600, text)));
        };
        let servers = self.servers();
        let session = id.to_str().ok().and_then(|id| servers.sessions.get(id));
        session.filter(|session| !session.has_ended()).cloned().ok_or_else(|| Box::new(not_found()))
    }
}

/// Ends a session that the host has not got.
struct NewSessionGuard(Option<Arc<Session>>);

impl Drop for NewSessionGuard {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.end();
        }
    }
}

fn report(outcome: crate::failure::Result<()>) {
    if let Err(failure) = outcome {
        write_stderr(&format!("toolway proxy: {}\n", failure.message));
    }
}

fn closing(id: Option<&str>) -> Response<ResponseBody> {
    reply::refusal(StatusCode::SERVICE_UNAVAILABLE, id, -32603, "the proxy ends")
}

fn is_result(answer: &[u8]) -> bool {
    line::Message::read(answer).first().is_some_and(line::Message::has_result)
}

/// Returns a message on one line. Within strings, JSON has no line breaks.
fn one_line(body: &[u8]) -> Vec<u8> {
    body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

fn mirrored_headers(headers: &HeaderMap) -> MirroredHeaders<'_> {
    MirroredHeaders {
        protocol_version: mirrored(headers, "mcp-protocol-version"),
        method: mirrored(headers, "mcp-method"),
        name: mirrored(headers, "mcp-name"),
    }
}

fn mirrored(headers: &HeaderMap, name: impl AsHeaderName) -> MirroredHeader<'_> {
    MirroredHeader::from_lines(headers.get_all(name).iter().map(HeaderValue::as_bytes))
}
