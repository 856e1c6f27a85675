//! How does the two-URL transport of 2024-11-05 work? The client receives everything on one stream, and posts to a
//! second URL.
//!
//! The stream and the POSTs together are served like a pipe: each POST is an input line, and each message of the server
//! is an output line. The session ends with its stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ::http::{Response, StatusCode};
use bytes::Bytes;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use toolway_protocol::RpcError;

use super::super::endpoint::body::{BodyWriter, KEEP_ALIVE_INTERVAL, ResponseBody, event_stream};
use super::super::endpoint::reply::{accepted, error_reply_without_id, unavailable};
use super::super::endpoint::request::Endpoint;
use crate::ground::budget::{Budget, Charge, Resource};
use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::{StreamRights, next_verdict};
use crate::server::failure::errors::busy;
use crate::server::observe::hooks::DisconnectGuard;
use crate::server::pipe::serve::LineArrivals;
use crate::transport::frame::{Line, Lines, push_line};
use crate::transport::sse;

/// How many bytes may be buffered in each direction.
const BUFFER_SIZE: usize = 32 << 10;
/// How long a POST waits until the session reads it. A session stops reading POSTs while its client does not read the
/// stream.
const POST_TIMEOUT: Duration = Duration::from_secs(10);
/// The query parameter that names the session in the URL for POSTs.
const SESSION_PARAMETER: &str = "sessionId";

/// The open pipes by id.
#[derive(Debug, Default)]
pub(super) struct SsePipes(Arc<Mutex<HashMap<String, Arc<SsePipe>>>>);

#[derive(Debug)]
struct SsePipe {
    owner: Option<Principal>,
    /// `None` once the pipe takes no more input.
    writer: tokio::sync::Mutex<Option<DuplexStream>>,
    /// The facts about the POSTs that were written and not read yet.
    line_arrivals: LineArrivals,
}

/// Opens a pipe, and returns its stream as the reply.
pub(super) fn open(
    pipes: &SsePipes,
    session_budget: Budget,
    endpoint: &Endpoint,
    arrival: Box<Arrival>,
) -> Response<ResponseBody> {
    let account = arrival.account.clone();
    let stream_charge = match endpoint.stream_charge(account.as_ref()) {
        Ok(charge) => charge,
        Err(full) => return unavailable(None, &full),
    };
    let session_charge =
        account.as_ref().map(|account| account.charge_within(session_budget, Resource::Sessions, 1));
    let Ok(session_charge) = session_charge.transpose() else {
        return unavailable(None, &busy("too many sessions are open"));
    };
    // One duplex stream for each direction: dropping its writer ends the input, while the output continues.
    let (writer, far_reader) = tokio::io::duplex(BUFFER_SIZE);
    let (far_writer, reader) = tokio::io::duplex(BUFFER_SIZE);
    let id = random_hex::<16>();
    let rights = arrival.recheck.clone().map(StreamRights::new);
    // The messages of the pipe arrive with later requests, so facts about this request, such as its headers, are left
    // out.
    let Arrival { extensions, principal, visibility, .. } = *arrival;
    let pipe_account = account.clone().filter(|account| account.is_named());
    let admitted =
        Box::new(Arrival { extensions, principal, visibility, account: pipe_account, ..Arrival::default() });
    let owner = admitted.principal.clone();
    let line_arrivals = LineArrivals::default();
    let writer = tokio::sync::Mutex::new(Some(writer));
    let pipe = Arc::new(SsePipe { owner, writer, line_arrivals: line_arrivals.clone() });
    pipes.0.lock().insert(id.clone(), pipe.clone());
    let closing = endpoint.shutdown_token().clone();
    let (pipes, server) = (pipes.0.clone(), endpoint.server.clone());
    let parting = DisconnectGuard::new(&server, admitted.clone(), None);
    let serving = tokio::spawn(async move {
        server.serve_admitted(far_reader, far_writer, admitted, parting, Some(line_arrivals)).await
    });
    let charges = [stream_charge, session_charge];
    let opened = SsePipeGuard { id, pipes, serving: serving.abort_handle(), _charges: charges };
    event_stream(account, move |pen| async move {
        // The URL is relative, because only the client knows the path that it used.
        let first = format!("event: endpoint\ndata: ?{SESSION_PARAMETER}={}\n\n", opened.id);
        pen.write_charged(first, None).await;
        forward_output(&pen, reader, &pipe, rights, &closing).await;
    })
}

