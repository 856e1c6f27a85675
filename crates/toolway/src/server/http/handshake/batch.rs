//! How are several messages in one POST answered together?

use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use ::http::{Response, StatusCode};
use toolway_protocol::era::{Claim, Delivery, batch, classify};
use toolway_protocol::http::header::MirroredHeaders;
use toolway_protocol::jsonrpc::{Frame, Rejection, write_error};
use toolway_protocol::{Era, Message, ProtocolVersion, RpcError};

use super::super::endpoint::body::ResponseBody;
use super::super::endpoint::exchange::exchange;
use super::super::endpoint::permit::RequestPermit;
use super::super::endpoint::reply::{accepted, error_reply_without_id, reply};
use super::super::endpoint::request::mirrored_headers;
use super::call::{PermittedRequest, SessionRun, Work, needs_claim, update_record};
use super::context::{AdmittedRequest, store_unavailable};
use super::requests::{changes_record, deliver_answer, handle_notification};
use crate::server::call::scope::Arrival;
use crate::server::handshake::batch::BatchAnswers;
use crate::server::handshake::{self, Session};

type Messages = Vec<Result<Message, Rejection>>;

pub(crate) async fn post(visit: AdmittedRequest<'_>, messages: Messages) -> Response<ResponseBody> {
    if !visit.server().serves(Era::Handshake) {
        return error_reply_without_id(StatusCode::BAD_REQUEST, &batch::unsupported_error());
    }
    let version = match version(&messages, &mirrored_headers(&visit.arrival)) {
        Ok(version) => version,
        Err(error) => return error_reply_without_id(StatusCode::BAD_REQUEST, &error),
    };
    if visit.handshake.is_sessionless {
        return serve_without_session(visit, messages, version).await;
    }
    let live = match visit.find_session(None).await {
        Ok(live) => live,
        Err(refusal) => return refusal,
    };
    let messages = match batch::check(live.session.version(), messages) {
        Ok(messages) => messages,
        Err(error) => return error_reply_without_id(StatusCode::BAD_REQUEST, &error),
    };
    let mut together = BatchFuture::new(&messages, visit.server().max_message());
    let mut runs = Vec::new();
    let account = visit.account(Some(&live));
    let mut permitted = PermittedRequest::new(None, true);
    for (index, message) in messages.into_iter().enumerate() {
        match message {
            Ok(Message::Request { id, method, params }) if changes_record(&method) => {
                match update_record(&visit, &live, &id, &method, &params).await {
                    Ok(frame) => together.answers.set_answer(index, Some(frame)),
                    Err(refusal) => return refusal,
                }
            }
            Ok(Message::Request { id, method, params }) => {
                let begun = live.begin_request(&id).and_then(|turn| {
                    let permit = visit.endpoint.permit(&method, account.as_ref())?;
                    Ok((turn, permit))
                });
                let needs_claim = begun.is_ok() && needs_claim(&visit, &method, &params);
                let claim = match live.claim(needs_claim.then_some(&id)).await {
                    Ok(claim) => claim,
                    Err(error) => return store_unavailable(error),
                };
                match (begun, claim) {
                    (Ok((turn, more)), Ok(claim)) => {
                        RequestPermit::add(&mut permitted.permit, more);
                        permitted.add(&id, claim);
                        runs.push((index, turn, id, method, params));
                    }
                    (Err(error), _) | (Ok(_), Err(error)) => {
                        together.refuse(index, Rejection { id: Some(id), error });
                    }
                }
            }
            Ok(Message::Notification { method, params }) => {
                if let Err(error) = handle_notification(&visit, &live, method, params).await {
                    return store_unavailable(error);
                }
            }
            Ok(Message::Response { id, outcome }) => {
                if let Err(error) = deliver_answer(&live, id.as_ref(), outcome).await {
                    return store_unavailable(error);
                }
            }
            Err(rejected) if rejected.needs_reply() => together.refuse(index, rejected),
            Err(_) => {}
        }
    }
    if runs.is_empty() {
        return finished_reply(together);
    }
    let server = visit.server().clone();
    let session = live.session.clone();
    let (run, arrival) = SessionRun::new(visit, live, permitted);
    for (index, turn, id, method, params) in runs {
        let (server, session, arrival) = (server.clone(), session.clone(), arrival.clone());
        together.running.push((
            index,
            Box::pin(async move {
                let work = pin!(handshake::serve(&server, &session, &id, &method, &params, arrival));
                turn.run(work).await
            }),
        ));
    }
    // The queue ends when the requests have ended.
    drop(arrival);
    run.reply(Box::pin(together)).await
}

