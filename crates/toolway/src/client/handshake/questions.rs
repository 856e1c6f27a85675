//! How are the server's questions answered, and which caller does each question belong to?
//!
//! A server of the handshake era may ask at any time, even about a call that has ended. If a question arrives on the
//! stream of a call, it belongs to the caller of that call. Otherwise it belongs to a caller only if exactly one
//! request is in flight and all requests of the connection so far were of that caller.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::Instant;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::jsonrpc::{Code, Params, write_result};
use toolway_protocol::types::{Cancelled, InputRequest};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, RpcError};

use crate::client::answer::answers::{AnswerHandlers, MAX_QUESTIONS, QuestionError, check_question};
use crate::client::answer::caller::{Caller, CallsInFlight, OpenCalls};
use crate::client::answer::origin::QuestionOrigin;
use crate::client::wire::inbox::{AnswerFrame, MAX_FORWARDED_QUESTIONS, RequestHandler};
use crate::client::wire::outgoing::{error_frame, put_params};
use crate::client::wire::rate::RateLimit;
use crate::ground::error::Chain;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

/// The server's questions in one session.
pub(crate) struct ServerQuestions {
    pub(crate) answers: AnswerHandlers,
    /// The client's requests in flight about which the server may ask.
    calls: Arc<OpenCalls>,
    /// The callers whose requests the connection has carried so far.
    callers: Mutex<Callers>,
    state: Arc<Mutex<QuestionsState>>,
    /// How often the server may ask.
    rate: RateLimit,
}

/// The maximum number of questions within [`QUESTION_PERIOD`]. Further questions are refused. An application may answer
/// at once, so a limit of the questions that wait is not enough.
const MAX_QUESTIONS_PER_PERIOD: u32 = 2048;

/// The period of [`MAX_QUESTIONS_PER_PERIOD`].
const QUESTION_PERIOD: Duration = Duration::from_secs(10);

/// The maximum size in bytes of the questions that wait for their answers. Further questions are refused; a single
/// question may be longer.
const MAX_QUESTION_BYTES: usize = 4 << 20;

#[derive(Default)]
enum Callers {
    #[default]
    None,
    /// All requests so far were of this caller, or of the application itself (`None`).
    One(Option<Arc<str>>),
    Several,
}

/// The caller that a message or question of the server belongs to.
enum QuestionOwner {
    Caller(Arc<dyn Caller>),
    /// The application itself.
    Application,
    /// The caller cannot be determined.
    Unknown,
}

#[derive(Debug, Default)]
struct QuestionsState {
    stage: SessionStage,
    /// The questions that are being answered. An entry stays until its [`QuestionGuard`] is dropped, even if the server
    /// cancels the question.
    pending: HashMap<Id, PendingQuestion>,
    /// The total size of the questions in `pending`.
    bytes: usize,
    /// For how long at least one question was pending, until `busy_since`.
    question_time: Duration,
    /// Since when at least one question is pending.
    busy_since: Option<Instant>,
}

/// A question that is not answered yet.
#[derive(Debug)]
struct PendingQuestion {
    /// Dropping the sender cancels the question.
    cancel_on_drop: Option<oneshot::Sender<Infallible>>,
    /// The client's request on whose stream the question arrived, if it has one.
    during: Option<Id>,
    since: Instant,
    /// The length of the question as it was received.
    bytes: usize,
}

#[derive(Debug, Clone, Default)]
enum SessionStage {
    /// The session is being opened: the server may only send `ping`.
    #[default]
    Opening,
    /// The session is open, with this revision and these declared capabilities.
    Open(ProtocolVersion, Arc<ClientCapabilities>),
}

impl ServerQuestions {
    pub(crate) fn new(answers: AnswerHandlers, calls: Arc<OpenCalls>) -> Self {
        let rate = RateLimit::new(MAX_QUESTIONS_PER_PERIOD, QUESTION_PERIOD);
        Self { answers, calls, callers: Mutex::default(), state: Arc::default(), rate }
    }

    /// Opens the session: from now on the server may ask questions for which the client declared a capability.
    pub(crate) fn open(&self, version: ProtocolVersion, declared: ClientCapabilities) {
        self.state.lock().stage = SessionStage::Open(version, Arc::new(declared));
    }

    /// Records the caller of a request before the request is sent. Called only for requests about which the server may
    /// ask.
    pub(crate) fn note_caller(&self, caller: Option<&Arc<dyn Caller>>) {
        let caller = caller.map(|caller| caller.id().clone());
        let mut callers = self.callers.lock();
        *callers = match std::mem::take(&mut *callers) {
            Callers::None => Callers::One(caller),
            Callers::One(known) if known == caller => Callers::One(known),
            _ => Callers::Several,
        };
    }

