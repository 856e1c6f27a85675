//! The handshake era: a request in a remembered conversation becomes a call, its outcome becomes a frame.

mod session;

use std::sync::Arc;

pub(super) use session::Session;

use toolway_protocol::era::handshake as codec;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::jsonrpc::{Params, write_error};
use toolway_protocol::{Id, Method, Outcome, Reply, Request, RpcError};

use super::Server;
use super::changes::{Listener, untold};
use super::failure::Trouble;
use super::scope::{Arrival, Scope};

/// Answers `initialize`: the frame to send and the conversation that it opens.
pub(super) fn initialize(
    server: &Server,
    lifecycle: &mut Lifecycle,
    id: &Id,
    params: &Params,
    listener: Option<Arc<Listener>>,
) -> Result<(Vec<u8>, Session), RpcError> {
    let opening = params.decode::<codec::Initialize>()?;
    let version = lifecycle.initialize(&opening.protocol_version)?;
    let capabilities = match listener {
        Some(_) => server.capabilities(),
        None => untold(server.capabilities()),
    };
    if let Some(listener) = &listener {
        listener.promise(&capabilities);
    }
    let session = Session::open(version, opening, listener);
    let inner = &server.inner;
    let mut answer = codec::Initialized::new(session.version().as_str(), capabilities, inner.info.clone());
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
    arrival: Arrival,
) -> Vec<u8> {
    let mut frame = Vec::with_capacity(256);
    if let Err(trouble) = answer(server, session, id, method, params, arrival, &mut frame).await {
        let error = match trouble {
            Trouble::Rpc(error) => error,
            Trouble::NoSuchResource(uri) => codec::resource_not_found(&uri),
        };
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
    arrival: Arrival,
    frame: &mut Vec<u8>,
) -> Result<(), Trouble> {
    let version = session.version();
    if *method == Method::Ping {
        codec::write_empty(frame, version, id);
        return Ok(());
    }
    let is_known = method.is_known_in(version) || matches!(method, Method::Other(_));
    if !is_known || !server.offers(method) {
        return Err(RpcError::method_not_found(method.name()).into());
    }
    let request =
        Request::decode(method, params)?.ok_or_else(|| RpcError::method_not_found(method.name()))?;
    let reply = match request {
        Request::SetLogLevel(wanted) => {
            session.set_log_level(wanted.level);
            Reply::Done
        }
        Request::Subscribe(resource) => {
            session.listener(method)?.subscribe(resource.uri)?;
            Reply::Done
        }
        Request::Unsubscribe(resource) => {
            session.listener(method)?.unsubscribe(&resource.uri);
            Reply::Done
        }
        request => match server.answer(request, session.facts(params), arrival).await?.outcome {
            Outcome::Complete(reply) => reply,
            _ => return Err(RpcError::internal("this server cannot ask questions").into()),
        },
    };
    codec::write_reply(frame, version, id, &reply);
    Ok(())
}

/// Hands over a notification of the application's own.
pub(super) async fn hear(
    server: &Server,
    session: &Session,
    method: &Method,
    params: &Params,
    arrival: Arrival,
) {
    let (scope, _ending) = Scope::begin(server.clone(), session.facts(params), arrival);
    server.hear(method, params.text().as_ref(), scope).await;
}
