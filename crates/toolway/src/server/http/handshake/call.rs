//! How is a request of a conversation answered?
//!
//! A closed connection cancels nothing here: the client may come back. So the work of a request that does not finish at once is a
//! task of its own that writes a log, and a reply merely reads the log.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::http::{Response, StatusCode};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior};
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::{Id, Message, Method, ProtocolVersion};

use super::super::body::{HttpBody, event_stream};
use super::super::exchange::exchange;
use super::super::{Visit, accepted, failed, reply, unavailable};
use super::live::Live;
use super::stream::{Log, Reader, pause};
use super::{asked_nothing, no_store, unopened};
use crate::error::Result;
use crate::outbound::{Outbound, Said};
use crate::server::context::Arrival;
use crate::server::failure::busy;
use crate::server::handshake;

/// How many notifications of one request may wait to be written down.
const MAX_SAID: usize = 256;
/// How long a silent request keeps its client waiting for one message before the reply becomes a stream, which can be come
/// back to.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a change of what is kept is tried.
const TRIES: usize = 8;

/// What a request does; nothing comes of one that is cancelled.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// A message that belongs to no conversation stands alone, which the protocol allows.
pub(super) async fn alone(
    visit: Visit<'_>,
    message: Message,
    version: Option<ProtocolVersion>,
) -> Response<HttpBody> {
    let session = unopened(version);
    let server = visit.settings.server.clone();
    match message {
        Message::Request { id, method, params } => {
            let place = match visit.place(&method) {
                Ok(place) => place,
                Err(error) => return unavailable(Some(&id), &error),
            };
            let takes_events = visit.takes_events();
            let work = |arrival: Arrival| async move {
                let _place = place;
                (handshake::serve(&server, &session, &id, &method, &params, arrival).await, StatusCode::OK)
            };
            if takes_events {
                return exchange(visit.arrival(), work).await;
            }
            let (frame, status) = work(visit.arrival()).await;
            reply(status, frame)
        }
        Message::Notification { method, params } => {
            handshake::hear(&server, &session, &method, &params, visit.arrival()).await;
            accepted()
        }
        Message::Response { .. } => asked_nothing(),
    }
}

/// Answers a request that changes what is kept about its conversation. Another server may change it at the same time; then it is
/// done again on top of that.
pub(super) async fn changed(
    visit: &Visit<'_>,
    live: &Arc<Live>,
    id: &Id,
    method: &Method,
    params: &Params,
) -> Result<Vec<u8>, Response<HttpBody>> {
    let server = &visit.settings.server;
    for _ in 0..TRIES {
        let frame = handshake::serve(server, &live.session, id, method, params, Arrival::default()).await;
        if live.save().await.map_err(|error| no_store(&error))? {
            return Ok(frame);
        }
        live.refresh().await.map_err(|error| no_store(&error))?;
    }
    Err(unavailable(Some(id), &busy("too many changes of this session come at once")))
}

/// Answers a request of a conversation.
pub(super) async fn call(
    visit: Visit<'_>,
    live: Arc<Live>,
    id: Id,
    method: Method,
    params: Params,
) -> Response<HttpBody> {
    let turn = match live.begin(&id) {
        Ok(turn) => turn,
        Err(error) => return failed(StatusCode::OK, Some(&id), &error),
    };
    let place = match visit.place(&method) {
        Ok(place) => place,
        Err(error) => return unavailable(Some(&id), &error),
    };
    let server = visit.settings.server.clone();
    let session = live.session.clone();
    run(visit, live, |arrival| {
        Box::pin(turn.take(async move {
            let _place = place;
            handshake::serve(&server, &session, &id, &method, &params, arrival).await
        }))
    })
    .await
}