    /// Decides which caller a message of the server belongs to; `during` is the request on whose stream the message
    /// arrived.
    fn owner(&self, during: Option<&Id>) -> QuestionOwner {
        // Read the open calls before `callers`. A caller is recorded before its call, so the caller of every call found
        // here is in `callers`.
        let open = self.calls.in_flight(during);
        let is_alone = during.is_some() || !matches!(*self.callers.lock(), Callers::Several);
        match open {
            CallsInFlight::None if is_alone => QuestionOwner::Application,
            CallsInFlight::One(caller) if is_alone => {
                caller.map_or(QuestionOwner::Application, QuestionOwner::Caller)
            }
            CallsInFlight::None | CallsInFlight::One(_) | CallsInFlight::Several => QuestionOwner::Unknown,
        }
    }

    /// Returns whether the server may be waiting for an answer before it replies to this request. Counts questions
    /// about the request, and questions about an unknown request that arrived after `sent`, the time when the request
    /// was sent.
    pub(crate) fn has_pending_question(&self, request: &Id, sent: Instant) -> bool {
        self.state.lock().pending.values().any(|open| match &open.during {
            Some(during) => during == request,
            None => open.since >= sent,
        })
    }

    /// Returns for how long at least one question was pending so far.
    pub(crate) fn question_time(&self) -> Duration {
        let state = self.state.lock();
        state.question_time + state.busy_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn register_question(
        &self,
        id: &Id,
        during: Option<&Id>,
        most: usize,
        bytes: usize,
    ) -> Result<(QuestionGuard, oneshot::Receiver<Infallible>), RpcError> {
        let mut state = self.state.lock();
        if state.pending.contains_key(id) {
            return Err(RpcError::invalid_request("another question with this id is not answered yet"));
        }
        let is_too_much = !state.pending.is_empty() && state.bytes + bytes > MAX_QUESTION_BYTES;
        if state.pending.len() >= most || is_too_much {
            return Err(RpcError::internal("too many questions wait for their answers"));
        }
        if self.rate.allow().is_none() {
            return Err(RpcError::internal("too many questions within a short time"));
        }
        let (sender, taken_back) = oneshot::channel();
        let during = during.cloned();
        let open = PendingQuestion { cancel_on_drop: Some(sender), during, since: Instant::now(), bytes };
        state.bytes += bytes;
        state.pending.insert(id.clone(), open);
        state.busy_since.get_or_insert_with(Instant::now);
        Ok((QuestionGuard { state: self.state.clone(), id: id.clone() }, taken_back))
    }

    /// Starts to answer a request of the server, or returns the error to refuse it with.
    fn start_answer(
        &self,
        id: &Id,
        method: &Method,
        params: &Params,
        during: Option<&Id>,
    ) -> Result<AnswerFrame, RpcError> {
        let stage = self.state.lock().stage.clone();
        let (version, question) = match (stage, method) {
            (SessionStage::Opening, Method::Ping) => {
                return Ok(AnswerFrame::Now(pong(ProtocolVersion::LATEST, id)));
            }
            (SessionStage::Open(version, _), Method::Ping) => return Ok(AnswerFrame::Now(pong(version, id))),
            (SessionStage::Open(version, declared), method) if method.is_known_in(version) => {
                (version, read_question(method, params, &declared)?)
            }
            (_, method) => return Err(RpcError::method_not_found(method.name())),
        };
        let is_ours = !self.answers.forwards_questions || self.answers.can_answer(&question);
        let theirs = match self.owner(during) {
            _ if is_ours => None,
            QuestionOwner::Caller(theirs) => Some(theirs),
            QuestionOwner::Application => return Err(RpcError::new(USER_REFUSED, NO_CALLER)),
            QuestionOwner::Unknown => return Err(RpcError::new(USER_REFUSED, UNKNOWN_CALLER)),
        };
        let most = if theirs.is_some() { MAX_FORWARDED_QUESTIONS } else { MAX_QUESTIONS };
        let bytes = params.text().map_or(0, |text| text.as_bytes().len());
        let (turn, taken_back) = self.register_question(id, during, most, bytes)?;
        let (id, method) = (id.clone(), method.clone());
        let answered: BoxFuture<'static, Bytes> = match theirs {
            Some(theirs) => {
                let asked = theirs.ask(question);
                Box::pin(async move {
                    match asked.await {
                        Ok(Ok(answer)) if answer.is_object() => answer_frame(version, &id, &answer),
                        Ok(Ok(_)) => error_frame(&id, &RpcError::internal("the answer is malformed")),
                        Ok(Err(error)) => error_frame(&id, &error),
                        Err(_) => error_frame(
                            &id,
                            &RpcError::new(USER_REFUSED, "the call that this question belongs to has ended"),
                        ),
                    }
                })
            }
            None => {
                let request_tag = during.and_then(|during| self.calls.tag(during));
                let origin = QuestionOrigin { request_tag, ..QuestionOrigin::default() };
                let answering = self.answers.clone().answer(question, origin);
                Box::pin(async move {
                    match answering.await {
                        Ok(answer) => answer_frame(version, &id, &RawJson::encoded(&answer, version)),
                        Err(unable) => error_frame(&id, &unable.to_rpc(&method)),
                    }
                })
            }
        };
        Ok(AnswerFrame::Later(Box::pin(async move {
            let _turn = turn;
            tokio::select! {
                biased;
                _ = taken_back => None,
                frame = answered => Some(frame),
            }
        })))
    }
}

