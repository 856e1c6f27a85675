//! How is a request of a session answered?
//!
//! In the handshake era a closed connection does not cancel a request: the client may reconnect. So a request that does
//! not finish immediately becomes a task that writes a log, and the reply only reads the log.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::http::{Response, StatusCode};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use toolway_protocol::era::handshake::has_priming_events;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::{Id, Message, Method, ProtocolVersion, RpcError};

use super::super::endpoint::body::{ResponseBody, event_stream};
use super::super::endpoint::exchange::exchange;
use super::super::endpoint::permit::RequestPermit;
use super::super::endpoint::reply::{accepted, error_reply, error_reply_without_id, reply, unavailable};
use super::context::{AdmittedRequest, store_unavailable};
use super::live_session::LiveSession;
use super::remote_answers::RemoteAnswers;
use super::stream::{StreamLog, StreamReader};
use crate::ground::error::Result;
use crate::ground::outbound::{Outbound, OutboundItem};
use crate::ground::poll_once::poll_once;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::handshake;

/// How often the server tries to save a change of a session's record.
pub(super) const MAX_SAVE_ATTEMPTS: usize = 8;
/// How many notifications of one request may wait to be written to the log.
const MAX_QUEUED_ITEMS: usize = 256;
/// How long the reply to a request is held back while the request has no output. Then the reply becomes a stream, which
/// the client can resume.
const STREAM_DELAY: Duration = Duration::from_millis(500);
/// The longest interval between two renewals of a session in which a request runs.
const MAX_RENEWAL_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// The future of a request. Returns `None` if the request is cancelled.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// Answers a message without a session, which the protocol allows.
pub(super) async fn serve_without_session(
    visit: AdmittedRequest<'_>,
    message: Message,
    version: Option<ProtocolVersion>,
) -> Response<ResponseBody> {
    let server = visit.server().clone();
    let session = visit.session_without_handshake(version);
    match message {
        Message::Request { id, method, params } => {
            let permit = match visit.endpoint.permit(&method, visit.arrival.account.as_ref()) {
                Ok(permit) => permit,
                Err(error) => return unavailable(Some(&id), &error),
            };
            let takes_events = visit.accepts_events();
            let (max_message, reply_id) = (server.max_message(), id.clone());
            let work = |arrival: Box<Arrival>| async move {
                (handshake::serve(&server, &session, &id, &method, &params, arrival).await, StatusCode::OK)
            };
            if takes_events {
                return exchange(Some(reply_id), permit, visit.arrival, max_message, work).await;
            }
            let (frame, status) = work(visit.arrival).await;
            reply(status, frame).map(|body| body.with_permit(permit))
        }
        Message::Notification { method, params } => {
            handshake::handle_notification(&server, &session, &method, &params, visit.arrival).await;
            accepted()
        }
        Message::Response { .. } => {
            let error = RpcError::invalid_request("the response does not belong to a request of this server");
            error_reply_without_id(StatusCode::BAD_REQUEST, &error)
        }
    }
}

/// Answers a request that changes the stored record of its session. If another server changes the record at the same
/// time, the change is applied again to the new record.
pub(super) async fn update_record(
    visit: &AdmittedRequest<'_>,
    live: &Arc<LiveSession>,
    id: &Id,
    method: &Method,
    params: &Params,
) -> Result<Vec<u8>, Response<ResponseBody>> {
    let server = visit.server();
    for _ in 0..MAX_SAVE_ATTEMPTS {
        let before = live.apply_count();
        let frame = handshake::serve(server, &live.session, id, method, params, Box::default()).await;
        let is_saved = live.save().await.map_err(store_unavailable)?;
        if is_saved && live.apply_count() == before {
            return Ok(frame);
        }
        live.refresh().await.map_err(store_unavailable)?;
    }
    Err(unavailable(Some(id), &busy("too many requests change this session at the same time")))
}

