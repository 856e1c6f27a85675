//! The handshake era: a request in a remembered conversation becomes a call, its outcome becomes a frame.

mod session;

pub(super) use session::Session;

use toolway_protocol::era::handshake as codec;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::jsonrpc::{Params, write_error};
use toolway_protocol::{Id, Method, Outcome, Request, RpcError};

use super::Server;
use super::context::Scope;

/// Answers `initialize`: the frame to send and the conversation that it opens.
pub(super) fn initialize(
    server: &Server,
    lifecycle: &mut Lifecycle,
    id: &Id,
    params: &Params,
) -> Result<(Vec<u8>, Session), RpcError> {
    let opening = params.decode::<codec::Initialize>()?;
    let version = lifecycle.initialize(&opening.protocol_version)?;
    let session = Session::open(version, opening);
    let inner = &server.inner;
    let mut answer =
        codec::Initialized::new(session.version().as_str(), inner.capabilities.clone(), inner.info.clone());
    answer.instructions.clone_from(&inner.instructions);
    let mut frame = Vec::with_capacity(512);
    codec::write_initialized(&mut frame, session.version(), id, &answer);
    Ok((frame, session))
}

/// Answers any other request of a conversation.
pub(super) async fn serve(
    server: &Server,
    session: &Session,
    id: &Id,
    method: &Method,
    params: &Params,
) -> Vec<u8> {
    let mut frame = Vec::with_capacity(256);
    if let Err(error) = answer(server, session, id, method, params, &mut frame).await {
        write_error(&mut frame, Some(id), &error);
    }
    frame
}

async fn answer(
    server: &Server,
    session: &Session,
    id: &Id,
    method: &Method,
    params: &Params,
    frame: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let version = session.version();
    if *method == Method::Ping {
        codec::write_empty(frame, version, id);
        return Ok(());
    }
    if !method.is_known_in(version) || !server.offers(method) {
        return Err(RpcError::method_not_found(method.name()));
    }
    let request =
        Request::decode(method, params)?.ok_or_else(|| RpcError::method_not_found(method.name()))?;
    let scope = Scope::new(server.clone(), session.peer());
    match server.answer(request, scope).await? {
        Outcome::Complete(reply) => codec::write_reply(frame, version, id, &reply),
        _ => return Err(RpcError::internal("this server cannot ask questions")),
    }
    Ok(())
}
