//! How is a request of a session answered?
//!
//! In the handshake era a closed connection does not cancel a request: the client may reconnect. So a request that does
//! not finish immediately becomes a task that writes a log, and the reply only reads the log.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::http::{Response, StatusCode};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::era::handshake::has_priming_events;
use toolway_protocol::jsonrpc::{Frame, Params};
use toolway_protocol::{Id, Message, Method, ProtocolVersion, RpcError};

use super::super::endpoint::body::{ResponseBody, event_stream};
use super::super::endpoint::exchange::exchange;
use super::super::endpoint::permit::RequestPermit;
use super::super::endpoint::reply::{accepted, error_reply, error_reply_without_id, reply, unavailable};
use super::context::{AdmittedRequest, store_unavailable};
use super::live_session::LiveSession;
use super::log::event_log::EventLog;
use super::sessions::FoundSession;
use super::shared::claim::Claim;
use super::shared::claim_entry::ClaimEntry;
use super::shared::remote_log::StreamStart;
use super::stream_reader::StreamReader;
use crate::ground::budget::Account;
use crate::ground::error::Result;
use crate::ground::outbound::{Outbound, OutboundItem, OutboundReceiver};
use crate::ground::poll_once::poll_once;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::handshake;

/// How often the server tries to save a change of a session's record.
pub(super) const MAX_SAVE_ATTEMPTS: usize = 8;
/// How many notifications of one request may wait to be written to the log.
const MAX_QUEUED_ITEMS: usize = 256;
/// How long the reply to a request is held back while the request has no output. Then the reply becomes a stream, which
/// the client can resume.
const STREAM_DELAY: Duration = Duration::from_millis(500);
/// The longest interval between two renewals of a session in which a request runs.
const MAX_RENEWAL_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// The future of a request. Returns `None` if the request is cancelled.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<Frame>> + Send>>;

/// Answers a message without a session, which the protocol allows.
pub(super) async fn serve_without_session(
    visit: AdmittedRequest<'_>,
    message: Message,
    version: Option<ProtocolVersion>,
) -> Response<ResponseBody> {
    let server = visit.server().clone();
    let session = visit.session_without_handshake(version);
    match message {
        Message::Request { id, method, params } => {
            let permit = match visit.endpoint.permit(&method, visit.arrival.account.as_ref()) {
                Ok(permit) => permit,
                Err(error) => return unavailable(Some(&id), &error),
            };
            let takes_events = visit.accepts_events();
            let (max_message, reply_id) = (server.max_message(), id.clone());
            let work = |arrival: Box<Arrival>| async move {
                (handshake::serve(&server, &session, &id, &method, &params, arrival).await, StatusCode::OK)
            };
            if takes_events {
                return exchange(Some(reply_id), permit, visit.arrival, max_message, work).await;
            }
            let (frame, status) = work(visit.arrival).await;
            reply(status, frame).map(|body| body.with_permit(permit))
        }
        Message::Notification { method, params } => {
            handshake::handle_notification(&server, &session, &method, &params, visit.arrival).await;
            accepted()
        }
        Message::Response { .. } => {
            let error = RpcError::invalid_request("the response does not belong to a request of this server");
            error_reply_without_id(StatusCode::BAD_REQUEST, &error)
        }
    }
}

/// Answers a request that changes the stored record of its session. If another server changes the record at the same
/// time, the change is applied again to the new record.
pub(super) async fn update_record(
    visit: &AdmittedRequest<'_>,
    live: &Arc<LiveSession>,
    id: &Id,
    method: &Method,
    params: &Params,
) -> Result<Vec<u8>, Response<ResponseBody>> {
    let server = visit.server();
    for _ in 0..MAX_SAVE_ATTEMPTS {
        let before = live.apply_count();
        let frame =
            handshake::serve(server, &live.session, id, method, params, Box::default()).await.into_vec();
        let is_saved = live.save().await.map_err(store_unavailable)?;
        if is_saved && live.apply_count() == before {
            return Ok(frame);
        }
        live.refresh().await.map_err(store_unavailable)?;
    }
    Err(unavailable(Some(id), &busy("too many requests change this session at the same time")))
}

