//! What do POST, GET and DELETE mean in the handshake era?

use std::future::ready;
use std::sync::Arc;

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use ::http::{Method as HttpMethod, Response, StatusCode};
use bytes::Bytes;
use serde_json::value::RawValue;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::jsonrpc::{Params, write_error, write_raw_result};
use toolway_protocol::types::Cancelled;
use toolway_protocol::{Era, Id, Message, Method, ProtocolVersion, RawJson, RpcError};

use super::super::endpoint::body::{ResponseBody, event_stream};
use super::super::endpoint::reply::{
    accepted, error_reply, error_reply_without_id, not_allowed, reply, unavailable,
};
use super::super::endpoint::request::PROTOCOL_VERSION;
use super::call::{MAX_SAVE_ATTEMPTS, call, serve_without_session, update_record};
use super::context::{AdmittedRequest, SESSION_ID, session_error, store_unavailable};
use super::legacy_sse;
use super::live_session::LiveSession;
use super::log::event_log::ResumePoint;
use super::notification_feed::NotificationFeed;
use super::record::Record;
use super::sessions::SessionError;
use super::shared::delivery::Delivery;
use super::shared::question_id::node_of_question;
use super::shared::remote_log::{self, StoredNotifications, StoredStream, take_over_own_log};
use super::stream_reader::StreamReader;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::server::admission::notification_filter::NotificationFilter;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::handshake;
use crate::store;

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The longest parameters of `initialize`, in bytes. They are limited because the server keeps them as long as the
/// session.
const MAX_INITIALIZE_BYTES: usize = 64 << 10;
/// How many JSON values the parameters of `initialize` may contain. They are limited because a parsed value takes up to
/// a hundred times as much memory as its text.
const MAX_INITIALIZE_VALUES: usize = 256;

/// A reply, or an error reply.
type ReplyResult = Result<Response<ResponseBody>, Response<ResponseBody>>;

/// Answers a posted message. Not an `async fn`: each kind of message has a future of its own, in a box, which holds only
/// what it needs.
pub(crate) fn post(
    visit: AdmittedRequest<'_>,
    message: Message,
    version: Option<ProtocolVersion>,
) -> BoxFuture<'_, Response<ResponseBody>> {
    let opens_session = matches!(&message, Message::Request { method: Method::Initialize, .. });
    if let Message::Request { id, method, params } = &message
        && !opens_session
        && let Err(error) = visit.endpoint.check_param_headers(&visit.arrival, method, params, false)
    {
        let error = RpcError::invalid_request(error.message);
        return Box::pin(ready(error_reply(StatusCode::BAD_REQUEST, Some(id), &error)));
    }
    if visit.handshake.is_sessionless && !opens_session {
        return Box::pin(serve_without_session(visit, message, version));
    }
    match message {
        Message::Request { id, method: Method::Initialize, params } => {
            replied(async move { open(visit, &id, &params).await })
        }
        Message::Request { id, method, params } if changes_record(&method) => replied(async move {
            let live = visit.find_session(Some(&id)).await?;
            Ok(reply(StatusCode::OK, update_record(&visit, &live, &id, &method, &params).await?))
        }),
        Message::Request { id, method, params } => Box::pin(call(visit, id, method, params)),
        Message::Notification { method, params } => replied(async move {
            let live = visit.find_session(None).await?;
            handle_notification(&visit, &live, method, params).await.map_err(store_unavailable)?;
            Ok(accepted())
        }),
        Message::Response { id, outcome } => replied(async move {
            let live = visit.find_session(None).await?;
            deliver_answer(&live, id.as_ref(), outcome).await.map_err(store_unavailable)?;
            Ok(accepted())
        }),
    }
}

/// Makes an error reply a reply.
fn replied<'s>(
    outcome: impl Future<Output = ReplyResult> + Send + 's,
) -> BoxFuture<'s, Response<ResponseBody>> {
    Box::pin(async move { outcome.await.unwrap_or_else(|refusal| refusal) })
}

