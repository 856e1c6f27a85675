//! When a client repeats a call with answers, which state did the earlier rounds leave, and did this server write it?
//!
//! A call that asks questions takes several rounds: each round ends with questions, and the client repeats the call
//! with the answers. The state of the call travels through the client. It is sealed (encrypted and authenticated), is
//! bound to the caller, the method, its target and its arguments, and expires. A state that cannot be opened is
//! refused. Answers without a state are accepted too, except by a tool whose states are valid only once: they are checked
//! against the forms that they answer, and an answer does not authorize anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::request::{Request, Rounds};
use toolway_protocol::types::{InputRequired, OrderedMap};
use toolway_protocol::{Method, RawJson, RpcError};

use crate::ground::insert_all::insert_all;
use crate::server::Server;
use crate::server::call::principal::Principal;
use crate::server::call::question_log::{AskMode, QuestionContext};
use crate::server::call::replay::ReplayState;
use crate::server::failure::errors::busy;
use crate::server::stateless::seal::{Binding, OpenError, SealKeys};
use crate::store::{Condition, Operation, Outcome, Step, random_version};

/// Collects the answers and the state that came with a request.
pub(crate) async fn question_context(
    server: &Server,
    request: &Request,
    principal: Option<&Principal>,
) -> Result<QuestionContext, RpcError> {
    let Some(Rounds { input_responses, request_state, .. }) = request.rounds() else {
        return Ok(QuestionContext::default());
    };
    let mut asking = QuestionContext { mode: AskMode::NextCall, ..QuestionContext::default() };
    if let Some(responses) = input_responses {
        let OrderedMap(answers) = responses.decode::<OrderedMap<RawJson>>().map_err(|_| {
            RpcError::invalid_params(
                "`params.inputResponses` must be an object that maps the keys of questions to answers",
            )
        })?;
        // A state is marked as used; without one, the same answers would count as often as they are sent.
        if request_state.is_none() && !answers.is_empty() && is_single_use(server, request) {
            return Err(RpcError::invalid_params(
                "`params.inputResponses` need the `params.requestState` of the call that asked: call again without them",
            ));
        }
        let answers: BTreeMap<_, _> = insert_all(answers.into_iter().map(|(key, answer)| (key, Ok(answer))));
        asking.new_answers = Some(Arc::new(answers));
    }
    if let Some(state) = request_state {
        // Boxed, because few calls carry a state.
        asking.replay = Some(Arc::new(Box::pin(open_state(server, request, principal, state)).await?));
    }
    Ok(asking)
}

async fn open_state(
    server: &Server,
    request: &Request,
    principal: Option<&Principal>,
    state: &str,
) -> Result<ReplayState, RpcError> {
    let now = now();
    let arguments = arguments(request);
    let bound = binding(server, request, principal, arguments.as_ref());
    let latest = expiry(server, now).saturating_add(MAX_CLOCK_SKEW.as_secs());
    let opened = server.inner.seal_keys.open(&bound, state, now..latest).map_err(|why| {
        RpcError::invalid_params(match why {
            OpenError::Foreign => "`params.requestState` was not issued for this call: call again without it",
            OpenError::Expired => "`params.requestState` has expired: call again without it",
            OpenError::TooLong => {
                tracing::warn!(
                    "a `requestState` expires later than any that this server issues: the clock of a server that shares \
                     the seal keys is ahead, or its question timeout is longer"
                );
                "`params.requestState` is valid for too long, because the clock of the server that issued it is ahead: \
                 call again without it"
            }
        })
    })?;
    if is_single_use(server, request) {
        let left = Duration::from_secs(opened.expires.saturating_sub(now)) + MAX_CLOCK_SKEW;
        let group = format!("u/{}", opened.id);
        match server.inner.store.run(&group, &use_once(left)).await {
            Ok(Outcome::Done(_)) => {}
            Ok(_) => {
                return Err(RpcError::invalid_params(
                    "`params.requestState` was used before: call again without it",
                ));
            }
            Err(error) => {
                tracing::error!(%error, "the store failed");
                return Err(busy(
                    "the server cannot check at the moment whether `params.requestState` was used before",
                ));
            }
        }
    }
    // An opened state was written by this program, but perhaps by another version of it.
    ReplayState::read(&opened.plain).ok_or_else(|| {
        RpcError::invalid_params("`params.requestState` cannot be read any more: call again without it")
    })
}

/// Marks a state as used, unless it is.
fn use_once(ttl: Duration) -> Step {
    let put = Operation::Put { key: "used".into(), value: Bytes::new(), version: random_version(), ttl };
    Step::new().when(Condition::Absent("used".into())).then(put)
}

fn is_single_use(server: &Server, request: &Request) -> bool {
    let Request::CallTool(call) = request else { return false };
    server.inner.registry.load().tool(&call.name).is_some_and(|tool| tool.is_single_use)
}

/// Adds the sealed state for the next round to the questions that ended this round.
pub(crate) fn seal(
    server: &Server,
    method: &Method,
    params: &Params,
    principal: Option<&Principal>,
    required: InputRequired,
    past: &ReplayState,
    is_http: bool,
) -> Result<InputRequired, RpcError> {
    if is_http && server.inner.seal_keys.is_random() {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| {
            tracing::warn!(
                "this server asks questions over HTTP with random seal keys: after a restart, or on another machine, \
                 the states that clients send back cannot be decrypted; call `seal_keys` or set TOOLWAY_SEAL_KEYS"
            );
        });
    }
    let text = past.write();
    if !SealKeys::fits(text.len()) {
        return Err(RpcError::internal("the state of the call is too large to be sent to the client"));
    }
    // Decoded again, because the call has consumed the request. The cost does not matter, because few calls ask.
    let request =
        Request::decode(method, params)?.ok_or_else(|| RpcError::method_not_found(method.name()))?;
    let arguments = arguments(&request);
    let bound = binding(server, &request, principal, arguments.as_ref());
    let expires = expiry(server, now());
    Ok(required.with_request_state(server.inner.seal_keys.seal(&bound, &text, expires)))
}

/// Returns when a state expires that is issued at `now`, in seconds since the Unix epoch.
fn expiry(server: &Server, now: u64) -> u64 {
    now.saturating_add(server.inner.question_timeout.as_secs().max(1))
}

fn arguments(request: &Request) -> Option<RawJson> {
    if let Request::CallTool(call) = request {
        call.arguments.clone()
    } else if let Request::GetPrompt(get) = request {
        RawJson::from_value(get.arguments.as_ref()?).ok()
    } else {
        None
    }
}

/// Fails the build when a further method may ask questions. A state is bound to the arguments of its call, so a further
/// method with arguments must be added to `arguments`.
const _: () = {
    let (mut asking, mut place) = (0, 0);
    while place < Method::ALL.len() {
        asking += Method::ALL[place].may_ask() as usize;
        place += 1;
    }
    assert!(
        asking == 3,
        "only tools/call, prompts/get and resources/read ask: `bound` must cover any other method that asks"
    );
};

fn binding<'b>(
    server: &'b Server,
    request: &'b Request,
    principal: Option<&'b Principal>,
    arguments: Option<&'b RawJson>,
) -> Binding<'b> {
    Binding {
        principal: principal.map(Principal::as_str),
        server: &server.inner.info.name,
        method: request.facts().map_or("", |facts| facts.name),
        target: request.name().unwrap_or_default(),
        arguments,
    }
}

/// How far the clocks of machines that share a store may differ.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(10 * 60);

/// Returns the seconds since the Unix epoch, by the system clock: another machine may open the state.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
