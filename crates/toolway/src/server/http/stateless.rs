//! How does the stateless era answer over HTTP? One POST is one exchange.
//!
//! The call runs in the task of the connection, without a spawn or a channel. Only a request whose handler may send
//! notifications before the response gets a queue. Once the handler sends the first notification, the call continues in
//! its own task. When the client closes the connection, the future of the call is dropped, which cancels the call.

use ::http::{Response, StatusCode};
use toolway_protocol::era::Envelope;
use toolway_protocol::http::status;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::meta::Key;
use toolway_protocol::{Message, Method, RpcError};

use super::endpoint::body::ResponseBody;
use super::endpoint::exchange::exchange;
use super::endpoint::reply::{accepted, error_reply, reply, unavailable};
use super::endpoint::request::{Endpoint, accepts_events};
use crate::server::call::scope::Arrival;
use crate::server::stateless;

pub(super) async fn post(
    endpoint: &Endpoint,
    arrival: Box<Arrival>,
    message: Message,
    envelope: Option<Envelope>,
) -> Response<ResponseBody> {
    let server = &endpoint.server;
    let (id, method, params, envelope) = match (message, envelope) {
        (Message::Request { id, method, params }, Some(envelope)) => (id, method, params, envelope),
        (Message::Notification { method, params }, envelope) => {
            // In this era the protocol defines no effect for a posted notification, but the application may handle it.
            stateless::handle_notification(server, &method, &params, envelope, arrival).await;
            return accepted();
        }
        _ => return accepted(),
    };
    if let Some(settling) = server.wait_for_sources() {
        settling.await;
    }
    if let Err(error) = endpoint.check_param_headers(&arrival, &method, &params, true) {
        return error_reply(StatusCode::BAD_REQUEST, Some(&id), &error);
    }
    if method == Method::Listen && !accepts_events(&arrival) {
        let error = RpcError::invalid_request(
            "the Accept header must allow text/event-stream: changes are sent on a stream",
        );
        return error_reply(StatusCode::NOT_ACCEPTABLE, Some(&id), &error);
    }
    let permit = match endpoint.permit(&method, arrival.account.as_ref()) {
        Ok(permit) => permit,
        Err(error) => return unavailable(Some(&id), &error),
    };
    // Only a request that asked for progress, log messages or changes can get notifications before its response.
    let may_speak = params.meta_member(Key::ProgressToken).is_some()
        || envelope.log_level.is_some()
        || method == Method::Listen;
    if !may_speak || !accepts_events(&arrival) {
        let mut frame = Vec::new();
        let error = stateless::serve(server, &id, &method, &params, envelope, arrival, &mut frame).await;
        return reply(status_of(&method, error), frame).map(|body| body.with_permit(permit));
    }
    let server = server.clone();
    exchange(Some(id.clone()), permit, arrival, server.max_message(), |arrival| async move {
        let mut frame = Vec::new();
        let error = stateless::serve(&server, &id, &method, &params, envelope, arrival, &mut frame).await;
        (frame, status_of(&method, error))
    })
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