/// Answers an HTTP request whose method is not POST.
pub(crate) async fn answer(visit: AdmittedRequest<'_>, method: &HttpMethod) -> Response<ResponseBody> {
    let reply = match *method {
        _ if !visit.server().serves(Era::Handshake) => Err(not_allowed("POST")),
        HttpMethod::GET => get(visit).await,
        HttpMethod::DELETE => delete(visit).await,
        _ => Err(visit.not_allowed()),
    };
    reply.unwrap_or_else(|refusal| refusal)
}

/// Answers a POST to the second URL of the transport of 2024-11-05.
pub(crate) async fn post_to_pipe(
    visit: AdmittedRequest<'_>,
    query: &str,
    frame: &Bytes,
) -> Response<ResponseBody> {
    let AdmittedRequest { endpoint, handshake, arrival } = visit;
    let post = legacy_sse::Post { arrival, query, frame };
    let outcome = legacy_sse::post(handshake.pipes(), handshake.sessions(), endpoint, post).await;
    outcome.unwrap_or_else(store_unavailable)
}

/// Takes the client's answer to a question. If another server asked the question, the answer is passed on to that
/// server. An answer that comes too late is ignored.
pub(super) async fn deliver_answer(
    live: &LiveSession,
    id: Option<&Id>,
    outcome: Result<RawJson, RpcError>,
) -> store::Result<()> {
    let Err(outcome) = live.session.deliver_answer(id, outcome) else { return Ok(()) };
    let (Some(shared), Some(id)) = (&live.shared, id) else { return Ok(()) };
    let Some((question, node)) = node_of_question(id).filter(|(_, node)| *node != shared.node.id) else {
        return Ok(());
    };
    let mut frame = Vec::new();
    match &outcome {
        Ok(result) => write_raw_result(&mut frame, id, result),
        Err(error) => write_error(&mut frame, Some(id), error),
    }
    let (question, node, ttl) = (question.to_owned(), node.to_owned(), live.question_timeout());
    Delivery::Answer { question, node, frame: frame.into(), ttl }.deliver(shared).await
}

/// Returns whether a request changes the stored record of its session.
pub(super) fn changes_record(method: &Method) -> bool {
    matches!(method, Method::SetLogLevel | Method::Subscribe | Method::Unsubscribe)
}

pub(super) async fn handle_notification(
    visit: &AdmittedRequest<'_>,
    live: &Arc<LiveSession>,
    method: Method,
    params: Params,
) -> store::Result<()> {
    if method == Method::Initialized {
        // Another server may save the record at the same time. Then the session is refreshed, and the change is applied
        // again.
        for _ in 0..MAX_SAVE_ATTEMPTS {
            let before = live.apply_count();
            live.mark_ready();
            let is_saved = live.save().await?;
            if (is_saved && live.apply_count() == before) || !live.refresh().await? {
                break;
            }
        }
    } else if method == Method::Cancelled {
        // A cancellation that is malformed, or whose request is not running, is ignored.
        if let Some(id) = params.decode::<Cancelled>().ok().and_then(|cancelled| cancelled.request_id) {
            match &live.shared {
                Some(shared) if !live.is_running(&id) => Delivery::Cancellation(id).deliver(shared).await?,
                _ => live.cancel(&id),
            }
        }
    } else {
        let arrival = Arrival { memory_record: Some(live.memory()), ..(*visit.arrival).clone() };
        handshake::handle_notification(visit.server(), &live.session, &method, &params, Box::new(arrival))
            .await;
    }
    Ok(())
}

/// Opens a session.
async fn open(visit: AdmittedRequest<'_>, id: &Id, params: &Params) -> ReplyResult {
    let server = visit.server();
    let is_sessionless = visit.handshake.is_sessionless;
    let listener = (!is_sessionless).then(|| server.inner.changes.listen());
    let wrong = |error| error_reply(StatusCode::OK, Some(id), &error);
    let (frame, session) =
        handshake::initialize(server, &mut Lifecycle::default(), id, params, listener).map_err(wrong)?;
    if is_sessionless {
        return Ok(reply(StatusCode::OK, frame));
    }
    let record = Record::new(session.version(), initialize_params(params).map_err(wrong)?);
    let opened = visit.handshake.sessions().open(record, visit.owner(), visit.arrival.account.as_ref()).await;
    let live = opened.map_err(store_unavailable)?.map_err(|full| unavailable(Some(id), &full))?;
    let mut response = reply(StatusCode::OK, frame);
    if let Ok(value) = HeaderValue::from_str(&live.id) {
        response.headers_mut().insert(SESSION_ID.clone(), value);
    }
    Ok(response)
}