/// Sends the output of the server to the client, until the output ends or the client loses the right to it.
async fn forward_output(
    pen: &BodyWriter,
    mut reader: DuplexStream,
    pipe: &SsePipe,
    mut rights: Option<StreamRights>,
    closing: &CancellationToken,
) {
    // The server has already limited the length of its messages, so no line is skipped here.
    let mut lines = Lines::new(usize::MAX);
    let mut is_open = true;
    // On shutdown, running requests may still be answered. A POST that is being written holds the lock until its line
    // is read, so this loop continues to read.
    let close = async {
        closing.cancelled().await;
        *pipe.writer.lock().await = None;
    };
    tokio::pin!(close);
    loop {
        while let Some(line) = lines.next_line() {
            if let Line::Text(frame) = line {
                let mut bytes = Vec::with_capacity(frame.len() + 32);
                sse::write_message(&mut bytes, None, &frame);
                // A client that leaves too much unread loses its session.
                if pen.write(bytes).await.is_err() {
                    return;
                }
            }
        }
        tokio::select! {
            more = lines.fill(&mut reader) => if !matches!(more, Ok(true)) { return },
            verdict = next_verdict(rights.as_mut()) => if verdict.is_err() { return },
            () = &mut close, if is_open => is_open = false,
            () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => pen.write_keep_alive().await,
        }
    }
}

/// Returns the id of the pipe that a POST is for, if its query names one.
pub(super) fn pipe_id_in_query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix(SESSION_PARAMETER)?.strip_prefix('='))
}

/// Writes the body of a POST to its pipe, where it has the rights that the POST was admitted with. A pipe of another
/// owner is treated like an unknown pipe.
pub(super) async fn post(
    pipes: &SsePipes,
    arrival: Box<Arrival>,
    id: &str,
    frame: &Bytes,
) -> Response<ResponseBody> {
    let pipe = pipes.0.lock().get(id).cloned();
    let Some(pipe) = pipe.filter(|pipe| pipe.owner == arrival.principal) else {
        let error = RpcError::invalid_request("there is no such session: open the stream again");
        return error_reply_without_id(StatusCode::NOT_FOUND, &error);
    };
    // The pipe skips empty lines, and would not find out which rights belong to the next line.
    if frame.trim_ascii().is_empty() {
        let error = RpcError::invalid_request("the body is empty");
        return error_reply_without_id(StatusCode::BAD_REQUEST, &error);
    }
    let mut line = Vec::with_capacity(frame.len() + 1);
    push_line(&mut line, frame);
    let written = async {
        let mut place = pipe.writer.lock().await;
        // If this future is dropped, part of the line may already be written, and no further line may follow. So the
        // writer is taken out, and dropped with the future.
        let Some(mut writer) = place.take() else { return false };
        pipe.line_arrivals.lock().push_back(arrival);
        let is_taken = writer.write_all(&line).await.is_ok();
        if is_taken {
            *place = Some(writer);
        }
        is_taken
    };
    match tokio::time::timeout(POST_TIMEOUT, written).await {
        Ok(true) => accepted(),
        Ok(false) => {
            let error = RpcError::invalid_request("this session is over: open the stream again");
            error_reply_without_id(StatusCode::NOT_FOUND, &error)
        }
        Err(_) => unavailable(None, &busy("the client does not read the messages that are sent to it")),
    }
}

/// A pipe that is being served. Dropping this ends the session.
struct SsePipeGuard {
    id: String,
    pipes: Arc<Mutex<HashMap<String, Arc<SsePipe>>>>,
    serving: AbortHandle,
    _charges: [Option<Charge>; 2],
}

impl Drop for SsePipeGuard {
    fn drop(&mut self) {
        self.pipes.lock().remove(&self.id);
        self.serving.abort();
    }
}
