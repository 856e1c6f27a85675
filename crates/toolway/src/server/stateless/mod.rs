//! The stateless era: a request that describes itself becomes a call, its outcome becomes a frame. Nothing is
//! remembered.

mod listen;

use std::sync::Arc;

use toolway_protocol::era::{Envelope, stateless as codec};
use toolway_protocol::jsonrpc::{Code, Params, write_error};
use toolway_protocol::meta::Key;
use toolway_protocol::{Era, Id, Method, Outcome, ProtocolVersion, Request, RpcError};

use super::Server;
use super::cache::Cacheable;
use super::call::Answered;
use super::changes::untold;
use super::failure::Trouble;
use super::log::Threshold;
use super::scope::{Arrival, Facts, Scope};
use crate::peer::Peer;

/// Answers one request: the frame to send, and the code of the error in it, which HTTP shows as a status too.
pub(super) async fn serve(
    server: &Server,
    id: &Id,
    method: &Method,
    params: &Params,
    envelope: Envelope,
    arrival: Arrival,
) -> (Vec<u8>, Option<Code>) {
    let mut frame = Vec::with_capacity(256);
    let error = match answer(server, id, method, params, envelope, arrival, &mut frame).await {
        Ok(()) => None,
        Err(trouble) => {
            let error = match trouble {
                Trouble::Rpc(error) => error,
                Trouble::NoSuchResource(uri) => codec::resource_not_found(&uri),
            };
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
    arrival: Arrival,
    frame: &mut Vec<u8>,
) -> Result<(), Trouble> {
    let version = envelope.served()?;
    let inner = &server.inner;
    if *method == Method::Discover {
        let supported: Vec<String> =
            ProtocolVersion::names(Era::Stateless).into_iter().map(String::from).collect();
        let capabilities = match arrival.listens {
            Some(_) => server.capabilities(),
            None => untold(server.capabilities()),
        };
        let mut discovered = codec::Discovered::new(supported, capabilities);
        discovered.instructions.clone_from(&inner.instructions);
        let hints = inner.cache.get(Cacheable::Discovery);
        codec::write_discovered(frame, id, &discovered, hints, &inner.stamp);
        return Ok(());
    }
    let is_known = method.is_known_in(version) || matches!(method, Method::Other(_));
    if !is_known || !server.offers(method) {
        return Err(RpcError::method_not_found(method.name()).into());
    }
    let request =
        Request::decode(method, params)?.ok_or_else(|| RpcError::method_not_found(method.name()))?;
    let request = match request {
        Request::Listen(wanted) => return Ok(listen::listen(server, id, wanted, arrival, frame).await?),
        request => request,
    };
    let facts = facts(version, envelope, params);
    let Answered { outcome, cache } = server.answer(request, facts, arrival).await?;
    match outcome {
        Outcome::Complete(reply) => {
            let hints = cache.as_ref().unwrap_or_else(|| inner.cache.of(&reply));
            codec::write_reply(frame, id, &reply, hints, &inner.stamp);
        }
        _ => return Err(RpcError::internal("this server cannot ask questions").into()),
    }
    Ok(())
}

/// Hands over a notification of the application's own. One that does not say enough about itself is nothing to talk about.
pub(super) async fn hear(
    server: &Server,
    method: &Method,
    params: &Params,
    envelope: Option<Envelope>,
    arrival: Arrival,
) {
    let facts = match envelope.map(|envelope| (envelope.served(), envelope)) {
        Some((Ok(version), envelope)) => facts(version, envelope, params),
        _ => Facts {
            peer: Arc::new(Peer::unknown(codec::VERSION)),
            progress_token: None,
            threshold: Threshold::Nothing,
        },
    };
    let (scope, _ending) = Scope::begin(server.clone(), facts, arrival);
    server.hear(method, params.text().as_ref(), scope).await;
}

/// What a request says about itself.
fn facts(version: ProtocolVersion, envelope: Envelope, params: &Params) -> Facts {
    let threshold = envelope.log_level.map_or(Threshold::Nothing, Threshold::From);
    Facts {
        peer: Arc::new(Peer::from_envelope(version, envelope)),
        progress_token: params.reserved(Key::ProgressToken),
        threshold,
    }
}
