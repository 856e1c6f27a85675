//! How does the two-URL transport of 2024-11-05 work? The client receives everything on one stream, and posts to a
//! second URL.
//!
//! The stream and the POSTs together are served like a pipe: each POST is an input line, and each message of the server
//! is an output line. The session ends with its stream.
//!
//! If servers share a store, a POST may reach any of them: the others pass it on to the server that holds the stream
//! (`shared/pipe.rs`), which admits it once more.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ::http::{Response, StatusCode};
use bytes::Bytes;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::RpcError;

use super::super::endpoint::body::{BodyWriter, KEEP_ALIVE_INTERVAL, ResponseBody, event_stream};
use super::super::endpoint::reply::{accepted, error_reply_without_id, unavailable};
use super::super::endpoint::request::Endpoint;
use super::sessions::Sessions;
use super::shared::pipe::{PassOutcome, PostHead, SharedPipe};
use super::shared::remote_log::LOOK_INTERVAL;
use crate::ground::budget::{Budget, Charge, Resource};
use crate::ground::extensions::Extensions;
use crate::ground::mutex::Mutex;
use crate::server::Server;
use crate::server::admission::connect_request::ConnectRequest;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::{SharedView, StreamRights, next_verdict};
use crate::server::failure::errors::busy;
use crate::server::observe::hooks::DisconnectGuard;
use crate::server::pipe::serve::{LineArrivals, LineRights};
use crate::store::{self, Version};
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

/// A POST for a pipe.
pub(super) struct Post<'p> {
    pub(super) arrival: Box<Arrival>,
    /// The query, which names the pipe.
    pub(super) query: &'p str,
    pub(super) frame: &'p Bytes,
}

/// Opens a pipe, and returns its stream as the reply.
pub(super) async fn open(
    pipes: &SsePipes,
    sessions: &Sessions,
    session_budget: Budget,
    endpoint: &Endpoint,
    arrival: Box<Arrival>,
) -> store::Result<Response<ResponseBody>> {
    let account = arrival.account.clone();
    let stream_charge = match endpoint.stream_charge(account.as_ref()) {
        Ok(charge) => charge,
        Err(full) => return Ok(unavailable(None, &full)),
    };
    let session_charge =
        account.as_ref().map(|account| account.charge_within(session_budget, Resource::Sessions, 1));
    let Ok(session_charge) = session_charge.transpose() else {
        return Ok(unavailable(None, &busy("too many sessions are open")));
    };
    let id = sessions.new_pipe_id();
    let shared = sessions.shared_pipe(&id, arrival.principal.as_ref().map(Principal::as_str)).await?;
    if let Some(shared) = &shared {
        shared.publish().await?;
    }
    // One duplex stream for each direction: dropping its writer ends the input, while the output continues.
    let (writer, far_reader) = tokio::io::duplex(BUFFER_SIZE);
    let (far_writer, reader) = tokio::io::duplex(BUFFER_SIZE);
    let rights = arrival.stream_rights();
    let view = Arc::new(Mutex::new(arrival.stream_view()));
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
    let line_rights = LineRights { arrivals: line_arrivals, view: view.clone() };
    pipes.0.lock().insert(id.clone(), pipe.clone());
    let closing = endpoint.shutdown_token().clone();
    let (pipes, server) = (pipes.0.clone(), endpoint.server.clone());
    let parting = DisconnectGuard::new(&server, admitted.clone(), None);
    let serving = tokio::spawn(async move {
        let (reader, writer) = (Box::pin(far_reader), Box::pin(far_writer));
        server.serve_admitted(reader, writer, admitted, parting, Some(line_rights)).await
    });
    let charges = [stream_charge, session_charge];
    let taking = shared.map(|shared| {
        let (signal, endpoint) = (sessions.post_signal(&id), endpoint.clone());
        let (taken, renewed_at) = (VecDeque::with_capacity(REMEMBERED_POSTS), Instant::now());
        let posts = PassedOnPosts { shared, signal, endpoint, taken, renewed_at };
        tokio::spawn(posts.take(pipe.clone())).abort_handle()
    });
    let tasks = [Some(serving.abort_handle()), taking];
    let opened = SsePipeGuard { id, pipes, tasks, _charges: charges };
    Ok(event_stream(account, move |pen| async move {
        // The URL is relative, because only the client knows the path that it used.
        let first = format!("event: endpoint\ndata: ?{SESSION_PARAMETER}={}\n\n", opened.id);
        pen.write_charged(first, None).await;
        forward_output(&pen, reader, &pipe, rights.map(|rights| (rights, view)), &closing).await;
    }))
}

