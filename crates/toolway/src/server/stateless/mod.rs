//! The stateless era (2026-07-28): turns a request that describes itself into a call, and the outcome into a frame.
//! Nothing is remembered between requests.

pub(crate) mod listen;
pub(crate) mod request_state;
pub(crate) mod seal;

use std::sync::Arc;

use toolway_protocol::era::{Envelope, stateless as codec};
use toolway_protocol::jsonrpc::{Code, Frame, Params, write_error};
use toolway_protocol::meta::Key;
use toolway_protocol::types::CallToolResult;
use toolway_protocol::{Era, Id, Method, Outcome, ProtocolVersion, Reply, Request, RpcError};

use super::Server;
use crate::ground::peer::Peer;
use crate::server::call::layer::reply::CallReply;
use crate::server::call::scope::Arrival;
use crate::server::call::telemetry::RequestTelemetry;
use crate::server::call::threshold::Threshold;
use crate::server::catalog::cache::Cacheable;
use crate::server::changes::listeners::without_change_notifications;
use crate::server::execute::size::OversizedReply;
use crate::server::failure::errors::Failure;

/// A request with the facts that its envelope has about it. The envelope itself is large, so it is not part of a future.
pub(super) struct Received {
    pub(super) arrival: Box<Arrival>,
    /// The error to answer with, if the server does not support the revision of the request.
    pub(super) refusal: Option<Box<RpcError>>,
}

impl Received {
    pub(super) fn new(mut arrival: Box<Arrival>, id: &Id, envelope: Envelope, params: &Params) -> Self {
        let refusal = match envelope.supported_version() {
            Ok(version) => {
                fill_arrival(&mut arrival, version, Some(id), envelope, params);
                None
            }
            Err(error) => Some(Box::new(error)),
        };
        Self { arrival, refusal }
    }
}

/// Answers one request: writes the frame to send. If the frame is an error, returns its code, from which the HTTP
/// transport derives the status.
pub(super) async fn serve(
    server: &Server,
    id: &Id,
    method: &Method,
    params: &Params,
    received: Received,
    frame: &mut Frame,
) -> Option<Code> {
    frame.text.reserve(256);
    let error = match answer(server, id, method, params, received, frame).await {
        Ok(()) => None,
        Err(trouble) => {
            let error = match trouble {
                Failure::Rpc(error) => error,
                Failure::Visible(_) | Failure::Hidden(_) | Failure::NotFound | Failure::Unanswered => {
                    RpcError::internal("the call ended without an answer")
                }
                Failure::NoSuchResource(uri) => codec::resource_not_found(&uri),
                Failure::MissingCapabilities(required, text) => {
                    let mut error = RpcError::missing_capability(&required);
                    error.message = text.into();
                    error
                }
            };
            write_error(&mut frame.text, Some(id), &error);
            Some(error.code)
        }
    };
    match server.check_reply_size(method, frame.len()) {
        None => error,
        Some(too_large) => {
            // A new buffer, because the old one holds more memory than this text needs.
            *frame = Frame::default();
            write_too_large(server, id, too_large, &mut frame.text)
        }
    }
}

fn write_too_large(server: &Server, id: &Id, too_large: OversizedReply, frame: &mut Vec<u8>) -> Option<Code> {
    if too_large.is_result {
        let reply = Reply::ToolCalled(CallToolResult::error(too_large.text));
        let inner = &server.inner;
        codec::write_reply(frame, id, &reply, inner.cache.hints_for(&reply), &inner.stamp);
        return None;
    }
    let error = too_large.into_error();
    write_error(frame, Some(id), &error);
    Some(error.code)
}

async fn answer(
    server: &Server,
    id: &Id,
    method: &Method,
    params: &Params,
    Received { mut arrival, refusal }: Received,
    frame: &mut Frame,
) -> Result<(), Failure> {
    if let Some(refusal) = refusal {
        return Err((*refusal).into());
    }
    server.add_meta(&mut arrival, params);
    let inner = &server.inner;
    if *method == Method::Discover {
        let supported: Vec<String> =
            ProtocolVersion::names(Era::Stateless).into_iter().map(String::from).collect();
        let capabilities = match arrival.stream_budget {
            Some(_) => server.capabilities(),
            None => without_change_notifications(server.capabilities()),
        };
        let mut discovered = codec::DiscoverResult::new(supported, capabilities);
        discovered.instructions.clone_from(&inner.instructions);
        let hints = inner.cache.get(Cacheable::Discovery);
        codec::write_discover_result(&mut frame.text, id, &discovered, hints, &inner.stamp);
        return Ok(());
    }
    if let Some(settling) = server.wait_for_sources() {
        settling.await;
    }
    let request = match server.decode_request(arrival.peer.version, method, params) {
        Ok(request) => request,
        Err(error) => return Err(Box::pin(server.reject_request(method, error, &mut arrival)).await),
    };
    // `Server::answer` checks the scopes of other requests.
    if matches!(request, Request::Listen(_))
        && let Some(refuse) = server.refuse_unscoped(&arrival, [&request])
    {
        return Err(refuse.error().into());
    }
    if let Request::Listen(wanted) = request {
        return Ok(Box::pin(listen::listen(server, id, wanted, arrival, &mut frame.text)).await?);
    }
    arrival.questions =
        match request_state::question_context(server, &request, arrival.principal.as_ref()).await {
            Ok(asking) => asking,
            Err(error) => return Err(Box::pin(server.reject_request(method, error, &mut arrival)).await),
        };
    let (principal, is_http) = (arrival.principal.clone(), arrival.headers.is_some());
    let CallReply { outcome, cache, replay: past } = server.answer(request, arrival).await?;
    match outcome {
        Outcome::Complete(reply) => {
            let hints = cache.as_ref().unwrap_or_else(|| inner.cache.hints_for(&reply));
            codec::write_reply_frame(frame, id, &reply, hints, &inner.stamp);
        }
        Outcome::NeedInput(required) => {
            let past = past.unwrap_or_default();
            let required =
                request_state::seal(server, method, params, principal.as_ref(), required, &past, is_http)?;
            codec::write_input_required(&mut frame.text, id, &required, &inner.stamp);
        }
    }
    Ok(())
}

/// Passes a notification to the application's handler. If its envelope is missing or invalid, the peer counts as
/// unknown.
pub(super) async fn handle_notification(
    server: &Server,
    method: &Method,
    params: &Params,
    envelope: Option<Envelope>,
    mut arrival: Box<Arrival>,
) {
    match envelope.map(|envelope| (envelope.supported_version(), envelope)) {
        Some((Ok(version), envelope)) => fill_arrival(&mut arrival, version, None, envelope, params),
        _ => arrival.peer = Arc::new(Peer::unknown(codec::VERSION)),
    }
    server.handle_notification(method, params, arrival).await;
}

/// Adds the facts that a message carries about itself to `arrival`.
fn fill_arrival(
    arrival: &mut Arrival,
    version: ProtocolVersion,
    id: Option<&Id>,
    envelope: Envelope,
    params: &Params,
) {
    arrival.threshold = envelope.log_level.map_or(Threshold::Nothing, Threshold::From);
    arrival.peer = Arc::new(Peer::from_envelope(version, envelope));
    arrival.progress_token = params.meta_member(Key::ProgressToken);
    arrival.telemetry = RequestTelemetry::new(id, params);
}
