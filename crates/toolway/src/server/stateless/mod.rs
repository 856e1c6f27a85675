//! The stateless era: a request that describes itself becomes a call, its outcome becomes a frame. Nothing is
//! remembered.

use std::sync::Arc;

use toolway_protocol::era::{Envelope, stateless as codec};
use toolway_protocol::jsonrpc::{Code, Params, write_error};
use toolway_protocol::types::CacheHints;
use toolway_protocol::{Era, Id, Method, Outcome, ProtocolVersion, Request, RpcError};

use super::Server;
use super::context::Scope;
use crate::peer::Peer;

/// Answers one request: the frame to send, and the code of the error in it, which HTTP shows as a status too.
pub(super) async fn serve(
    server: &Server,
    id: &Id,
    method: &Method,
    params: &Params,
    envelope: Envelope,
) -> (Vec<u8>, Option<Code>) {
    let mut frame = Vec::with_capacity(256);
    let error = match answer(server, id, method, params, envelope, &mut frame).await {
        Ok(()) => None,
        Err(error) => {
            write_error(&mut frame, Some(id), &error);
            Some(error.code)
        }
    };
    (frame, error)
}

async fn answer(
    server: &Server,
    id: &Id,
    method: &Method,
    params: &Params,
    envelope: Envelope,
    frame: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let version = envelope.served()?;
    let inner = &server.inner;
    if *method == Method::Discover {
        let supported: Vec<String> =
            ProtocolVersion::names(Era::Stateless).into_iter().map(String::from).collect();
        let mut discovered = codec::Discovered::new(supported, inner.capabilities.clone());
        discovered.instructions.clone_from(&inner.instructions);
        codec::write_discovered(frame, id, &discovered, &CacheHints::default(), &inner.stamp);
        return Ok(());
    }
    if !method.is_known_in(version) || !server.offers(method) {
        return Err(RpcError::method_not_found(method.name()));
    }
    let request =
        Request::decode(method, params)?.ok_or_else(|| RpcError::method_not_found(method.name()))?;
    let scope = Scope::new(server.clone(), Arc::new(Peer::from_envelope(version, envelope)));
    match server.answer(request, scope).await? {
        Outcome::Complete(reply) => {
            codec::write_reply(frame, id, &reply, &CacheHints::default(), &inner.stamp);
        }
        _ => return Err(RpcError::internal("this server cannot ask questions")),
    }
    Ok(())
}