impl RequestHandler for ServerQuestions {
    fn answer(&self, id: &Id, method: &Method, params: &Params, during: Option<&Id>) -> Option<AnswerFrame> {
        let begun = self.start_answer(id, method, params, during);
        Some(begun.unwrap_or_else(|refused| AnswerFrame::Now(error_frame(id, &refused))))
    }

    /// Ignores an unknown id: its question was answered in the meantime.
    fn cancel(&self, cancelled: &Cancelled) {
        if let Some(id) = &cancelled.request_id
            && let Some(running) = self.state.lock().pending.get_mut(id)
        {
            running.cancel_on_drop = None;
        }
    }

    fn caller(&self, during: Option<&Id>) -> Option<Arc<dyn Caller>> {
        match self.owner(during) {
            QuestionOwner::Caller(caller) => Some(caller),
            QuestionOwner::Application | QuestionOwner::Unknown => None,
        }
    }
}

/// Guard of a question that is being answered. Dropping it removes the question from the state.
struct QuestionGuard {
    state: Arc<Mutex<QuestionsState>>,
    id: Id,
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if let Some(question) = state.pending.remove(&self.id) {
            state.bytes -= question.bytes;
        }
        if state.pending.is_empty()
            && let Some(since) = state.busy_since.take()
        {
            state.question_time += since.elapsed();
        }
    }
}

/// Decodes the question in a request. A question of a kind that was not declared is refused without being decoded.
fn read_question(
    method: &Method,
    params: &Params,
    declared: &ClientCapabilities,
) -> Result<InputRequest, RpcError> {
    let question = InputRequest::of_request(method, params, declared)?
        .ok_or_else(|| RpcError::method_not_found(method.name()))?;
    check_question(&question, declared).map_err(|unable| unable.to_rpc(method))?;
    Ok(question)
}

impl QuestionError {
    /// The error that the server gets. If the application failed, the server does not get the cause, which is logged
    /// instead.
    fn to_rpc(&self, method: &Method) -> RpcError {
        match self {
            Self::Undeclared => RpcError::method_not_found(method.name()),
            Self::Invalid(reason) => RpcError::invalid_params(*reason),
            Self::Refused => RpcError::new(USER_REFUSED, "the user refused"),
            Self::Failed(cause) => {
                tracing::warn!(error = %Chain(&**cause), method = method.name(), "a question of the server was not answered");
                RpcError::internal("the client failed to answer")
            }
        }
    }
}

/// The error message for a question when no forwarded request is in flight.
const NO_CALLER: &str = "no request is in flight that this question could belong to";

/// The error message for a question that could belong to several callers.
const UNKNOWN_CALLER: &str =
    "several callers share this connection, and the question does not say which of them to ask";

/// The error code that the specification gives for a refusal by the user.
const USER_REFUSED: Code = Code(-1);

fn pong(version: ProtocolVersion, id: &Id) -> Bytes {
    let mut frame = Vec::new();
    write_result(&mut frame, version, id, |_| {});
    frame.into()
}

/// Writes the reply to a question; the members of the answer become the members of the result.
fn answer_frame(version: ProtocolVersion, id: &Id, answer: &RawJson) -> Bytes {
    let mut frame = Vec::new();
    write_result(&mut frame, version, id, |members| put_params(members, Some(answer)));
    frame.into()
}