/// Returns whether a request must not run twice if copies of it reach several servers. A tool that is marked as read-only
/// or idempotent may.
pub(super) fn needs_claim(visit: &AdmittedRequest<'_>, method: &Method, params: &Params) -> bool {
    if *method != Method::CallTool {
        // A method of the application may do anything; the others of the protocol only read.
        return matches!(method, Method::Other(_));
    }
    let snapshot = visit.server().inner.registry.load();
    let tool = params.name().ok().flatten().and_then(|name| snapshot.tool(&name));
    let hints = tool.and_then(|tool| tool.definition().annotations.as_ref());
    !hints.is_some_and(|hints| hints.is_read_only() || hints.is_idempotent())
}

/// Answers a request of a session.
pub(super) async fn call(
    visit: AdmittedRequest<'_>,
    id: Id,
    method: Method,
    params: Params,
) -> Response<ResponseBody> {
    let FoundSession { live, claim } = match visit.find_known_session() {
        Some(live) => FoundSession { live, claim: None },
        // Boxed, because most requests do not get here.
        None => {
            let claim = needs_claim(&visit, &method, &params).then_some(&id);
            match Box::pin(visit.enter_session(Some(&id), claim)).await {
                Ok(found) => found,
                Err(refusal) => return refusal,
            }
        }
    };
    // A request that does not run may be sent again.
    let release = |claim: Option<Claim>| claim.into_iter().for_each(Claim::release);
    let turn = match live.begin_request(&id) {
        Ok(turn) => turn,
        Err(error) => {
            release(claim);
            return error_reply(StatusCode::OK, Some(&id), &error);
        }
    };
    let permit = match visit.endpoint.permit(&method, visit.account(Some(&live)).as_ref()) {
        Ok(permit) => permit,
        Err(error) => {
            release(claim);
            return unavailable(Some(&id), &error);
        }
    };
    let mut permitted = PermittedRequest::new(permit, false);
    permitted.add(&id, claim);
    let server = visit.server().clone();
    let session = live.session.clone();
    let (run, arrival) = SessionRun::new(visit, live, permitted);
    let work = async move {
        let work = pin!(handshake::serve(&server, &session, &id, &method, &params, arrival));
        turn.run(work).await
    };
    run.reply(Box::pin(work)).await
}

/// A request, or a batch, that may run.
pub(super) struct PermittedRequest {
    pub(super) permit: Option<RequestPermit>,
    /// The ids of the requests.
    ids: Vec<Id>,
    is_batch: bool,
    /// The claims of the requests in the store.
    claims: Vec<ClaimEntry>,
}

impl PermittedRequest {
    pub(super) fn new(permit: Option<RequestPermit>, is_batch: bool) -> Self {
        Self { permit, ids: Vec::new(), is_batch, claims: Vec::new() }
    }

    /// Adds a request and its claim. The claim is released when the reply is sent.
    pub(super) fn add(&mut self, id: &Id, claim: Option<Claim>) {
        self.ids.push(id.clone());
        if let Some(claim) = claim {
            self.claims.push(claim.entry.clone());
            RequestPermit::add_claim(&mut self.permit, Box::new(claim));
        }
    }

    /// Returns the id for an error reply; `None` for a batch.
    fn id(&self) -> Option<&Id> {
        self.ids.first().filter(|_| !self.is_batch)
    }
}

/// One request, or a batch, that is about to run. The permit is held until the reply is sent, or until the output is
/// written to the log; a server that shuts down waits for it.
pub(super) struct SessionRun {
    live: Arc<LiveSession>,
    permitted: PermittedRequest,
    said: OutboundReceiver,
    takes_events: bool,
    account: Option<Arc<Account>>,
    shutdown_token: Arc<CancellationToken>,
}

