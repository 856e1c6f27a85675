//! How are the server's questions answered, and which caller does each question belong to?
//!
//! A server of the handshake era may ask at any time, even about a call that has ended. If a question arrives on the
//! stream of a call, it belongs to the caller of that call. Otherwise it belongs to a caller only if exactly one
//! request is in flight and all requests of the connection so far were of that caller.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::Instant;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::jsonrpc::{Code, Params, write_result};
use toolway_protocol::types::{Cancelled, InputRequest};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, RpcError};

use crate::client::answer::answers::{Answers, MAX_ASKED, Place, Unable, check};
use crate::client::answer::caller::{Caller, Open, OpenCalls};
use crate::client::wire::inbox::{Answering, MAX_PASSED, RequestHandler};
use crate::client::wire::outgoing::{error_frame, put_params};
use crate::ground::error::Chain;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

/// The server's questions in one session.
pub(crate) struct Questions {
    pub(crate) answers: Answers,
    /// The client's requests in flight about which the server may ask.
    calls: Arc<OpenCalls>,
    /// The callers whose requests the connection has carried so far.
    callers: Mutex<Callers>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
enum Callers {
    #[default]
    None,
    /// All requests so far were of this caller, or of the application itself (`None`).
    One(Option<Arc<str>>),
    Several,
}

/// The caller that a message or question of the server belongs to.
enum Whose {
    Theirs(Arc<dyn Caller>),
    /// The application itself.
    Ours,
    /// The caller cannot be determined.
    Unknown,
}

#[derive(Debug, Default)]
struct State {
    stage: Stage,
    /// The questions that are being answered. An entry stays until its [`Turn`] is dropped, even if the server cancels
    /// the question.
    running: HashMap<Id, Pending>,
}

/// A question that is not answered yet.
#[derive(Debug)]
struct Pending {
    /// Dropping the sender cancels the question.
    taken_back: Option<oneshot::Sender<Infallible>>,
    /// The client's request on whose stream the question arrived, if it has one.
    during: Option<Id>,
    since: Instant,
}

#[derive(Debug, Clone, Default)]
enum Stage {
    /// The session is being opened: the server may only send `ping`.
    #[default]
    Opening,
    /// The session is open, with this revision and these declared capabilities.
    Open(ProtocolVersion, Arc<ClientCapabilities>),
}

impl Questions {
    pub(crate) fn new(answers: Answers, calls: Arc<OpenCalls>) -> Self {
        Self { answers, calls, callers: Mutex::default(), state: Arc::default() }
    }

    /// Opens the session: from now on the server may ask questions for which the client declared a capability.
    pub(crate) fn open(&self, version: ProtocolVersion, declared: ClientCapabilities) {
        self.state.lock().stage = Stage::Open(version, Arc::new(declared));
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
    fn whose(&self, during: Option<&Id>) -> Whose {
        // Read the open calls before `callers`. A caller is recorded before its call, so the caller of every call found
        // here is in `callers`.
        let open = self.calls.open(during);
        let is_alone = during.is_some() || !matches!(*self.callers.lock(), Callers::Several);
        match open {
            Open::None if is_alone => Whose::Ours,
            Open::One(caller) if is_alone => caller.map_or(Whose::Ours, Whose::Theirs),
            Open::None | Open::One(_) | Open::Several => Whose::Unknown,
        }
    }

    /// Returns whether the server may be waiting for an answer before it replies to this request. Counts questions
    /// about the request, and questions about an unknown request that arrived after `sent`, the time when the request
    /// was sent.
    pub(crate) fn is_asked_about(&self, request: &Id, sent: Instant) -> bool {
        self.state.lock().running.values().any(|open| match &open.during {
            Some(during) => during == request,
            None => open.since >= sent,
        })
    }

    fn begin_turn(
        &self,
        id: &Id,
        during: Option<&Id>,
        most: usize,
    ) -> Result<(Turn, oneshot::Receiver<Infallible>), RpcError> {
        let mut state = self.state.lock();
        if state.running.contains_key(id) {
            return Err(RpcError::invalid_request("another question with this id is not answered yet"));
        }
        if state.running.len() >= most {
            return Err(RpcError::internal("too many questions wait for their answers"));
        }
        let (sender, taken_back) = oneshot::channel();
        let open = Pending { taken_back: Some(sender), during: during.cloned(), since: Instant::now() };
        state.running.insert(id.clone(), open);
        Ok((Turn { state: self.state.clone(), id: id.clone() }, taken_back))
    }

    /// Starts to answer a request of the server, or returns the error to refuse it with.
    fn begin(
        &self,
        id: &Id,
        method: &Method,
        params: &Params,
        during: Option<&Id>,
    ) -> Result<Answering, RpcError> {
        let stage = self.state.lock().stage.clone();
        let (version, question) = match (stage, method) {
            (Stage::Opening, Method::Ping) => return Ok(Answering::Now(pong(ProtocolVersion::LATEST, id))),
            (Stage::Open(version, _), Method::Ping) => return Ok(Answering::Now(pong(version, id))),
            (Stage::Open(version, declared), method) if method.is_known_in(version) => {
                (version, read(method, params, &declared)?)
            }
            (_, method) => return Err(RpcError::method_not_found(method.name())),
        };
        let is_ours = !self.answers.passes || self.answers.has(&question);
        let theirs = match self.whose(during) {
            _ if is_ours => None,
            Whose::Theirs(theirs) => Some(theirs),
            Whose::Ours => return Err(RpcError::new(REFUSED, NOBODY)),
            Whose::Unknown => return Err(RpcError::new(REFUSED, UNKNOWN)),
        };
        let most = if theirs.is_some() { MAX_PASSED } else { MAX_ASKED };
        let (turn, taken_back) = self.begin_turn(id, during, most)?;
        let (id, method) = (id.clone(), method.clone());
        let answered: BoxFuture<'static, Bytes> = match theirs {
            Some(theirs) => {
                let asked = theirs.ask(question);
                Box::pin(async move {
                    match asked.await {
                        Ok(Ok(answer)) if answer.is_object() => told(version, &id, &answer),
                        Ok(Ok(_)) => error_frame(&id, &RpcError::internal("the answer is malformed")),
                        Ok(Err(error)) => error_frame(&id, &error),
                        Err(_) => error_frame(
                            &id,
                            &RpcError::new(REFUSED, "the call that this question belongs to has ended"),
                        ),
                    }
                })
            }
            None => {
                let answering = self.answers.clone().answer(question, Place::default());
                Box::pin(async move {
                    match answering.await {
                        Ok(answer) => told(version, &id, &RawJson::encoded(&answer, version)),
                        Err(unable) => error_frame(&id, &unable.to_rpc(&method)),
                    }
                })
            }
        };
        Ok(Answering::Later(Box::pin(async move {
            let _turn = turn;
            tokio::select! {
                biased;
                _ = taken_back => None,
                frame = answered => Some(frame),
            }
        })))
    }
}

impl RequestHandler for Questions {
    fn answer(&self, id: &Id, method: &Method, params: &Params, during: Option<&Id>) -> Option<Answering> {
        let begun = self.begin(id, method, params, during);
        Some(begun.unwrap_or_else(|refused| Answering::Now(error_frame(id, &refused))))
    }

