//! One POST, one exchange: how does the stateless era answer over HTTP?
//!
//! The call runs in the task of the connection: no spawn, no channel. When the client closes the connection the
//! future is dropped with everything in it, and on this wire that is what cancelling means.

use ::http::{Response, StatusCode};
use toolway_protocol::Message;
use toolway_protocol::era::Envelope;
use toolway_protocol::http::status;

use super::{HttpBody, accepted, reply};
use crate::server::{Server, stateless};

pub(super) async fn post(
    server: &Server,
    message: Message,
    envelope: Option<Envelope>,
) -> Response<HttpBody> {
    let (Message::Request { id, method, params }, Some(envelope)) = (message, envelope) else {
        // Nothing in the protocol acts on a notification that is posted in this era.
        return accepted();
    };
    let (frame, error) = stateless::serve(server, &id, &method, &params, envelope).await;
    let status = error.map_or(200, status::of);
    reply(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), frame)
}