/// Answers a request of a session.
pub(super) async fn call(
    visit: AdmittedRequest<'_>,
    live: Arc<LiveSession>,
    id: Id,
    method: Method,
    params: Params,
) -> Response<ResponseBody> {
    let turn = match live.begin_request(&id) {
        Ok(turn) => turn,
        Err(error) => return error_reply(StatusCode::OK, Some(&id), &error),
    };
    let permit = match visit.endpoint.permit(&method, visit.account(Some(&live)).as_ref()) {
        Ok(permit) => permit,
        Err(error) => return unavailable(Some(&id), &error),
    };
    let server = visit.server().clone();
    let session = live.session.clone();
    let permitted = PermittedRequest { id: Some(id.clone()), permit };
    run(visit, live, permitted, |arrival| {
        Box::pin(async move {
            let work = pin!(handshake::serve(&server, &session, &id, &method, &params, arrival));
            turn.run(work).await
        })
    })
    .await
}

/// A request, or a batch, that may run.
pub(super) struct PermittedRequest {
    /// The id for an error reply; `None` for a batch.
    pub(super) id: Option<Id>,
    pub(super) permit: Option<RequestPermit>,
}

/// Runs the work of one request, or of a batch. The permit is held until the reply is sent, or until the output is
/// written to the log; a server that shuts down waits for it.
pub(super) async fn run(
    visit: AdmittedRequest<'_>,
    live: Arc<LiveSession>,
    permitted: PermittedRequest,
    start: impl FnOnce(Box<Arrival>) -> Work,
) -> Response<ResponseBody> {
    let takes_events = visit.accepts_events();
    let closing = visit.endpoint.shutdown_token().clone();
    let max_message = visit.server().max_message();
    let account = visit.account(Some(&live));
    let mut arrival = visit.arrival;
    arrival.memory_record = Some(live.memory());
    let (sender, mut said) = mpsc::channel(MAX_QUEUED_ITEMS);
    if takes_events {
        arrival.outbound = Outbound::new(sender, max_message, account.clone());
    }
    let mut work = start(arrival);
    // Most requests finish in the first poll, and need neither a task nor a log.
    let mut first = None;
    if let Poll::Ready(outcome) = poll_once(work.as_mut()).await {
        match (outcome, said.try_recv()) {
            (Some(frame), Err(_)) => {
                return reply(StatusCode::OK, frame).map(|body| body.with_permit(permitted.permit));
            }
            (outcome, spoken) => {
                first = spoken.ok();
                work = Box::pin(std::future::ready(outcome));
            }
        }
    }
    let log = live.new_log();
    // Attached before the writer starts, so that the writer waits for this reader from the beginning.
    let _attached = log.attach();
    let (decide, mut decided) = oneshot::channel();
    tokio::spawn(drive(live.clone(), permitted, work, said, first, log.clone(), decide));
    // A reply that the client can resume becomes a stream after `STREAM_DELAY`.
    let opening = if takes_events && has_priming_events(live.session.version()) {
        match tokio::time::timeout(STREAM_DELAY, &mut decided).await {
            Ok(opening) => opening.ok(),
            Err(_) => {
                // From here on the answer goes to the log. An answer that was sent just before `close` is still
                // received here.
                decided.close();
                decided.try_recv().ok()
            }
        }
    } else {
        decided.await.ok()
    };
    match opening {
        Some(ReplyForm::Answer(frame, permit)) => {
            return reply(StatusCode::OK, frame).map(|body| body.with_permit(permit));
        }
        Some(ReplyForm::Failed) => {
            return unavailable(None, &busy("the reply cannot be stored at the moment"));
        }
        // The request was cancelled. A client that does not accept a stream gets an empty reply.
        None if !takes_events => return accepted(),
        Some(ReplyForm::Stream) | None => {}
    }
    match StreamReader::new(&live, log, None, closing).await {
        Ok(reader) => event_stream(account, |pen| reader.write_to(pen)),
        Err(error) => store_unavailable(error),
    }
}

/// The form of a reply.
enum ReplyForm {
    /// The request sent no notification before its answer, so the answer is the whole reply.
    Answer(Vec<u8>, Option<RequestPermit>),
    /// The stream has started.
    Stream,
    /// The log failed, so the client gets an error.
    Failed,
}

