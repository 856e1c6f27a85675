//! What do POST, GET and DELETE mean in the handshake era?

use std::sync::Arc;

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use ::http::{Method as HttpMethod, Response, StatusCode};
use bytes::Bytes;
use serde_json::value::RawValue;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::types::Cancelled;
use toolway_protocol::{Era, Id, Message, Method, ProtocolVersion, RawJson, RpcError};

use super::super::door::body::{HttpBody, event_stream};
use super::super::door::endpoint::PROTOCOL_VERSION;
use super::super::door::reply::{accepted, failed, not_allowed, refused, reply, request_id, unavailable};
use super::call::{TRIES, alone, call, changed};
use super::live::{Feed, Live, Record};
use super::stream::Reader;
use super::visit::{SESSION_ID, Visit, no_store};
use super::{elsewhere, legacy_sse};
use crate::ground::error::Result;
use crate::server::call::scope::Arrival;
use crate::server::catalog::visible::Sight;
use crate::server::handshake;

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The longest parameters of `initialize`, in bytes. They are limited because the server keeps them as long as the
/// session.
const MAX_OPENING: usize = 64 << 10;
/// How many JSON values the parameters of `initialize` may contain. They are limited because a parsed value takes up to
/// a hundred times as much memory as its text.
const MAX_OPENING_VALUES: usize = 256;

/// A reply, or an error reply.
type Reply = Result<Response<HttpBody>, Response<HttpBody>>;

/// Answers a posted message.
pub(crate) async fn post(
    visit: Visit<'_>,
    message: Message,
    version: Option<ProtocolVersion>,
) -> Response<HttpBody> {
    posted(visit, message, version).await.unwrap_or_else(|refusal| refusal)
}

/// Answers an HTTP request whose method is not POST.
pub(crate) async fn answer(visit: Visit<'_>, method: &HttpMethod) -> Response<HttpBody> {
    let reply = match *method {
        _ if !visit.server().serves(Era::Handshake) => Err(not_allowed("POST")),
        HttpMethod::GET => get(visit).await,
        HttpMethod::DELETE => delete(visit).await,
        _ => Err(visit.not_allowed()),
    };
    reply.unwrap_or_else(|refusal| refusal)
}

/// Answers a POST to the second URL of the transport of 2024-11-05.
pub(crate) async fn post_to_pipe(visit: Visit<'_>, pipe: &str, frame: &Bytes) -> Response<HttpBody> {
    legacy_sse::post(visit.era.pipes(), visit.arrival.principal.as_ref(), pipe, frame).await
}

async fn posted(visit: Visit<'_>, message: Message, version: Option<ProtocolVersion>) -> Reply {
    if let Message::Request { id, method: Method::Initialize, params } = &message {
        return open(visit, id, params).await;
    }
    if visit.era.is_sessionless {
        return Ok(alone(visit, message, version).await);
    }
    let live = visit.find(request_id(&message)).await?;
    match message {
        Message::Request { id, method, params } if changes_record(&method) => {
            Ok(reply(StatusCode::OK, changed(&visit, &live, &id, &method, &params).await?))
        }
        Message::Request { id, method, params } => Ok(call(visit, live, id, method, params).await),
        Message::Notification { method, params } => {
            hear(&visit, &live, method, params).await.map_err(no_store)?;
            Ok(accepted())
        }
        Message::Response { id, outcome } => {
            answered(&live, id.as_ref(), outcome).await.map_err(no_store)?;
            Ok(accepted())
        }
    }
}

/// Takes the client's answer to a question. If another server asked the question, the answer is passed on to that
/// server. An answer that comes too late is ignored.
pub(super) async fn answered(live: &Live, id: Option<&Id>, outcome: Result<RawJson, RpcError>) -> Result<()> {
    match live.session.settle(id, outcome) {
        Ok(()) => Ok(()),
        Err(outcome) => elsewhere::pass_on(live, id, &outcome).await,
    }
}

/// Returns whether a request changes the stored record of its session.
pub(super) fn changes_record(method: &Method) -> bool {
    matches!(method, Method::SetLogLevel | Method::Subscribe | Method::Unsubscribe)
}

pub(super) async fn hear(visit: &Visit<'_>, live: &Arc<Live>, method: Method, params: Params) -> Result<()> {
    if method == Method::Initialized {
        // Another server may save the record at the same time. Then the session is refreshed, and the change is applied
        // again.
        for _ in 0..TRIES {
            let before = live.applied();
            live.ready();
            let is_saved = live.save().await?;
            if (is_saved && live.applied() == before) || !live.refresh().await? {
                break;
            }
        }
    } else if method == Method::Cancelled {
        // A cancellation that is malformed, or whose request is not running, is ignored.
        if let Some(id) = params.decode::<Cancelled>().ok().and_then(|cancelled| cancelled.request_id) {
            live.cancel(&id);
        }
    } else {
        let arrival = Arrival { memory: Some(live.memory()), ..(*visit.arrival).clone() };
        handshake::hear(visit.server(), &live.session, &method, &params, Box::new(arrival)).await;
    }
    Ok(())
}

/// Opens a session.
async fn open(visit: Visit<'_>, id: &Id, params: &Params) -> Reply {
    let server = visit.server();
    let is_sessionless = visit.era.is_sessionless;
    let listener = (!is_sessionless).then(|| server.inner.changes.listen());
    let wrong = |error| failed(StatusCode::OK, Some(id), &error);
    let (frame, session) =
        handshake::initialize(server, &mut Lifecycle::default(), id, params, listener).map_err(wrong)?;
    if is_sessionless {
        return Ok(reply(StatusCode::OK, frame));
    }
    let record = Record::new(session.version(), opening(params).map_err(wrong)?);
    let opened = visit.era.sessions().open(record, visit.owner(), visit.peer()).await;
    let live = opened.map_err(no_store)?.map_err(|full| unavailable(Some(id), &full))?;
    let mut response = reply(StatusCode::OK, frame);
    if let Ok(value) = HeaderValue::from_str(&live.id) {
        response.headers_mut().insert(SESSION_ID.clone(), value);
    }
    Ok(response)
}

