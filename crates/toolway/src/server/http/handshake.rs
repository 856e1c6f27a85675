//! How does the handshake era answer a POST? Without sessions: each request stands alone and says in a header
//! which revision was negotiated, which the protocol allows.

use ::http::{Response, StatusCode};
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::{Message, Method, ProtocolVersion, RpcError};

use super::exchange::exchange;
use super::{HttpBody, accepted, failed, refused, reply};
use crate::server::Server;
use crate::server::context::Arrival;
use crate::server::handshake::{self, Session};

pub(super) async fn post(
    server: &Server,
    message: Message,
    version: Option<ProtocolVersion>,
    arrival: Arrival,
) -> Response<HttpBody> {
    let session = || Session::unopened(version.unwrap_or(ProtocolVersion::UNSAID), None);
    match message {
        Message::Request { id, method: Method::Initialize, params } => {
            match handshake::initialize(server, &mut Lifecycle::default(), &id, &params, None) {
                Ok((frame, _)) => reply(StatusCode::OK, frame),
                Err(error) => failed(StatusCode::OK, Some(&id), &error),
            }
        }
        Message::Request { id, method, params } => {
            let (server, session) = (server.clone(), session());
            exchange(arrival, |arrival| async move {
                let frame = handshake::serve(&server, &session, &id, &method, &params, arrival).await;
                (frame, StatusCode::OK)
            })
            .await
        }
        Message::Notification { method, params } => {
            handshake::hear(server, &session(), &method, &params, arrival).await;
            accepted()
        }
        Message::Response { .. } => {
            refused(StatusCode::BAD_REQUEST, &RpcError::invalid_request("this server has asked nothing"))
        }
    }
}
