//! How does the stateless era answer over HTTP? One POST is one exchange.
//!
//! The call runs in the task of the connection, without a spawn or a channel. Only a request whose handler may send
//! notifications before the response gets a queue. Once the handler sends the first notification, the call continues in
//! its own task. When the client closes the connection, the future of the call is dropped, which cancels the call.

use std::future::ready;

use ::http::{Response, StatusCode};
use toolway_protocol::era::Envelope;
use toolway_protocol::http::status;
use toolway_protocol::jsonrpc::{Code, Frame, Params};
use toolway_protocol::meta::Key;
use toolway_protocol::{Id, Message, Method, RpcError};

use super::endpoint::body::ResponseBody;
use super::endpoint::exchange::exchange;
use super::endpoint::reply::{accepted, error_reply, reply, unavailable};
use super::endpoint::request::{Endpoint, accepts_events};
use crate::ground::future::BoxFuture;
use crate::server::call::scope::Arrival;
use crate::server::stateless::{self, Received};

/// Answers a POST. Not an `async fn`: the future has only those parts of the message that the answer needs. It is boxed, so
/// that the future of a request is small until its body has been read, and so that programs that mount the service do not
/// compile it again.
pub(super) fn post(
    endpoint: &Endpoint,
    arrival: Box<Arrival>,
    message: Message,
    envelope: Option<Envelope>,
) -> BoxFuture<'_, Response<ResponseBody>> {
    match (message, envelope) {
        (Message::Request { id, method, params }, Some(envelope)) => {
            // Only a request that asked for progress, log messages or changes can get notifications before its response.
            let may_speak = params.meta_member(Key::ProgressToken).is_some()
                || envelope.log_level.is_some()
                || method == Method::Listen;
            let received = Received::new(arrival, &id, envelope, &params);
            Box::pin(answer(endpoint, received, id, method, params, may_speak))
        }
        // In this era the protocol defines no effect for a posted notification, but the application may handle it.
        (Message::Notification { method, params }, envelope) => Box::pin(async move {
            stateless::handle_notification(&endpoint.server, &method, &params, envelope, arrival).await;
            accepted()
        }),
        _ => Box::pin(ready(accepted())),
    }
}

async fn answer(
    endpoint: &Endpoint,
    received: Received,
    id: Id,
    method: Method,
    params: Params,
    may_speak: bool,
) -> Response<ResponseBody> {
    let server = &endpoint.server;
    if let Some(settling) = server.wait_for_sources() {
        settling.await;
    }
    let arrival = &*received.arrival;
    if let Err(error) = endpoint.check_param_headers(arrival, &method, &params, true) {
        return error_reply(StatusCode::BAD_REQUEST, Some(&id), &error);
    }
    if method == Method::Listen && !accepts_events(arrival) {
        let error = RpcError::invalid_request(
            "the Accept header must allow text/event-stream: changes are sent on a stream",
        );
        return error_reply(StatusCode::NOT_ACCEPTABLE, Some(&id), &error);
    }
    let permit = match endpoint.permit(&method, arrival.account.as_ref()) {
        Ok(permit) => permit,
        Err(error) => return unavailable(Some(&id), &error),
    };
    if !may_speak || !accepts_events(arrival) {
        let mut frame = Frame::default();
        let error = stateless::serve(server, &id, &method, &params, received, &mut frame).await;
        return reply(status_of(&method, error), frame).map(|body| body.with_permit(permit));
    }
    // Boxed: most requests ask for no notifications.
    let (server, max_message) = (server.clone(), server.max_message());
    let Received { arrival, refusal } = received;
    Box::pin(exchange(Some(id.clone()), permit, arrival, max_message, |arrival| async move {
        let (received, mut frame) = (Received { arrival, refusal }, Frame::default());
        let error = stateless::serve(&server, &id, &method, &params, received, &mut frame).await;
        (frame, status_of(&method, error))
    }))
    .await
}

/// Returns the HTTP status for the outcome of a call.
fn status_of(method: &Method, error: Option<Code>) -> StatusCode {
    if (method, error) == (&Method::Listen, Some(Code::INTERNAL_ERROR)) {
        // For `subscriptions/listen`, an internal error always means that too many streams are open.
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    StatusCode::from_u16(error.map_or(200, status::for_code)).unwrap_or(StatusCode::OK)
}