/// Returns the revision that the `MCP-Protocol-Version` header names. Fails if a message is not of the handshake era.
fn version(messages: &Messages, headers: &MirroredHeaders<'_>) -> Result<Option<ProtocolVersion>, RpcError> {
    let mut version = None;
    for message in messages.iter().flatten() {
        match classify(message, Delivery::Http(headers)) {
            Ok(Claim::Handshake(named)) => version = named,
            _ => return Err(batch::unsupported_error()),
        }
    }
    Ok(version)
}

/// Answers a batch without a session.
async fn serve_without_session(
    visit: AdmittedRequest<'_>,
    messages: Messages,
    version: Option<ProtocolVersion>,
) -> Response<ResponseBody> {
    let session = visit.session_without_handshake(version);
    let messages = match batch::check(session.version(), messages) {
        Ok(messages) => messages,
        Err(error) => return error_reply_without_id(StatusCode::BAD_REQUEST, &error),
    };
    let mut together = BatchFuture::new(&messages, visit.server().max_message());
    let mut permit = None;
    let mut runs = Vec::new();
    for (index, message) in messages.into_iter().enumerate() {
        match message {
            Ok(Message::Request { id, method, params }) => {
                match visit.endpoint.permit(&method, visit.arrival.account.as_ref()) {
                    Ok(more) => {
                        RequestPermit::add(&mut permit, more);
                        runs.push((index, id, method, params));
                    }
                    Err(error) => together.refuse(index, Rejection { id: Some(id), error }),
                }
            }
            Ok(Message::Notification { method, params }) => {
                handshake::handle_notification(
                    visit.server(),
                    &session,
                    &method,
                    &params,
                    visit.arrival.clone(),
                )
                .await;
            }
            Err(rejected) if rejected.needs_reply() => together.refuse(index, rejected),
            Ok(Message::Response { .. }) | Err(_) => {}
        }
    }
    if runs.is_empty() {
        return finished_reply(together);
    }
    let server = visit.server().clone();
    let max_message = server.max_message();
    let work = move |arrival: Box<Arrival>| async move {
        for (index, id, method, params) in runs {
            let (server, session, arrival): (_, Session, _) =
                (server.clone(), session.clone(), arrival.clone());
            together.running.push((
                index,
                Box::pin(async move {
                    Some(handshake::serve(&server, &session, &id, &method, &params, arrival).await)
                }),
            ));
        }
        drop(arrival);
        (together.await.unwrap_or_default(), StatusCode::OK)
    };
    if visit.accepts_events() {
        return exchange(None, permit, visit.arrival, max_message, work).await;
    }
    let (frame, status) = work(visit.arrival).await;
    reply(status, frame).map(|body| body.with_permit(permit))
}

fn finished_reply(mut together: BatchFuture) -> Response<ResponseBody> {
    match together.answers.take_frame(together.max_message) {
        Some(frame) => reply(StatusCode::OK, frame),
        None => accepted(),
    }
}

/// A future that runs the requests of a batch concurrently, and returns their answers as one frame.
struct BatchFuture {
    answers: BatchAnswers,
    running: Vec<(usize, Work)>,
    max_message: usize,
}

impl BatchFuture {
    fn new(messages: &Messages, max_message: usize) -> Self {
        Self { answers: BatchAnswers::new(messages), running: Vec::new(), max_message }
    }

    fn refuse(&mut self, index: usize, rejected: Rejection) {
        let mut frame = Vec::new();
        write_error(&mut frame, rejected.id.as_ref(), &rejected.error);
        self.answers.set_answer(index, Some(frame));
    }
}

impl Future for BatchFuture {
    type Output = Option<Frame>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { answers: gathered, running, max_message } = &mut *self;
        running.retain_mut(|(index, work)| match work.as_mut().poll(cx) {
            Poll::Ready(answer) => {
                gathered.set_answer(*index, answer.map(Frame::into_vec));
                false
            }
            Poll::Pending => true,
        });
        if running.is_empty() {
            Poll::Ready(gathered.take_frame(*max_message).map(Frame::from))
        } else {
            Poll::Pending
        }
    }
}