impl SessionRun {
    /// Returns the run, and the facts about its request, with a queue for what it sends.
    pub(super) fn new(
        visit: AdmittedRequest<'_>,
        live: Arc<LiveSession>,
        permitted: PermittedRequest,
    ) -> (Self, Box<Arrival>) {
        let takes_events = visit.accepts_events();
        let account = visit.account(Some(&live));
        let shutdown_token = visit.endpoint.shutdown_token().clone();
        let max_message = visit.server().max_message();
        let (outbound, said) = Outbound::new(MAX_QUEUED_ITEMS, max_message, account.clone());
        let mut arrival = visit.arrival;
        arrival.memory_record = Some(live.memory());
        if takes_events {
            arrival.outbound = outbound;
        }
        (Self { live, permitted, said, takes_events, account, shutdown_token }, arrival)
    }

    /// Runs the work, and creates the reply.
    pub(super) async fn reply(self, mut work: Work) -> Response<ResponseBody> {
        // Most requests finish in the first poll, and need neither a task nor a log.
        if let Poll::Ready(outcome) = poll_once(work.as_mut()).await {
            match outcome {
                Some(frame) if self.said.is_unused() => {
                    return reply(StatusCode::OK, frame).map(|body| body.with_permit(self.permitted.permit));
                }
                outcome => work = Box::pin(std::future::ready(outcome)),
            }
        }
        // Boxed, because most requests do not get here.
        Box::pin(self.reply_while_running(work)).await
    }

    /// Runs the work in a task of its own, and creates the reply when its form is known.
    async fn reply_while_running(self, work: Work) -> Response<ResponseBody> {
        let Self { live, permitted, said, takes_events, account, shutdown_token } = self;
        let log = live.new_log(false);
        // Attached before the writer starts, so that the writer waits for this reader from the beginning.
        let _attached = log.attach();
        let (decide, mut decided) = oneshot::channel();
        let (begin, wants_stream) = oneshot::channel();
        let (said, decide) = (said.into_queue(), Some(decide));
        let output = RequestOutput { live: live.clone(), permitted, log: log.clone(), said, decide };
        tokio::spawn(output.write(work, wants_stream));
        // A reply that the client can resume becomes a stream after `STREAM_DELAY`.
        let form = if takes_events && has_priming_events(live.session.version()) {
            match tokio::time::timeout(STREAM_DELAY, &mut decided).await {
                Ok(form) => form.ok(),
                Err(_) => {
                    // From here on the answer goes to the log. An answer that was sent just before `close` is still
                    // received here.
                    decided.close();
                    let form = decided.try_recv().ok();
                    if form.is_none() {
                        let _ = begin.send(());
                    }
                    form
                }
            }
        } else {
            decided.await.ok()
        };
        match form {
            Some(ReplyForm::Answer(frame, permit)) => {
                return reply(StatusCode::OK, frame).map(|body| body.with_permit(permit));
            }
            // The request was cancelled. A client that does not accept a stream gets an empty reply.
            None if !takes_events => return accepted(),
            Some(ReplyForm::Stream) | None => {}
        }
        let reader = StreamReader::new(&live, &log, None, shutdown_token);
        event_stream(account, |pen| reader.write_to(pen))
    }
}

/// The form of a reply.
enum ReplyForm {
    /// The request sent no notification before its answer, so the answer is the whole reply.
    Answer(Vec<u8>, Option<RequestPermit>),
    /// The stream has started.
    Stream,
}

/// The output of a request.
struct RequestOutput {
    live: Arc<LiveSession>,
    permitted: PermittedRequest,
    log: Arc<EventLog>,
    said: mpsc::Receiver<OutboundItem>,
    /// Decides the form of the reply; `None` once it is decided.
    decide: Option<oneshot::Sender<ReplyForm>>,
}