/// Runs the work of a request and writes its output to the log, with or without a reader.
async fn drive(
    live: Arc<LiveSession>,
    permitted: PermittedRequest,
    work: Work,
    said: mpsc::Receiver<OutboundItem>,
    first: Option<OutboundItem>,
    log: StreamLog,
    decide: oneshot::Sender<ReplyForm>,
) {
    // Dropped in every case, also on a panic: then readers stop waiting for more entries.
    let _writing = log.writer_guard();
    let mut decide = Some(decide);
    if let Err(error) = write_log(&live, permitted, work, said, first, &log, &mut decide).await {
        // The stream has no end that a client could reach by resuming, so it is removed.
        let _ = log.forget().await;
        tracing::error!(%error, "the events of a request could not be stored");
        if let Some(decide) = decide {
            let _ = decide.send(ReplyForm::Failed);
        }
    }
}

async fn write_log(
    live: &LiveSession,
    permitted: PermittedRequest,
    mut work: Work,
    mut said: mpsc::Receiver<OutboundItem>,
    first: Option<OutboundItem>,
    log: &StreamLog,
    decide: &mut Option<oneshot::Sender<ReplyForm>>,
) -> Result<()> {
    log.open().await?;
    let mut next = first;
    let limits = live.limits();
    let pause =
        (limits.session_idle.min(limits.kept_for) / 3).clamp(Duration::from_millis(10), MAX_RENEWAL_INTERVAL);
    let mut due = Instant::now() + pause;
    let mut elsewhere = RemoteAnswers::default();
    let answer = loop {
        if let Some(spoken) = next.take() {
            begin_stream(decide);
            if let OutboundItem::Question(frame) = &spoken {
                elsewhere.register_question(live, &frame.bytes).await?;
            }
            append_item(live, log, spoken).await?;
        }
        // A running request keeps its session alive. Checked in every iteration, so that constant output cannot delay
        // the renewal.
        if Instant::now() >= due {
            due = Instant::now() + pause;
            if let Err(error) = prolong(live, log).await {
                tracing::warn!(%error, "a session could not be prolonged");
            }
        }
        tokio::select! {
            biased;
            Some(spoken) = said.recv() => next = Some(spoken),
            answer = &mut work => break answer,
            () = elsewhere.receive(live) => {}
            () = tokio::time::sleep_until(due) => {}
        }
    };
    elsewhere.forget(live).await;
    // Tasks that the handler left running cannot send anything more.
    said.close();
    while let Ok(spoken) = said.try_recv() {
        begin_stream(decide);
        append_item(live, log, spoken).await?;
    }
    if !log.is_wanted() {
        // The client disconnected before it got an event id to resume with.
        return log.forget().await;
    }
    let PermittedRequest { id, permit } = permitted;
    let answer = match (answer, decide.take()) {
        // The reply may have become a stream in the meantime. Then `send` returns the answer.
        (Some(answer), Some(decide)) => match decide.send(ReplyForm::Answer(answer, permit)) {
            Ok(()) => return log.forget().await,
            Err(ReplyForm::Answer(answer, _permit)) => answer,
            Err(_) => Vec::new(),
        },
        (answer, _) => answer.unwrap_or_default(),
    };
    log.end(&answer, id.as_ref()).await?;
    // Failing to remove old streams does not affect this stream.
    if let Err(error) = live.keep_stream(log).await {
        tracing::warn!(%error, "an old stream could not be removed");
    }
    Ok(())
}

/// Renews the session and the log of a running request.
async fn prolong(live: &LiveSession, log: &StreamLog) -> Result<()> {
    log.prolong().await?;
    live.refresh().await.map(drop)
}

async fn append_item(live: &LiveSession, log: &StreamLog, spoken: OutboundItem) -> Result<()> {
    match spoken {
        OutboundItem::Frame(frame) => log.append_message(&frame.bytes).await,
        OutboundItem::Question(frame) => log.append_question(&frame.bytes).await,
        // A client that cannot resume its stream is not disconnected.
        OutboundItem::Release(retry) if has_priming_events(live.session.version()) => {
            log.release(retry).await
        }
        OutboundItem::Release(_) => Ok(()),
    }
}

fn begin_stream(decide: &mut Option<oneshot::Sender<ReplyForm>>) {
    if let Some(decide) = decide.take() {
        // If the receiver is gone, the client has disconnected and may reconnect.
        let _ = decide.send(ReplyForm::Stream);
    }
}