/// Returns the parameters of `initialize` as they are stored. Fails if they are too large.
fn initialize_params(params: &Params) -> Result<Box<RawValue>, RpcError> {
    let text = params.text().map(|text| text.as_str().to_owned()).unwrap_or_default();
    if text.len() > MAX_INITIALIZE_BYTES {
        return Err(RpcError::invalid_params(format!(
            "the parameters are longer than {MAX_INITIALIZE_BYTES} bytes"
        )));
    }
    if max_value_count(&text) > MAX_INITIALIZE_VALUES {
        let text = format!("the parameters have more than {MAX_INITIALIZE_VALUES} values");
        return Err(RpcError::invalid_params(text));
    }
    RawValue::from_string(text).map_err(|_| RpcError::invalid_params("`params` is missing"))
}

/// Returns an upper bound for the number of values inside a JSON object or array: every array element and object member
/// follows a `{`, `[` or `,`. Strings may contain these characters too, so the bound can be too high.
fn max_value_count(json: &str) -> usize {
    json.bytes().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count()
}

/// Opens a notification stream, or resumes a stream of any kind.
async fn get(visit: AdmittedRequest<'_>) -> ReplyResult {
    let headers = visit.headers();
    let has_session = headers.contains_key(&SESSION_ID) && !visit.handshake.is_sessionless;
    // A client that sends the `MCP-Protocol-Version` header uses a newer transport, so this is not the stream of the
    // transport of 2024-11-05.
    let is_oldest =
        visit.handshake.has_legacy_sse && !has_session && !headers.contains_key(&PROTOCOL_VERSION);
    if visit.handshake.is_sessionless && !is_oldest {
        return Err(visit.not_allowed());
    }
    if !has_session && !is_oldest {
        // A GET without a session only tests whether the server supports streams. The reply is 405.
        return Err(visit.not_allowed_because("a GET needs the Mcp-Session-Id header of its session"));
    }
    if !visit.accepts_events() {
        let error = RpcError::invalid_request("the Accept header must allow text/event-stream");
        return Err(error_reply_without_id(StatusCode::NOT_ACCEPTABLE, &error));
    }
    if is_oldest {
        let (handshake, budget) = (visit.handshake, visit.handshake.limits.session_budget());
        let (pipes, sessions) = (handshake.pipes(), handshake.sessions());
        let opened = legacy_sse::open(pipes, sessions, budget, visit.endpoint, visit.arrival).await;
        return opened.map_err(store_unavailable);
    }
    let live = visit.find_session(None).await?;
    let reader = match last_event_id(headers) {
        None => listen(&visit, &live).map_err(|full| unavailable(None, &full))?,
        Some(last) => resume(&visit, &live, last).await?,
    };
    Ok(event_stream(visit.account(Some(&live)), |pen| reader.write_to(pen)))
}

/// Returns the id of the last event that the client received. An empty header counts as absent.
fn last_event_id(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(&LAST_EVENT_ID).map(HeaderValue::as_bytes).filter(|value| !value.is_empty())
}

fn listen(visit: &AdmittedRequest<'_>, live: &Arc<LiveSession>) -> Result<StreamReader, RpcError> {
    let feed = open_feed(visit, live)?;
    let log = live.new_log(true);
    // Other servers tell this one when they continue the stream.
    log.open(live.shared.as_ref().map(|shared| shared.node.id.clone()).unwrap_or_default());
    let closing = visit.endpoint.shutdown_token().clone();
    let reader = StreamReader::new(live, &log, Some(feed), closing);
    live.register(&log, Vec::new());
    live.keep_stream(&log);
    Ok(reader)
}