impl RequestOutput {
    /// Runs the work of a request and writes its output to the log, with or without a reader. `wants_stream` says that
    /// the reply has become a stream.
    async fn write(mut self, mut work: Work, mut wants_stream: oneshot::Receiver<()>) {
        // Dropped in every case, also on a panic: then readers stop waiting for more events.
        let _writing = self.log.start_writing();
        let mut questions = OpenQuestions { live: self.live.clone(), ids: Vec::new() };
        let mut next = None;
        let limits = self.live.limits();
        let pause = (limits.session_idle.min(limits.kept_for) / 3)
            .clamp(Duration::from_millis(10), MAX_RENEWAL_INTERVAL);
        let mut due = Instant::now() + pause;
        let mut may_begin = true;
        let answer = loop {
            if let Some(spoken) = next.take() {
                self.append(spoken, &mut questions).await;
            }
            // A running request keeps its session alive. Checked in every iteration, so that constant output cannot delay
            // the renewal.
            if Instant::now() >= due {
                due = Instant::now() + pause;
                self.prolong().await;
            }
            tokio::select! {
                biased;
                Some(spoken) = self.said.recv() => next = Some(spoken),
                answer = &mut work => break answer.map(Frame::into_vec),
                wanted = &mut wants_stream, if may_begin => {
                    may_begin = false;
                    if wanted.is_ok() {
                        self.open();
                    }
                }
                () = tokio::time::sleep_until(due) => {}
            }
        };
        // Tasks that the handler left running cannot send anything more.
        self.said.close();
        while let Ok(spoken) = self.said.try_recv() {
            self.append(spoken, &mut questions).await;
        }
        drop(questions);
        if !self.log.is_wanted() {
            // The client disconnected before it got an event id to resume with.
            return self.log.forget();
        }
        let permit = self.permitted.permit.take();
        let (answer, mut permit) = match (answer, self.decide.take()) {
            // The reply may have become a stream in the meantime. Then `send` returns the answer.
            (Some(answer), Some(decide)) => match decide.send(ReplyForm::Answer(answer, permit)) {
                Ok(()) => return,
                Err(ReplyForm::Answer(answer, permit)) => (answer, permit),
                Err(ReplyForm::Stream) => (Vec::new(), None),
            },
            (answer, _) => (answer.unwrap_or_default(), permit),
        };
        // The reader of the answer releases the claims, here or at another server. If the client does not read it, a copy of the
        // request is refused for as long as the stream is kept. So is a copy of a request that was cancelled.
        if let Some(permit) = permit.as_mut().filter(|_| !answer.is_empty()) {
            self.log.hold_claims(permit.take_claims());
        }
        self.open();
        self.log.end(answer, self.permitted.id()).await;
        self.live.keep_stream(&self.log);
        self.log.wait_until_confirmed().await;
    }

    /// Starts the stream, unless it has started.
    fn open(&mut self) {
        if self.log.is_open() {
            return;
        }
        let PermittedRequest { ids, is_batch, claims, .. } = &mut self.permitted;
        let start = self
            .live
            .shared
            .as_ref()
            .map(|shared| StreamStart::write(&shared.node.id, ids, *is_batch, claims));
        self.log.open(start.unwrap_or_default());
        self.live.register(&self.log, std::mem::take(claims));
    }

    async fn append(&mut self, spoken: OutboundItem, questions: &mut OpenQuestions) {
        self.open();
        if let Some(decide) = self.decide.take() {
            // If the receiver is gone, the client has disconnected and may reconnect.
            let _ = decide.send(ReplyForm::Stream);
        }
        match spoken {
            OutboundItem::Frame(frame) => self.log.append_message(exact(frame.bytes)).await,
            OutboundItem::Question(frame) => {
                let frame = exact(frame.bytes);
                let id = self.live.register_question(&frame);
                questions.ids.extend(id.clone());
                self.log.append_question(frame, id).await;
            }
            // A client that cannot resume its stream is not disconnected.
            OutboundItem::Release(retry) if has_priming_events(self.live.session.version()) => {
                self.log.release(retry).await;
            }
            OutboundItem::Release(_) => {}
        }
    }

    /// Renews the session of a running request, and its claims.
    async fn prolong(&self) {
        if let Err(error) = self.live.prolong(&self.permitted.claims).await {
            tracing::warn!(%error, "a session could not be prolonged");
        }
    }
}

/// Returns the bytes without spare capacity, because the log keeps them.
fn exact(bytes: Vec<u8>) -> Bytes {
    bytes.into_boxed_slice().into()
}

/// The questions of a request whose answers may reach another server.
struct OpenQuestions {
    live: Arc<LiveSession>,
    ids: Vec<String>,
}

impl Drop for OpenQuestions {
    fn drop(&mut self) {
        self.ids.iter().for_each(|id| self.live.forget_question(id));
    }
}