/// Sends the output of the server to the client, until the output ends or the client loses the right to it.
async fn forward_output(
    pen: &BodyWriter,
    mut reader: DuplexStream,
    pipe: &SsePipe,
    rights: Option<(StreamRights, SharedView)>,
    closing: &CancellationToken,
) {
    // The server has already limited the length of its messages, so no line is skipped here.
    let mut lines = Lines::new(usize::MAX);
    let (mut rights, view) = rights.unzip();
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
            verdict = next_verdict(rights.as_mut()) => match (verdict, &view) {
                (Ok(new), Some(view)) => *view.lock() = new,
                (Ok(_), None) => {}
                (Err(_), _) => return,
            },
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
    sessions: &Sessions,
    endpoint: &Endpoint,
    post: Post<'_>,
) -> store::Result<Response<ResponseBody>> {
    let Post { arrival, query, frame } = post;
    let id = pipe_id_in_query(query).unwrap_or_default();
    // The pipe skips empty lines, and would not find out which rights belong to the next line.
    if frame.trim_ascii().is_empty() {
        let error = RpcError::invalid_request("the body is empty");
        return Ok(error_reply_without_id(StatusCode::BAD_REQUEST, &error));
    }
    let pipe = pipes.0.lock().get(id).cloned();
    let outcome = match pipe {
        Some(pipe) if pipe.owner == arrival.principal => pipe.write(arrival, frame).await,
        Some(_) => PassOutcome::Gone,
        None => match sessions.shared_pipe(id, arrival.principal.as_ref().map(Principal::as_str)).await? {
            Some(shared) => {
                let Some(post) = post_to_pass_on(&endpoint.server, id, arrival, query, frame) else {
                    let error = RpcError::invalid_request("the headers are too long to be passed on");
                    let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
                    return Ok(error_reply_without_id(status, &error));
                };
                shared.pass_on(post, POST_TIMEOUT).await?
            }
            None => PassOutcome::Gone,
        },
    };
    Ok(match outcome {
        PassOutcome::Done => accepted(),
        PassOutcome::Gone => {
            let error = RpcError::invalid_request("there is no such session: open the stream again");
            error_reply_without_id(StatusCode::NOT_FOUND, &error)
        }
        PassOutcome::Busy => {
            unavailable(None, &busy("the client does not read the messages that are sent to it"))
        }
        PassOutcome::Unknown => {
            let error = RpcError::internal("it is not known whether this message was handled");
            error_reply_without_id(StatusCode::INTERNAL_SERVER_ERROR, &error)
        }
    })
}

fn post_to_pass_on(
    server: &Server,
    id: &str,
    arrival: Box<Arrival>,
    query: &str,
    frame: &[u8],
) -> Option<Bytes> {
    let Arrival { headers, remote, principal, .. } = *arrival;
    PostHead { headers: headers.unwrap_or_default(), query: query.to_owned(), remote, principal }
        .write(server, id, frame)
}

impl SsePipe {
    /// Writes a POST to the pipe as one line.
    async fn write(&self, arrival: Box<Arrival>, frame: &[u8]) -> PassOutcome {
        let mut line = Vec::with_capacity(frame.len() + 1);
        push_line(&mut line, frame);
        let written = async {
            let mut place = self.writer.lock().await;
            // If this future is dropped, part of the line may already be written, and no further line may follow. So the
            // writer is taken out, and dropped with the future.
            let Some(mut writer) = place.take() else { return PassOutcome::Gone };
            self.line_arrivals.lock().push_back(arrival);
            if writer.write_all(&line).await.is_err() {
                return PassOutcome::Gone;
            }
            *place = Some(writer);
            PassOutcome::Done
        };
        tokio::time::timeout(POST_TIMEOUT, written).await.unwrap_or(PassOutcome::Busy)
    }
}