/// Runs the work of one request, or of several that came together.
pub(super) async fn run(
    visit: Visit<'_>,
    live: Arc<Live>,
    start: impl FnOnce(Arrival) -> Work,
) -> Response<HttpBody> {
    let takes_events = visit.takes_events();
    let closing = visit.state.closing.clone();
    let mut arrival = visit.arrival();
    let (sender, mut said) = mpsc::channel(MAX_SAID);
    if takes_events {
        arrival.outbound = Outbound::to(sender);
    }
    let mut work = start(arrival);
    // Most requests are done at once, and cost no task and no log.
    let mut first = None;
    if let Poll::Ready(outcome) = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        match (outcome, said.try_recv()) {
            (Some(frame), Err(_)) => return reply(StatusCode::OK, frame),
            (outcome, spoken) => {
                first = spoken.ok();
                work = Box::pin(std::future::ready(outcome));
            }
        }
    }
    let log = live.new_log();
    live.opened(&log);
    let (decide, mut decided) = oneshot::channel();
    tokio::spawn(drive(live.clone(), work, said, first, log.clone(), decide));
    // A reply that can be come back to becomes a stream if it takes long.
    let opening = if takes_events && live.session.has_primers() {
        match tokio::time::timeout(PATIENCE, &mut decided).await {
            Ok(opening) => opening.ok(),
            Err(_) => {
                // From here on the answer goes to the log; one that was given a moment ago is still taken.
                decided.close();
                decided.try_recv().ok()
            }
        }
    } else {
        decided.await.ok()
    };
    if let Some(Opening::Answer(frame)) = opening {
        return reply(StatusCode::OK, frame);
    }
    match Reader::new(&live, log, None, closing).await {
        Ok(reader) => event_stream(|pen| reader.write_to(pen)),
        Err(error) => no_store(&error),
    }
}

/// How a reply begins.
enum Opening {
    /// Nothing was said before the answer: it is all there is.
    Answer(Vec<u8>),
    /// The stream has begun.
    Stream,
}

/// Does the work of a request and writes down what it says. Runs on whether anybody reads or not.
async fn drive(
    live: Arc<Live>,
    work: Work,
    said: mpsc::Receiver<Said>,
    first: Option<Said>,
    log: Log,
    decide: oneshot::Sender<Opening>,
) {
    if let Err(error) = write(&live, work, said, first, &log, decide).await {
        tracing::error!(%error, "the events of a request could not be written down");
    }
    live.closed(&log);
}

async fn write(
    live: &Live,
    mut work: Work,
    mut said: mpsc::Receiver<Said>,
    first: Option<Said>,
    log: &Log,
    decide: oneshot::Sender<Opening>,
) -> Result<()> {
    let mut decide = Some(decide);
    log.open().await?;
    let mut next = first;
    // A conversation in which something runs is not silent, and its stream is in use, whether it speaks and is read or not.
    let pause = pause(live.limits());
    let mut alive = tokio::time::interval_at(Instant::now() + pause, pause);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let answer = loop {
        if let Some(spoken) = next.take() {
            begin(&mut decide);
            say(live, log, spoken).await?;
        }
        tokio::select! {
            biased;
            _ = alive.tick() => {
                live.refresh().await?;
                log.prolong().await?;
            }
            Some(spoken) = said.recv() => next = Some(spoken),
            answer = &mut work => break answer,
        }
    };
    while let Ok(spoken) = said.try_recv() {
        begin(&mut decide);
        say(live, log, spoken).await?;
    }
    let answer = match (answer, decide.take()) {
        // The reply may have become a stream while nobody looked: then the answer comes back.
        (Some(answer), Some(decide)) => match decide.send(Opening::Answer(answer)) {
            Ok(()) => return log.forget().await,
            Err(Opening::Answer(answer)) => answer,
            Err(Opening::Stream) => Vec::new(),
        },
        (answer, _) => answer.unwrap_or_default(),
    };
    log.end(&answer).await?;
    live.keep(log).await
}

async fn say(live: &Live, log: &Log, spoken: Said) -> Result<()> {
    match spoken {
        Said::Frame(frame) => log.say(&frame).await,
        // Whoever cannot come back is not sent away.
        Said::Release(retry) if live.session.has_primers() => log.release(retry).await,
        Said::Release(_) => Ok(()),
    }
}

fn begin(decide: &mut Option<oneshot::Sender<Opening>>) {
    if let Some(decide) = decide.take() {
        // Nobody waits for the reply: the client has left, and may come back.
        let _ = decide.send(Opening::Stream);
    }
}