    /// Ignores an unknown id: its question was answered in the meantime.
    fn cancel(&self, cancelled: &Cancelled) {
        if let Some(id) = &cancelled.request_id
            && let Some(running) = self.state.lock().running.get_mut(id)
        {
            running.taken_back = None;
        }
    }

    fn caller(&self, during: Option<&Id>) -> Option<Arc<dyn Caller>> {
        match self.whose(during) {
            Whose::Theirs(caller) => Some(caller),
            Whose::Ours | Whose::Unknown => None,
        }
    }
}

/// Guard of a question that is being answered. Dropping it removes the question from the state.
struct Turn {
    state: Arc<Mutex<State>>,
    id: Id,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.state.lock().running.remove(&self.id);
    }
}

/// Decodes the question in a request. A question of a kind that was not declared is refused without being decoded.
fn read(method: &Method, params: &Params, declared: &ClientCapabilities) -> Result<InputRequest, RpcError> {
    let question = InputRequest::of_request(method, params, declared)?
        .ok_or_else(|| RpcError::method_not_found(method.name()))?;
    check(&question, declared).map_err(|unable| unable.to_rpc(method))?;
    Ok(question)
}

impl Unable {
    /// The error that the server gets. If the application failed, the server does not get the cause, which is logged
    /// instead.
    fn to_rpc(&self, method: &Method) -> RpcError {
        match self {
            Self::Undeclared => RpcError::method_not_found(method.name()),
            Self::Wrong(reason) => RpcError::invalid_params(*reason),
            Self::Refused => RpcError::new(REFUSED, "the user refused"),
            Self::Failed(cause) => {
                tracing::warn!(error = %Chain(&**cause), method = method.name(), "a question of the server was not answered");
                RpcError::internal("the client failed to answer")
            }
        }
    }
}

/// The error message for a question when no forwarded request is in flight.
const NOBODY: &str = "no request is in flight that this question could belong to";

/// The error message for a question that could belong to several callers.
const UNKNOWN: &str =
    "several callers share this connection, and the question does not say which of them to ask";

/// The error code that the specification gives for a refusal by the user.
const REFUSED: Code = Code(-1);

fn pong(version: ProtocolVersion, id: &Id) -> Bytes {
    let mut frame = Vec::new();
    write_result(&mut frame, version, id, |_| {});
    frame.into()
}

/// Writes the reply to a question; the members of the answer become the members of the result.
fn told(version: ProtocolVersion, id: &Id, answer: &RawJson) -> Bytes {
    let mut frame = Vec::new();
    write_result(&mut frame, version, id, |members| put_params(members, Some(answer)));
    frame.into()
}