/// The POSTs for a pipe that other servers have passed on.
struct PassedOnPosts {
    shared: SharedPipe,
    signal: Arc<Notify>,
    endpoint: Endpoint,
    /// The versions of the last POSTs, because a POST that is stored twice is written once.
    taken: VecDeque<Version>,
    renewed_at: Instant,
}

impl PassedOnPosts {
    /// Writes the POSTs to the pipe, until the task is aborted, or the pipe takes no more input.
    async fn take(mut self, pipe: Arc<SsePipe>) {
        loop {
            match self.take_waiting(&pipe).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(%error, "the messages of a client could not be read");
                    tokio::time::sleep(RETRY_DELAY).await;
                    continue;
                }
            }
            // A message that is lost costs this time.
            let wait = LOOK_INTERVAL.min(self.shared.renew_interval());
            let _ = tokio::time::timeout(wait, self.signal.notified()).await;
        }
    }

    /// Writes the POSTs that wait. Returns whether the pipe takes more.
    async fn take_waiting(&mut self, pipe: &SsePipe) -> store::Result<bool> {
        while let Some((version, post)) = self.shared.waiting_post().await? {
            if !self.taken.contains(&version) {
                if !self.shared.take_post(version).await? {
                    // It was withdrawn, and its client is told to send it again.
                    continue;
                }
                self.taken.truncate(REMEMBERED_POSTS - 1);
                self.taken.push_front(version);
                if !write_passed_on(&self.endpoint, pipe, &self.shared.id, &post).await {
                    return Ok(false);
                }
            }
            self.shared.remove_post(version).await?;
        }
        if self.renewed_at.elapsed() >= self.shared.renew_interval() {
            self.shared.publish().await?;
            self.renewed_at = Instant::now();
        }
        Ok(true)
    }
}

impl Drop for PassedOnPosts {
    fn drop(&mut self) {
        let shared = self.shared.clone();
        // What cannot be removed expires.
        self.endpoint.server.spawn_background(async move { drop(shared.remove().await) });
    }
}

/// Admits a POST that another server has passed on, and writes it to its pipe. Returns whether the pipe takes more.
async fn write_passed_on(endpoint: &Endpoint, pipe: &SsePipe, id: &str, post: &Bytes) -> bool {
    let Some((head, frame)) = PostHead::read(&endpoint.server, id, post) else {
        tracing::warn!(
            "a message that another server has passed on cannot be read: the servers have different seal keys"
        );
        return true;
    };
    let PostHead { headers, query, remote, principal } = head;
    // The server that got the POST has checked its proof, which is valid once.
    let connecting = ConnectRequest {
        headers: Some(headers),
        query: Some(query),
        session_id: None,
        remote,
        http_method: None,
    };
    // The values that a web application attached to the POST are not passed on, and those of the request that opened the
    // stream may grant more than this POST has.
    let mut extensions = Extensions::default();
    if let Some(principal) = principal {
        extensions.insert(principal);
    }
    match endpoint.admit_passed_on(connecting, extensions).await {
        Ok(arrival) if arrival.principal == pipe.owner => {
            !matches!(pipe.write(arrival, &frame).await, PassOutcome::Gone)
        }
        Ok(_) => true,
        Err(_) => {
            tracing::warn!("a message that another server has passed on was refused");
            true
        }
    }
}

/// A pipe that is being served. Dropping this ends the session.
struct SsePipeGuard {
    id: String,
    pipes: Arc<Mutex<HashMap<String, Arc<SsePipe>>>>,
    tasks: [Option<AbortHandle>; 2],
    _charges: [Option<Charge>; 2],
}

impl Drop for SsePipeGuard {
    fn drop(&mut self) {
        self.pipes.lock().remove(&self.id);
        self.tasks.iter().flatten().for_each(AbortHandle::abort);
    }
}

/// How many POSTs are remembered, so that none is written twice.
const REMEMBERED_POSTS: usize = 16;
/// How long to wait after the store has failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
