//! The handshake era over HTTP: what do POST, GET and DELETE mean?
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | What do POST, GET and DELETE mean? |
//! | `call.rs`, `batch.rs` | How is a request of a conversation answered, and several together? |
//! | `elsewhere.rs` | What if an answer comes to another server than the one that asked? |
//! | `sessions.rs` | Which conversations are open? |
//! | `live.rs` | What is needed to serve one of them? |
//! | `legacy_sse.rs` | What did the oldest revision have instead? |
//! | `stream.rs` | How is a stream left and come back to? |

mod batch;
mod call;
mod elsewhere;
mod legacy_sse;
mod live;
mod sessions;
mod stream;

use std::sync::Arc;

use ::http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use ::http::{Response, StatusCode};
use bytes::Bytes;
use serde_json::value::RawValue;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::jsonrpc::{Params, Rejected};
use toolway_protocol::types::Cancelled;
use toolway_protocol::{Id, Message, Method, ProtocolVersion, RawJson, RpcError};

pub(super) use legacy_sse::Pipes;
pub(super) use sessions::Sessions;

use self::call::{alone, call, changed};
use self::live::{Live, Record};
use self::stream::Reader;
use super::body::{HttpBody, event_stream};
use super::{Visit, accepted, failed, guard, message_id, refused, reply, unavailable};
use crate::ground::error::{Error, Result};
use crate::server::Server;
use crate::server::call::scope::Arrival;
use crate::server::catalog::visible::Sight;
use crate::server::failure::errors::busy;
use crate::server::handshake::{self, Session};

static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How often a change of what is kept is tried.
const TRIES: usize = 8;
/// The longest `initialize`: what a client says about itself is kept as long as its conversation.
const MAX_OPENING: usize = 64 << 10;
/// How many values it may have: in memory each takes up to a hundred times its text.
const MAX_OPENING_VALUES: usize = 256;

pub(super) async fn post(
    visit: Visit<'_>,
    message: Message,
    version: Option<ProtocolVersion>,
) -> Response<HttpBody> {
    if let Message::Request { id, method: Method::Initialize, params } = &message {
        return open(visit, id, params).await;
    }
    if visit.settings.is_sessionless {
        return alone(visit, message, version).await;
    }
    let live = match find(&visit, message_id(&message)).await {
        Ok(live) => live,
        Err(refusal) => return refusal,
    };
    match message {
        Message::Request { id, method, params } if changes_record(&method) => {
            match changed(&visit, &live, &id, &method, &params).await {
                Ok(frame) => reply(StatusCode::OK, frame),
                Err(refusal) => refusal,
            }
        }
        Message::Request { id, method, params } => call(visit, live, id, method, params).await,
        Message::Notification { method, params } => match hear(&visit, &live, method, params).await {
            Ok(()) => accepted(),
            Err(error) => no_store(&error),
        },
        Message::Response { id, outcome } => match answered(&live, id.as_ref(), outcome).await {
            Ok(()) => accepted(),
            Err(error) => no_store(&error),
        },
    }
}

/// Takes the answer to a question. One that comes too late is nothing to talk about.
async fn answered(live: &Live, id: Option<&Id>, outcome: Result<RawJson, RpcError>) -> Result<()> {
    match live.session.settle(id, outcome) {
        Ok(()) => Ok(()),
        Err(outcome) => elsewhere::pass_on(live, id, &outcome).await,
    }
}

/// Whether a request changes what is kept about its conversation.
fn changes_record(method: &Method) -> bool {
    matches!(method, Method::SetLogLevel | Method::Subscribe | Method::Unsubscribe)
}

async fn hear(visit: &Visit<'_>, live: &Arc<Live>, method: Method, params: Params) -> Result<()> {
    if method == Method::Initialized {
        // Somebody else may be quicker; what it has written does not unsay this.
        for _ in 0..TRIES {
            let before = live.applied();
            live.ready();
            let is_saved = live.save().await?;
            if (is_saved && live.applied() == before) || !live.refresh().await? {
                break;
            }
        }
    } else if method == Method::Cancelled {
        // An id that is not running, or a malformed cancel, is nothing to talk about.
        if let Some(id) = params.decode::<Cancelled>().ok().and_then(|cancelled| cancelled.request_id) {
            live.cancel(&id);
        }
    } else {
        let server = &visit.settings.server;
        let arrival = Arrival { memory: Some(live.memory()), ..visit.arrival_again() };
        handshake::hear(server, &live.session, &method, &params, arrival).await;
    }
    Ok(())
}

