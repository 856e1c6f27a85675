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
use toolway_protocol::era::handshake::has_primers;
use toolway_protocol::jsonrpc::{Code, Params};
use toolway_protocol::{Id, Message, Method, ProtocolVersion, RpcError};

use super::super::door::body::{HttpBody, event_stream};
use super::super::door::exchange::exchange;
use super::super::door::reply::{accepted, failed, refused, reply, unavailable};
use super::elsewhere::Elsewhere;
use super::live::Live;
use super::stream::{Log, Reader};
use super::visit::{Visit, no_store};
use crate::ground::error::Result;
use crate::ground::outbound::{Outbound, Said};
use crate::ground::poll_once::poll_once;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::handshake;

/// How often the server tries to save a change of a session's record.
pub(super) const TRIES: usize = 8;
/// How many notifications of one request may wait to be written to the log.
const MAX_SAID: usize = 256;
/// How long the reply to a request is held back while the request has no output. Then the reply becomes a stream, which
/// the client can resume.
const PATIENCE: Duration = Duration::from_millis(500);
/// The longest interval between two renewals of a session in which a request runs.
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// The future of a request. Returns `None` if the request is cancelled.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// Answers a message without a session, which the protocol allows.
pub(super) async fn alone(
    visit: Visit<'_>,
    message: Message,
    version: Option<ProtocolVersion>,
) -> Response<HttpBody> {
    let server = visit.server().clone();
    let session = visit.unopened(version);
    match message {
        Message::Request { id, method, params } => {
            let place = match visit.endpoint.permit(&method) {
                Ok(place) => place,
                Err(error) => return unavailable(Some(&id), &error),
            };
            let takes_events = visit.takes_events();
            let max_message = server.max_message();
            let work = |arrival: Box<Arrival>| async move {
                let _place = place;
                (handshake::serve(&server, &session, &id, &method, &params, arrival).await, StatusCode::OK)
            };
            if takes_events {
                return exchange(visit.arrival, max_message, work).await;
            }
            let (frame, status) = work(visit.arrival).await;
            reply(status, frame)
        }
        Message::Notification { method, params } => {
            handshake::hear(&server, &session, &method, &params, visit.arrival).await;
            accepted()
        }
        Message::Response { .. } => {
            let error = RpcError::invalid_request("the response does not belong to a request of this server");
            refused(StatusCode::BAD_REQUEST, &error)
        }
    }
}

/// Answers a request that changes the stored record of its session. If another server changes the record at the same
/// time, the change is applied again to the new record.
pub(super) async fn changed(
    visit: &Visit<'_>,
    live: &Arc<Live>,
    id: &Id,
    method: &Method,
    params: &Params,
) -> Result<Vec<u8>, Response<HttpBody>> {
    let server = visit.server();
    for _ in 0..TRIES {
        let before = live.applied();
        let frame = handshake::serve(server, &live.session, id, method, params, Box::default()).await;
        let is_saved = live.save().await.map_err(no_store)?;
        if is_saved && live.applied() == before {
            return Ok(frame);
        }
        live.refresh().await.map_err(no_store)?;
    }
    Err(unavailable(Some(id), &busy("too many changes of this session come at once")))
}

/// Answers a request of a session.
pub(super) async fn call(
    visit: Visit<'_>,
    live: Arc<Live>,
    id: Id,
    method: Method,
    params: Params,
) -> Response<HttpBody> {
    let turn = match live.begin(&id) {
        Ok(turn) => turn,
        Err(error) if error.code == Code::INTERNAL_ERROR => return unavailable(Some(&id), &error),
        Err(error) => return failed(StatusCode::OK, Some(&id), &error),
    };
    let place = match visit.endpoint.permit(&method) {
        Ok(place) => place,
        Err(error) => return unavailable(Some(&id), &error),
    };
    let server = visit.server().clone();
    let session = live.session.clone();
    run(visit, live, place, |arrival| {
        Box::pin(async move {
            let work = pin!(handshake::serve(&server, &session, &id, &method, &params, arrival));
            turn.take(work).await
        })
    })
    .await
}

