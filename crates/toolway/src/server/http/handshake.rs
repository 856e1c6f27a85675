//! How does the handshake era answer a POST? Without sessions: each request stands alone and says in a header
//! which revision was negotiated, which the protocol allows.

use ::http::{Response, StatusCode};
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::{Message, Method, ProtocolVersion, RpcError};

use super::{HttpBody, accepted, failed, refused, reply};
use crate::server::Server;
use crate::server::handshake::{self, Session};

pub(super) async fn post(
    server: &Server,
    message: Message,
    version: Option<ProtocolVersion>,
) -> Response<HttpBody> {
    match message {
        Message::Request { id, method: Method::Initialize, params } => {
            match handshake::initialize(server, &mut Lifecycle::default(), &id, &params) {
                Ok((frame, _)) => reply(StatusCode::OK, frame),
                Err(error) => failed(StatusCode::OK, Some(&id), &error),
            }
        }
        Message::Request { id, method, params } => {
            let session = Session::unopened(version.unwrap_or(ProtocolVersion::UNSAID));
            reply(StatusCode::OK, handshake::serve(server, &session, &id, &method, &params).await)
        }
        Message::Notification { .. } => accepted(),
        Message::Response { .. } => {
            refused(StatusCode::BAD_REQUEST, &RpcError::invalid_request("this server has asked nothing"))
        }
    }
}
