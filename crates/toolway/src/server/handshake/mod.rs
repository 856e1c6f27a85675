//! The handshake era (the revisions up to 2025-11-25): turns a request of a session into a call, and the outcome into a
//! frame.

pub(crate) mod batch;
pub(crate) mod pipe_session;
pub(crate) mod questions;
pub(crate) mod session;

use std::sync::Arc;

pub(super) use session::Session;

use toolway_protocol::era::handshake as codec;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::jsonrpc::{Frame, Params, write_error};
use toolway_protocol::types::CallToolResult;
use toolway_protocol::{Id, Method, Outcome, Reply, Request, RpcError};

use super::Server;
use crate::server::call::question_log::QuestionContext;
use crate::server::call::scope::Arrival;
use crate::server::changes::listeners::{Listener, without_change_notifications};
use crate::server::failure::errors::Failure;

/// Answers `initialize`. Returns the frame to send and the session that it opens.
pub(super) fn initialize(
    server: &Server,
    lifecycle: &mut Lifecycle,
    id: &Id,
    params: &Params,
    listener: Option<Arc<Listener>>,
) -> Result<(Vec<u8>, Session), RpcError> {
    let opening = params.decode::<codec::Initialize>()?;
    let version = match server.inner.pinned {
        Some(version) => lifecycle.initialize_as(version)?,
        None => lifecycle.initialize(&opening.protocol_version)?,
    };
    let capabilities = match listener {
        Some(_) => server.capabilities(),
        None => without_change_notifications(server.capabilities()),
    };
    if let Some(listener) = &listener {
        listener.limit_to_capabilities(&capabilities);
    }
    let session = Session::open(version, opening, listener);
    let inner = &server.inner;
    let mut answer =
        codec::InitializeResult::new(session.version().as_str(), capabilities, inner.info.clone());
    answer.instructions.clone_from(&inner.instructions);
    let mut frame = Vec::with_capacity(512);
    codec::write_initialize_result(&mut frame, session.version(), id, &answer);
    Ok((frame, session))
}

/// Answers any request of a session except `initialize`.
pub(super) async fn serve(
    server: &Server,
    session: &Session,
    id: &Id,
    method: &Method,
    params: &Params,
    arrival: Box<Arrival>,
) -> Frame {
    let mut frame = Frame::from(Vec::with_capacity(256));
    if let Err(trouble) = answer(server, session, id, method, params, arrival, &mut frame).await {
        let error = match trouble {
            Failure::Rpc(error) => error,
            Failure::Visible(_) | Failure::Hidden(_) | Failure::NotFound | Failure::Unanswered => {
                RpcError::internal("the call ended without an answer")
            }
            Failure::NoSuchResource(uri) => codec::resource_not_found(&uri),
            // The revisions of this era have no error code for a missing capability. A tool call gets a text that the
            // model can read.
            Failure::MissingCapabilities(_, text) if *method == Method::CallTool => {
                let reply = Reply::ToolCalled(CallToolResult::error(text));
                codec::write_reply_frame(&mut frame, session.version(), id, &reply);
                return frame;
            }
            Failure::MissingCapabilities(_, text) => RpcError::invalid_request(text),
        };
        write_error(&mut frame.text, Some(id), &error);
    }
    if let Some(too_large) = server.check_reply_size(method, frame.len()) {
        // A new buffer, because the old one holds more memory than this text needs.
        frame = Frame::default();
        if too_large.is_result {
            let reply = Reply::ToolCalled(CallToolResult::error(too_large.text));
            codec::write_reply_frame(&mut frame, session.version(), id, &reply);
        } else {
            write_error(&mut frame.text, Some(id), &too_large.into_error());
        }
    }
    frame
}

async fn answer(
    server: &Server,
    session: &Session,
    id: &Id,
    method: &Method,
    params: &Params,
    mut arrival: Box<Arrival>,
    frame: &mut Frame,
) -> Result<(), Failure> {
    let version = session.version();
    if *method == Method::Ping {
        codec::write_empty(&mut frame.text, version, id);
        return Ok(());
    }
    if let Some(settling) = server.wait_for_sources() {
        settling.await;
    }
    session.fill_arrival(&mut arrival, Some(id), params);
    let request = match server.decode_request(version, method, params) {
        Ok(request) => request,
        Err(error) => return Err(Box::pin(server.reject_request(method, error, &mut arrival)).await),
    };
    // `Server::answer` checks the scopes of other requests.
    if matches!(request, Request::Subscribe(_))
        && let Some(refuse) = server.refuse_unscoped(&arrival, [&request])
    {
        return Err(refuse.error().into());
    }
    let reply = if let Request::SetLogLevel(wanted) = request {
        session.set_log_level(wanted.level);
        Reply::Empty
    } else if let Request::Subscribe(resource) = request {
        session.listener(method)?.subscribe(resource.uri)?;
        if server.has_sources() {
            Box::pin(server.wait_for_subscriptions()).await;
        }
        Reply::Empty
    } else if let Request::Unsubscribe(resource) = request {
        session.listener(method)?.unsubscribe(&resource.uri);
        Reply::Empty
    } else {
        server.add_meta(&mut arrival, params);
        match server.answer(request, arrival).await?.outcome {
            Outcome::Complete(reply) => reply,
            // In this era the client is asked while the call runs, so questions are never the result of a call.
            Outcome::NeedInput(_) => {
                return Err(RpcError::internal("the call ended without an answer").into());
            }
        }
    };
    codec::write_reply_frame(frame, version, id, &reply);
    Ok(())
}

/// Passes a notification to the application's handler.
pub(super) async fn handle_notification(
    server: &Server,
    session: &Session,
    method: &Method,
    params: &Params,
    mut arrival: Box<Arrival>,
) {
    session.fill_arrival(&mut arrival, None, params);
    // A notification has no response, so its handler cannot ask the client.
    arrival.questions = QuestionContext::default();
    server.handle_notification(method, params, arrival).await;
}