fn asked_nothing() -> Response<HttpBody> {
    refused(StatusCode::BAD_REQUEST, &RpcError::invalid_request("this server has asked nothing"))
}

/// What is kept cannot be reached; whose fault that is does not concern the client.
fn no_store(error: &Error) -> Response<HttpBody> {
    tracing::error!(%error, "the store does not answer");
    unavailable(None, &busy("what is known about this session cannot be read now"))
}

/// The conversation that a request says it belongs to.
pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(&SESSION_ID).and_then(|id| id.to_str().ok())
}

/// The conversation that a request belongs to.
async fn find(visit: &Visit<'_>, request: Option<&Id>) -> Result<Arc<Live>, Response<HttpBody>> {
    let mut lines = visit.parts.headers.get_all(&SESSION_ID).iter();
    let id = match (lines.next(), lines.next()) {
        (Some(id), None) => id.to_str().unwrap_or_default(),
        (None, _) => {
            let error = RpcError::invalid_request(
                "the Mcp-Session-Id header is missing: send `initialize` first, and then the id that its reply carries",
            );
            return Err(failed(StatusCode::BAD_REQUEST, request, &error));
        }
        (Some(_), Some(_)) => {
            let error = RpcError::invalid_request("the Mcp-Session-Id header must come once");
            return Err(failed(StatusCode::BAD_REQUEST, request, &error));
        }
    };
    match visit.state.sessions.find(id, visit.owner()).await {
        Ok(Some(live)) => Ok(live),
        Ok(None) => {
            let error = RpcError::invalid_request("there is no such session: send `initialize` again");
            Err(failed(StatusCode::NOT_FOUND, request, &error))
        }
        Err(error) => Err(no_store(&error)),
    }
}

/// Opens a conversation.
async fn open(visit: Visit<'_>, id: &Id, params: &Params) -> Response<HttpBody> {
    let server = &visit.settings.server;
    let is_sessionless = visit.settings.is_sessionless;
    let listener = (!is_sessionless).then(|| server.inner.changes.listen());
    let opened = handshake::initialize(server, &mut Lifecycle::default(), id, params, listener);
    let (frame, session) = match opened {
        Ok(opened) => opened,
        Err(error) => return failed(StatusCode::OK, Some(id), &error),
    };
    if is_sessionless {
        return reply(StatusCode::OK, frame);
    }
    let opening = params.text().map(|text| text.as_str().to_owned()).unwrap_or_default();
    if opening.len() > MAX_OPENING {
        let error = RpcError::invalid_params(format!("the parameters are longer than {MAX_OPENING} bytes"));
        return failed(StatusCode::OK, Some(id), &error);
    }
    if values(&opening) > MAX_OPENING_VALUES {
        let error =
            RpcError::invalid_params(format!("the parameters have more than {MAX_OPENING_VALUES} values"));
        return failed(StatusCode::OK, Some(id), &error);
    }
    let Ok(opening) = RawValue::from_string(opening) else {
        return failed(StatusCode::OK, Some(id), &RpcError::invalid_params("`params` is missing"));
    };
    let record = Record::new(session.version(), opening);
    match visit.state.sessions.open(record, visit.owner(), visit.peer()).await {
        Ok(Ok(live)) => {
            let mut response = reply(StatusCode::OK, frame);
            if let Ok(value) = HeaderValue::from_str(&live.id) {
                response.headers_mut().insert(SESSION_ID.clone(), value);
            }
            response
        }
        Ok(Err(full)) => unavailable(Some(id), &full),
        Err(error) => no_store(&error),
    }
}

/// How many values a text has at most: every other value comes after one of these, which texts may have inside as well.
fn values(json: &str) -> usize {
    json.bytes().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count()
}

/// Whether a POST is for a conversation of the oldest transport.
pub(super) fn is_for_pipe(visit: &Visit<'_>) -> bool {
    legacy_sse::named(visit).is_some()
}

pub(super) async fn post_to_pipe(visit: Visit<'_>, frame: Bytes) -> Response<HttpBody> {
    legacy_sse::post(&visit, &frame).await
}

/// Several messages in one.
pub(super) async fn post_batch(
    visit: Visit<'_>,
    messages: Vec<Result<Message, Rejected>>,
) -> Response<HttpBody> {
    batch::post(visit, messages).await
}