/// Runs the work of one request, or of a batch. The permits in `places` are held until the output is written to the
/// log; a server that shuts down waits for these permits.
pub(super) async fn run(
    visit: Visit<'_>,
    live: Arc<Live>,
    places: impl Send + 'static,
    start: impl FnOnce(Box<Arrival>) -> Work,
) -> Response<HttpBody> {
    let takes_events = visit.takes_events();
    let closing = visit.endpoint.closing().clone();
    let max_message = visit.server().max_message();
    let mut arrival = visit.arrival;
    arrival.memory = Some(live.memory());
    let (sender, mut said) = mpsc::channel(MAX_SAID);
    if takes_events {
        arrival.outbound = Outbound::to(sender, max_message);
    }
    let mut work = start(arrival);
    // Most requests finish in the first poll, and need neither a task nor a log.
    let mut first = None;
    if let Poll::Ready(outcome) = poll_once(work.as_mut()).await {
        match (outcome, said.try_recv()) {
            (Some(frame), Err(_)) => return reply(StatusCode::OK, frame),
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
    let driving = drive(live.clone(), work, said, first, log.clone(), decide);
    tokio::spawn(async move {
        driving.await;
        drop(places);
    });
    // A reply that the client can resume becomes a stream after `PATIENCE`.
    let opening = if takes_events && has_primers(live.session.version()) {
        match tokio::time::timeout(PATIENCE, &mut decided).await {
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
        Some(Opening::Answer(frame)) => return reply(StatusCode::OK, frame),
        Some(Opening::Failed) => return unavailable(None, &busy("the reply cannot be kept now")),
        // The request was cancelled. A client that does not accept a stream gets an empty reply.
        None if !takes_events => return accepted(),
        Some(Opening::Stream) | None => {}
    }
    match Reader::new(&live, log, None, closing).await {
        Ok(reader) => event_stream(|pen| reader.write_to(pen)),
        Err(error) => no_store(error),
    }
}

/// The form of a reply.
enum Opening {
    /// The request sent no notification before its answer, so the answer is the whole reply.
    Answer(Vec<u8>),
    /// The stream has started.
    Stream,
    /// The log failed, so the client gets an error.
    Failed,
}

/// Runs the work of a request and writes its output to the log, with or without a reader.
async fn drive(
    live: Arc<Live>,
    work: Work,
    said: mpsc::Receiver<Said>,
    first: Option<Said>,
    log: Log,
    decide: oneshot::Sender<Opening>,
) {
    // Dropped in every case, also on a panic: then readers stop waiting for more entries.
    let _writing = log.writing();
    let mut decide = Some(decide);
    if let Err(error) = write(&live, work, said, first, &log, &mut decide).await {
        // The stream has no end that a client could reach by resuming, so it is removed.
        let _ = log.forget().await;
        tracing::error!(%error, "the events of a request could not be written down");
        if let Some(decide) = decide {
            let _ = decide.send(Opening::Failed);
        }
    }
}

async fn write(
    live: &Live,
    mut work: Work,
    mut said: mpsc::Receiver<Said>,
    first: Option<Said>,
    log: &Log,
    decide: &mut Option<oneshot::Sender<Opening>>,
) -> Result<()> {
    log.open().await?;
    let mut next = first;
    let limits = live.limits();
    let pause = (limits.session_idle.min(limits.kept_for) / 3).clamp(Duration::from_millis(10), LONGEST);
    let mut due = Instant::now() + pause;
    let mut elsewhere = Elsewhere::default();
    let answer = loop {
        if let Some(spoken) = next.take() {
            begin(decide);
            if let Said::Question(frame) = &spoken {
                elsewhere.expect(live, frame).await?;
            }
            say(live, log, spoken).await?;
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
            () = elsewhere.take(live) => {}
            () = tokio::time::sleep_until(due) => {}
        }
    };
    elsewhere.forget(live).await;
    // Tasks that the handler left running cannot send anything more.
    said.close();
    while let Ok(spoken) = said.try_recv() {
        begin(decide);
        say(live, log, spoken).await?;
    }
    if !log.is_wanted() {
        // The client disconnected before it got an event id to resume with.
        return log.forget().await;
    }
    let answer = match (answer, decide.take()) {
        // The reply may have become a stream in the meantime. Then `send` returns the answer.
        (Some(answer), Some(decide)) => match decide.send(Opening::Answer(answer)) {
            Ok(()) => return log.forget().await,
            Err(Opening::Answer(answer)) => answer,
            Err(_) => Vec::new(),
        },
        (answer, _) => answer.unwrap_or_default(),
    };
    log.end(&answer).await?;
    // Failing to remove old streams does not affect this stream.
    if let Err(error) = live.keep(log).await {
        tracing::warn!(%error, "an old stream could not be forgotten");
    }
    Ok(())
}

/// Renews the session and the log of a running request.
async fn prolong(live: &Live, log: &Log) -> Result<()> {
    log.prolong().await?;
    live.refresh().await.map(drop)
}

async fn say(live: &Live, log: &Log, spoken: Said) -> Result<()> {
    match spoken {
        Said::Frame(frame) => log.say(&frame).await,
        Said::Question(frame) => log.ask(&frame).await,
        // A client that cannot resume its stream is not disconnected.
        Said::Release(retry) if has_primers(live.session.version()) => log.release(retry).await,
        Said::Release(_) => Ok(()),
    }
}

fn begin(decide: &mut Option<oneshot::Sender<Opening>>) {
    if let Some(decide) = decide.take() {
        // If the receiver is gone, the client has disconnected and may reconnect.
        let _ = decide.send(Opening::Stream);
    }
}