fn open_feed(visit: &AdmittedRequest<'_>, live: &Arc<LiveSession>) -> Result<NotificationFeed, RpcError> {
    let sight = NotificationFilter::new(visit.server(), visit.arrival.stream_view());
    let rights = visit.arrival.stream_rights();
    let charge = visit.endpoint.stream_charge(visit.account(Some(live)).as_ref())?;
    NotificationFeed::open(live, charge, sight, rights)
}

/// Resumes a stream after the event with the id `last`. An event id of another session is treated like an unknown id.
async fn resume(
    visit: &AdmittedRequest<'_>,
    live: &Arc<LiveSession>,
    last: &[u8],
) -> Result<StreamReader, Response<ResponseBody>> {
    let unknown = || {
        let error = RpcError::invalid_request(
            "no stream can be resumed from the event in the Last-Event-ID header; send the request without this header",
        );
        error_reply_without_id(StatusCode::BAD_REQUEST, &error)
    };
    let (stream, number) = event_id(last).ok_or_else(unknown)?;
    let closing = visit.endpoint.shutdown_token().clone();
    // A notification stream in a store may have been continued elsewhere.
    let local = live.log(stream).filter(|log| live.shared.is_none() || !log.is_for_notifications);
    if let Some(log) = local {
        return match log.resume_point(number) {
            ResumePoint::Unknown => Err(unknown()),
            ResumePoint::AtEnd => {
                // The client has the answer, although its reader may have ended before it noticed.
                log.release_claims();
                Ok(StreamReader::new(live, &log, None, closing).at_end())
            }
            ResumePoint::GoesOn => {
                let feed = log.is_for_notifications.then(|| open_feed(visit, live)).transpose();
                let feed = feed.map_err(|full| unavailable(None, &full))?;
                if let Some(shared) = &live.shared {
                    take_over_own_log(shared, stream).await.map_err(store_unavailable)?;
                }
                Ok(StreamReader::resume(live, &log, number, feed, closing))
            }
        };
    }
    let shared = live.shared.as_ref().ok_or_else(unknown)?;
    // What is written after the stream was found wakes its reader.
    let signal = live.remote_readers.register(stream);
    match remote_log::find(shared, stream, number).await.map_err(store_unavailable)? {
        StoredStream::SessionEnded => Err(session_error(None, SessionError::Unknown)),
        StoredStream::Unknown => Err(unknown()),
        StoredStream::Behind => {
            Err(unavailable(None, &busy("the store does not have this event at the moment")))
        }
        StoredStream::AtEnd => Ok(StreamReader::new(live, &live.new_log(false), None, closing).at_end()),
        StoredStream::Request(log) => Ok(StreamReader::remote(live, log, signal, number, closing)),
        StoredStream::Notifications(StoredNotifications { events, was_continued }) => {
            if was_continued {
                live.note_missed_changes();
            }
            live.forget_changes(&events);
            let reader = listen(visit, live).map_err(|full| unavailable(None, &full))?;
            Ok(reader.after_events_of(stream, events))
        }
    }
}

/// Splits an event id into the id of the stream and the number of the event in the stream.
fn event_id(text: &[u8]) -> Option<(&str, u64)> {
    let (stream, number) = std::str::from_utf8(text).ok()?.split_once('.')?;
    let is_stream = stream.len() == 16 && stream.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    if is_stream && is_number { Some((stream, number.parse().ok()?)) } else { None }
}

/// Ends a session.
async fn delete(visit: AdmittedRequest<'_>) -> ReplyResult {
    if visit.handshake.is_sessionless {
        return Err(visit.not_allowed());
    }
    let live = match visit.find_session(None).await {
        Err(unknown) if unknown.status() == StatusCode::NOT_FOUND => {
            let id = visit.headers().get(&SESSION_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
            let confirmed = visit.handshake.sessions().confirm_end(id, visit.owner()).await;
            confirmed.map_err(store_unavailable)?;
            return Err(unknown);
        }
        found => found?,
    };
    visit.handshake.sessions().end(&live, visit.arrival).await.map_err(store_unavailable)?;
    Ok(accepted())
}