/// Returns the parameters of `initialize` as they are stored. Fails if they are too large.
fn opening(params: &Params) -> Result<Box<RawValue>, RpcError> {
    let text = params.text().map(|text| text.as_str().to_owned()).unwrap_or_default();
    if text.len() > MAX_OPENING {
        return Err(RpcError::invalid_params(format!("the parameters are longer than {MAX_OPENING} bytes")));
    }
    if values(&text) > MAX_OPENING_VALUES {
        let text = format!("the parameters have more than {MAX_OPENING_VALUES} values");
        return Err(RpcError::invalid_params(text));
    }
    RawValue::from_string(text).map_err(|_| RpcError::invalid_params("`params` is missing"))
}

/// Returns an upper bound for the number of values inside a JSON object or array: every array element and object member
/// follows a `{`, `[` or `,`. Strings may contain these characters too, so the bound can be too high.
fn values(json: &str) -> usize {
    json.bytes().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count()
}

/// Opens a notification stream, or resumes a stream of any kind.
async fn get(visit: Visit<'_>) -> Reply {
    let headers = visit.headers();
    let has_session = headers.contains_key(&SESSION_ID) && !visit.era.is_sessionless;
    // A client that sends the `MCP-Protocol-Version` header uses a newer transport, so this is not the stream of the
    // transport of 2024-11-05.
    let is_oldest = visit.era.has_legacy_sse && !has_session && !headers.contains_key(&PROTOCOL_VERSION);
    if visit.era.is_sessionless && !is_oldest {
        return Err(visit.not_allowed());
    }
    if !has_session && !is_oldest {
        // A GET without a session only tests whether the server supports streams. The reply is 405.
        return Err(visit.not_allowed_because("a GET needs the Mcp-Session-Id header of its session"));
    }
    if !visit.takes_events() {
        let error = RpcError::invalid_request("the Accept header must allow text/event-stream");
        return Err(refused(StatusCode::NOT_ACCEPTABLE, &error));
    }
    if is_oldest {
        return Ok(legacy_sse::open(visit.era.pipes(), visit.endpoint, visit.arrival));
    }
    let live = visit.find(None).await?;
    let reader = match last_event_id(headers) {
        None => listen(&visit, &live).await?,
        Some(last) => resume(&visit, &live, last).await?,
    };
    Ok(event_stream(|pen| reader.write_to(pen)))
}

/// Returns the id of the last event that the client received. An empty header counts as absent.
fn last_event_id(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(&LAST_EVENT_ID).map(HeaderValue::as_bytes).filter(|value| !value.is_empty())
}

async fn listen(visit: &Visit<'_>, live: &Arc<Live>) -> Result<Reader, Response<HttpBody>> {
    let log = live.new_log();
    let feed = feed(visit, live).map_err(|full| unavailable(None, &full))?;
    log.open_for_news().await.map_err(no_store)?;
    let closing = visit.endpoint.closing().clone();
    let reader = Reader::new(live, log.clone(), Some(feed), closing).await.map_err(no_store)?;
    live.keep(&log).await.map_err(no_store)?;
    Ok(reader)
}

fn feed(visit: &Visit<'_>, live: &Arc<Live>) -> Result<Feed, RpcError> {
    let sight = Sight::new(visit.server(), visit.arrival.allowed.clone());
    live.feed(visit.endpoint.stream_permit()?, sight)
}

/// Resumes a stream after the event with the id `last`. An event id of another session is treated like an unknown id.
async fn resume(visit: &Visit<'_>, live: &Arc<Live>, last: &[u8]) -> Result<Reader, Response<HttpBody>> {
    let unknown = || {
        let error = RpcError::invalid_request(
            "no stream can be resumed from the event in the Last-Event-ID header; send the request without this header",
        );
        refused(StatusCode::BAD_REQUEST, &error)
    };
    let (stream, number) = event_id(last).ok_or_else(unknown)?;
    let log = live.log(stream);
    let found = log.come_back(number).await.map_err(no_store)?.ok_or_else(unknown)?;
    let feed = found.is_news.then(|| feed(visit, live)).transpose();
    let feed = feed.map_err(|full| unavailable(None, &full))?;
    let closing = visit.endpoint.closing().clone();
    let reader = Reader::new(live, log, feed, closing).await.map_err(no_store)?;
    if found.is_over {
        return Ok(reader.at_end());
    }
    reader.after(number).await.map_err(no_store)
}

/// Splits an event id into the id of the stream and the number of the event in the stream.
fn event_id(text: &[u8]) -> Option<(&str, u64)> {
    let (stream, number) = std::str::from_utf8(text).ok()?.split_once('.')?;
    let is_stream = stream.len() == 16 && stream.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    if is_stream && is_number { Some((stream, number.parse().ok()?)) } else { None }
}

/// Ends a session.
async fn delete(visit: Visit<'_>) -> Reply {
    if visit.era.is_sessionless {
        return Err(visit.not_allowed());
    }
    let live = visit.find(None).await?;
    visit.era.sessions().end(&live, visit.arrival).await.map_err(no_store)?;
    Ok(accepted())
}
