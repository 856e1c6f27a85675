//! Which requests of the server are being answered?

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::json::{Encode, Encoder};
use toolway_protocol::jsonrpc::{Code, Params, write_error, write_result};
use toolway_protocol::types::{Cancelled, InputRequest, InputResponse};
use toolway_protocol::{Id, Method, ProtocolVersion, RpcError};

use super::answer::{Answers, Place, Unable, check};
use super::transport::Answering;
use crate::error::Chain;

/// How many questions may wait for their answers at once.
pub(super) const MAX_ASKED: usize = 32;

/// The questions of one conversation.
#[derive(Debug)]
pub(super) struct Asked {
    answers: Answers,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    stage: Stage,
    /// Dropping the sender takes the question back. The entry stays until its answering has ended, and so does its turn.
    running: HashMap<Id, Option<oneshot::Sender<Infallible>>>,
}

#[derive(Debug, Clone, Default)]
enum Stage {
    /// This server does not ask, or not yet.
    #[default]
    Silent,
    /// A conversation is being opened: the server may ask whether we are there.
    Opening,
    /// It was opened, and this is what the server may know of us.
    Open(ProtocolVersion, Arc<ClientCapabilities>),
}

impl Asked {
    pub(super) fn new(answers: Answers) -> Self {
        Self { answers, state: Arc::default() }
    }

    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// From now on the server may ask whether we are there.
    pub(super) fn begin(&self) {
        lock(&self.state).stage = Stage::Opening;
    }

    /// From now on the server may ask everything that was declared.
    pub(super) fn open(&self, version: ProtocolVersion, declared: ClientCapabilities) {
        lock(&self.state).stage = Stage::Open(version, Arc::new(declared));
    }

    pub(super) fn answer(&self, id: &Id, method: &Method, params: &Params) -> Option<Answering> {
        let stage = lock(&self.state).stage.clone();
        let refuse = |error| Some(Answering::Now(refusal(id, &error)));
        let (version, question) = match (stage, method) {
            (Stage::Silent, _) => return None,
            (Stage::Opening, Method::Ping) => return Some(Answering::Now(pong(ProtocolVersion::LATEST, id))),
            (Stage::Open(version, _), Method::Ping) => return Some(Answering::Now(pong(version, id))),
            (Stage::Open(version, declared), method) if method.is_known_in(version) => {
                let question = read(method, params, &declared).and_then(|question| {
                    check(&question, &declared).map_err(|unable| unable.to_rpc(method))?;
                    Ok(question)
                });
                match question {
                    Ok(question) => (version, question),
                    Err(error) => return refuse(error),
                }
            }
            (_, method) => return refuse(RpcError::method_not_found(method.name())),
        };
        let (turn, taken_back) = match self.begin_turn(id) {
            Ok(begun) => begun,
            Err(error) => return refuse(error),
        };
        let (answers, id, method) = (self.answers.clone(), id.clone(), method.clone());
        Some(Answering::Later(Box::pin(async move {
            let _turn = turn;
            tokio::select! {
                biased;
                _ = taken_back => None,
                answer = answers.answer(question, Place::default()) => Some(match answer {
                    Ok(answer) => reply(version, &id, &answer),
                    Err(unable) => refusal(&id, &unable.to_rpc(&method)),
                }),
            }
        })))
    }

    fn begin_turn(&self, id: &Id) -> Result<(Turn, oneshot::Receiver<Infallible>), RpcError> {
        let mut state = lock(&self.state);
        if state.running.contains_key(id) {
            return Err(RpcError::invalid_request("the id is that of a question that is not answered yet"));
        }
        if state.running.len() >= MAX_ASKED {
            return Err(RpcError::internal("too many questions wait for their answers"));
        }
        let (sender, taken_back) = oneshot::channel();
        state.running.insert(id.clone(), Some(sender));
        Ok((Turn { state: self.state.clone(), id: id.clone() }, taken_back))
    }

    /// The server does not want a question answered any more. One that is not known was answered meanwhile.
    pub(super) fn take_back(&self, cancelled: &Cancelled) {
        if let Some(id) = &cancelled.request_id
            && let Some(running) = lock(&self.state).running.get_mut(id)
        {
            *running = None;
        }
    }
}

/// One question that is being answered, until this is dropped.
struct Turn {
    state: Arc<Mutex<State>>,
    id: Id,
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.state).running.remove(&self.id);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The question that a request is. One of a kind that was not declared is not even looked at.
fn read(method: &Method, params: &Params, declared: &ClientCapabilities) -> Result<InputRequest, RpcError> {
    match method {
        Method::Elicit if declared.elicitation.is_some() => params.decode().map(InputRequest::Elicit),
        Method::CreateMessage if declared.sampling.is_some() => {
            params.decode().map(InputRequest::CreateMessage)
        }
        Method::ListRoots if declared.roots.is_some() => {
            params.decode().map(|told| InputRequest::ListRoots(Some(told)))
        }
        method => Err(RpcError::method_not_found(method.name())),
    }
}

impl Unable {
    /// What the server learns; why something of ours failed is told to the log.
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

/// What the specification gives as the code of a user's refusal.
const REFUSED: Code = Code(-1);

fn pong(version: ProtocolVersion, id: &Id) -> Bytes {
    let mut frame = Vec::new();
    write_result(&mut frame, version, id, |_| {});
    frame.into()
}

fn reply(version: ProtocolVersion, id: &Id, answer: &InputResponse) -> Bytes {
    let mut text = Vec::new();
    answer.encode(&mut Encoder::new(&mut text, version));
    let mut frame = Vec::new();
    // An answer is an object: its members go where those of a result stand.
    write_result(&mut frame, version, id, |members| members.splice(&text[1..text.len() - 1]));
    frame.into()
}

fn refusal(id: &Id, error: &RpcError) -> Bytes {
    let mut frame = Vec::new();
    write_error(&mut frame, Some(id), error);
    frame.into()
}
