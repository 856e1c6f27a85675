//! How are several messages in one POST answered together?

use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use ::http::{Response, StatusCode};
use toolway_protocol::era::{Claim, Door, batch, classify};
use toolway_protocol::http::header::MirroredHeaders;
use toolway_protocol::jsonrpc::{Rejected, write_error};
use toolway_protocol::{Era, Message, ProtocolVersion, RpcError};

use super::super::door::body::HttpBody;
use super::super::door::endpoint::mirrored_headers;
use super::super::door::exchange::exchange;
use super::super::door::reply::{accepted, refused, reply};
use super::call::{Work, changed, run};
use super::requests::{answered, changes_record, hear};
use super::visit::{Visit, no_store};
use crate::server::call::scope::Arrival;
use crate::server::handshake::batch::Gathered;
use crate::server::handshake::{self, Session};

type Messages = Vec<Result<Message, Rejected>>;

pub(crate) async fn post(visit: Visit<'_>, messages: Messages) -> Response<HttpBody> {
    if !visit.server().serves(Era::Handshake) {
        return refused(StatusCode::BAD_REQUEST, &batch::refused());
    }
    let version = match version(&messages, &mirrored_headers(&visit.arrival)) {
        Ok(version) => version,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error),
    };
    if visit.era.is_sessionless {
        return alone(visit, messages, version).await;
    }
    let live = match visit.find(None).await {
        Ok(live) => live,
        Err(refusal) => return refusal,
    };
    let messages = match batch::judge(live.session.version(), messages) {
        Ok(messages) => messages,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error),
    };
    let mut together = Together::new(&messages, visit.server().max_message());
    let mut runs = Vec::new();
    let mut places = Vec::new();
    for (index, message) in messages.into_iter().enumerate() {
        match message {
            Ok(Message::Request { id, method, params }) if changes_record(&method) => {
                match changed(&visit, &live, &id, &method, &params).await {
                    Ok(frame) => together.gathered.settle(index, Some(frame)),
                    Err(refusal) => return refusal,
                }
            }
            Ok(Message::Request { id, method, params }) => {
                match live.begin(&id).and_then(|turn| Ok((turn, visit.endpoint.permit(&method)?))) {
                    Ok((turn, place)) => {
                        places.push(place);
                        runs.push((index, turn, id, method, params));
                    }
                    Err(error) => together.refuse(index, Rejected { id: Some(id), error }),
                }
            }
            Ok(Message::Notification { method, params }) => {
                if let Err(error) = hear(&visit, &live, method, params).await {
                    return no_store(error);
                }
            }
            Ok(Message::Response { id, outcome }) => {
                if let Err(error) = answered(&live, id.as_ref(), outcome).await {
                    return no_store(error);
                }
            }
            Err(rejected) if rejected.wants_answer() => together.refuse(index, rejected),
            Err(_) => {}
        }
    }
    if runs.is_empty() {
        return poll_once(together);
    }
    let server = visit.server().clone();
    let session = live.session.clone();
    run(visit, live, places, move |arrival| {
        for (index, turn, id, method, params) in runs {
            let (server, session, arrival) = (server.clone(), session.clone(), arrival.clone());
            together.running.push((
                index,
                Box::pin(async move {
                    let work = pin!(handshake::serve(&server, &session, &id, &method, &params, arrival));
                    turn.take(work).await
                }),
            ));
        }
        Box::pin(together)
    })
    .await
}

/// Returns the revision that the `MCP-Protocol-Version` header names. Fails if a message is not of the handshake era.
fn version(messages: &Messages, headers: &MirroredHeaders<'_>) -> Result<Option<ProtocolVersion>, RpcError> {
    let mut version = None;
    for message in messages.iter().flatten() {
        match classify(message, Door::Http(headers)) {
            Ok(Claim::Handshake(named)) => version = named,
            _ => return Err(batch::refused()),
        }
    }
    Ok(version)
}

/// Answers a batch without a session.
async fn alone(visit: Visit<'_>, messages: Messages, version: Option<ProtocolVersion>) -> Response<HttpBody> {
    let session = visit.unopened(version);
    let messages = match batch::judge(session.version(), messages) {
        Ok(messages) => messages,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error),
    };
    let mut together = Together::new(&messages, visit.server().max_message());
    let mut runs = Vec::new();
    for (index, message) in messages.into_iter().enumerate() {
        match message {
            Ok(Message::Request { id, method, params }) => match visit.endpoint.permit(&method) {
                Ok(place) => runs.push((index, place, id, method, params)),
                Err(error) => together.refuse(index, Rejected { id: Some(id), error }),
            },
            Ok(Message::Notification { method, params }) => {
                handshake::hear(visit.server(), &session, &method, &params, visit.arrival.clone()).await;
            }
            Err(rejected) if rejected.wants_answer() => together.refuse(index, rejected),
            Ok(Message::Response { .. }) | Err(_) => {}
        }
    }
    if runs.is_empty() {
        return poll_once(together);
    }
    let server = visit.server().clone();
    let max_message = server.max_message();
    let work = move |arrival: Box<Arrival>| async move {
        for (index, place, id, method, params) in runs {
            let (server, session, arrival): (_, Session, _) =
                (server.clone(), session.clone(), arrival.clone());
            together.running.push((
                index,
                Box::pin(async move {
                    let _place = place;
                    Some(handshake::serve(&server, &session, &id, &method, &params, arrival).await)
                }),
            ));
        }
        drop(arrival);
        (together.await.unwrap_or_default(), StatusCode::OK)
    };
    if visit.takes_events() {
        return exchange(visit.arrival, max_message, work).await;
    }
    let (frame, status) = work(visit.arrival).await;
    reply(status, frame)
}

fn poll_once(mut together: Together) -> Response<HttpBody> {
    match together.gathered.take_frame(together.max_message) {
        Some(frame) => reply(StatusCode::OK, frame),
        None => accepted(),
    }
}

/// A future that runs the requests of a batch concurrently, and returns their answers as one frame.
struct Together {
    gathered: Gathered,
    running: Vec<(usize, Work)>,
    max_message: usize,
}

impl Together {
    fn new(messages: &Messages, max_message: usize) -> Self {
        Self { gathered: Gathered::new(messages), running: Vec::new(), max_message }
    }

    fn refuse(&mut self, index: usize, rejected: Rejected) {
        let mut frame = Vec::new();
        write_error(&mut frame, rejected.id.as_ref(), &rejected.error);
        self.gathered.settle(index, Some(frame));
    }
}

impl Future for Together {
    type Output = Option<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { gathered, running, max_message } = &mut *self;
        running.retain_mut(|(index, work)| match work.as_mut().poll(cx) {
            Poll::Ready(answer) => {
                gathered.settle(*index, answer);
                false
            }
            Poll::Pending => true,
        });
        if running.is_empty() { Poll::Ready(gathered.take_frame(*max_message)) } else { Poll::Pending }
    }
}