/// Opens a stream of news, or comes back to any stream.
pub(super) async fn get(visit: Visit<'_>) -> Response<HttpBody> {
    let headers = &visit.parts.headers;
    let has_session = headers.contains_key(&SESSION_ID) && !visit.settings.is_sessionless;
    // Whoever names a revision speaks a newer transport, and only asks whether there are streams.
    let is_oldest =
        visit.settings.has_legacy_sse && !has_session && !headers.contains_key(&super::PROTOCOL_VERSION);
    if visit.settings.is_sessionless && !is_oldest {
        return visit.not_allowed();
    }
    if !has_session && !is_oldest {
        // A client that has no session asks whether there are streams at all.
        return visit
            .not_allowed_because("a GET needs the Mcp-Session-Id header of the session that it is about");
    }
    if !guard::takes_events(&headers.get_all(ACCEPT)) {
        let error = RpcError::invalid_request("the Accept header must allow text/event-stream");
        return refused(StatusCode::NOT_ACCEPTABLE, &error);
    }
    if is_oldest {
        return legacy_sse::open(visit);
    }
    let live = match find(&visit, None).await {
        Ok(live) => live,
        Err(refusal) => return refusal,
    };
    let outcome = match last_event_id(headers) {
        None => listen(&visit, &live).await,
        Some(last) => resume(&visit, &live, last).await,
    };
    match outcome {
        Ok(Ok(reader)) => event_stream(|pen| reader.write_to(pen)),
        Ok(Err(refusal)) => refusal,
        Err(error) => no_store(&error),
    }
}

/// The last event that a client has seen; an empty header says nothing.
fn last_event_id(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(&LAST_EVENT_ID).map(HeaderValue::as_bytes).filter(|value| !value.is_empty())
}

type Opened = Result<Result<Reader, Response<HttpBody>>>;

async fn listen(visit: &Visit<'_>, live: &Arc<Live>) -> Opened {
    let log = live.new_log();
    let feed = match feed(visit, live) {
        Ok(feed) => feed,
        Err(error) => return Ok(Err(unavailable(None, &error))),
    };
    log.open_for_news().await?;
    let reader = Reader::new(live, log.clone(), Some(feed), visit.state.closing.clone()).await?;
    live.keep(&log).await?;
    Ok(Ok(reader))
}

fn feed(visit: &Visit<'_>, live: &Arc<Live>) -> Result<live::Feed, RpcError> {
    let place = visit.state.streams.clone().try_acquire_owned();
    let sight = Sight::new(&visit.settings.server, visit.admitted.allowed.clone());
    live.feed(place.map_err(|_| busy("too many streams are open"))?, sight)
}

/// Reads a stream on from an event. An id that is not of this conversation is like one that never was.
async fn resume(visit: &Visit<'_>, live: &Arc<Live>, last: &[u8]) -> Opened {
    let unknown = || {
        let error = RpcError::invalid_request(
            "the Last-Event-ID header names no event that can be come back to; ask again without it",
        );
        refused(StatusCode::BAD_REQUEST, &error)
    };
    let Some((stream, number)) = event_id(last) else { return Ok(Err(unknown())) };
    let log = live.log(stream);
    let Some(found) = log.come_back(number).await? else { return Ok(Err(unknown())) };
    let feed = match found.is_news.then(|| feed(visit, live)).transpose() {
        Ok(feed) => feed,
        Err(error) => return Ok(Err(unavailable(None, &error))),
    };
    let reader = Reader::new(live, log, feed, visit.state.closing.clone()).await?;
    if found.is_over {
        return Ok(Ok(reader.at_end()));
    }
    reader.after(number).await.map(Ok)
}

/// The parts of an event's id: its stream, and its number there.
fn event_id(text: &[u8]) -> Option<(&str, u64)> {
    let (stream, number) = std::str::from_utf8(text).ok()?.split_once('.')?;
    let is_stream = stream.len() == 16 && stream.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    if is_stream && is_number { Some((stream, number.parse().ok()?)) } else { None }
}

/// Ends a conversation.
pub(super) async fn delete(visit: Visit<'_>) -> Response<HttpBody> {
    if visit.settings.is_sessionless {
        return visit.not_allowed();
    }
    let live = match find(&visit, None).await {
        Ok(live) => live,
        Err(refusal) => return refusal,
    };
    match visit.state.sessions.end(&live, visit.arrival_again()).await {
        Ok(()) => accepted(),
        Err(error) => no_store(&error),
    }
}

/// A conversation of which nothing is known but the revision.
fn unopened(server: &Server, version: Option<ProtocolVersion>) -> Session {
    let version = server.inner.pinned.or(version).unwrap_or(ProtocolVersion::UNSAID);
    Session::unopened(version, None)
}
