//! How often does a handler run until its call is answered?
//!
//! Once, unless the handler asks a question. A question without an answer ends a run, whatever the handler returned. If
//! the client can be asked while the call runs, it is asked here, and the handler runs again. Otherwise the questions
//! are the outcome of the call, and the client calls again with the answers.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::either::Either;
use toolway_protocol::RpcError;
use toolway_protocol::request::{Outcome, Reply, Request};
use toolway_protocol::types::{CallToolResult, InputRequired, OrderedMap};

use crate::ground::future::BoxFuture;
use crate::ground::panic::catch_panic_async;
use crate::ground::poll_once::poll_once;
use crate::server::Server;
use crate::server::call::layer::call::Call;
use crate::server::call::layer::reply::{CallError, CallReply};
use crate::server::call::layer::service::Next;
use crate::server::call::layer::stack::{CallKind, LayerPath};
use crate::server::call::question_log::{AskMode, Asker};
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::visibility::Visibility;
use crate::server::catalog::visible::ElementRef;
use crate::server::failure::errors::{Failure, Subject};
use crate::server::observe::call_observer::CallObserver;

impl Server {
    /// Answers a request. This is not an `async fn`, because its future would store each argument twice.
    pub(crate) fn answer(
        &self,
        request: Request,
        mut arrival: Box<Arrival>,
    ) -> impl Future<Output = Result<CallReply, Failure>> + Send + use<'_> {
        let request = self.canonical_request(request);
        if let Some(refuse) = self.refuse_unscoped(&arrival, [&request]) {
            return Either::Right(Box::pin(async move { Err(refuse.error().into()) }) as BoxFuture<'_, _>);
        }
        let watching = CallObserver::begin(self, || request.method(), Some(&request), &mut arrival);
        let path = layer_path_of(self, &request, arrival.visibility.as_deref());
        if watching.is_none() && path.is_none() {
            return Either::Left(run_handler(self, request, arrival));
        }
        // Boxed: most calls are neither watched nor wrapped in layers.
        Either::Right(Box::pin(async move {
            match (watching, path) {
                (None, None) => run_handler(self, request, arrival).await,
                (None, Some(path)) => run_through_layers(self, request, arrival, path).await,
                (Some(watching), None) => watching.observe(run_handler(self, request, arrival)).await,
                (Some(watching), Some(path)) => {
                    watching.observe(run_through_layers(self, request, arrival, path)).await
                }
            }
        }) as BoxFuture<'_, _>)
    }
}

/// Returns the layers that a request passes through, or `None` if there are none. The layers of an element that the
/// caller may not see are left out: a layer might answer, or reveal that the element exists.
fn layer_path_of(server: &Server, request: &Request, allowed: Option<&Visibility>) -> Option<LayerPath> {
    let inner = &server.inner;
    let none_anywhere = inner.layers.is_empty()
        && !inner.registry.has_layers()
        && !inner.methods_have_layers
        && !inner.sources.have_layers();
    if none_anywhere {
        return None;
    }
    let snapshot = inner.registry.load();
    let element = if let Request::Other(method, _) = request {
        inner.methods.get(method.name()).map(|method| &method.layers)
    } else {
        match snapshot.target_of(request, allowed) {
            Some(ElementRef::Tool(tool)) => Some(&tool.origin.layers),
            Some(ElementRef::Prompt(prompt)) => Some(&prompt.origin.layers),
            Some(ElementRef::Resource(resource)) => Some(&resource.origin.layers),
            None => None,
        }
    };
    let mut element = element.cloned().unwrap_or_default();
    // A resource without a handler is read from a source, whose layers are inside those of the resource.
    if let Some(source) = inner.sources.layers_for(&snapshot, request, allowed) {
        let mut layers = source.clone();
        layers.wrap_with(&element);
        element = layers;
    }
    let kind = CallKind::of(request);
    let is_bare = !inner.layers.has_layers_for(kind) && !element.has_layers_for(kind);
    (!is_bare).then(|| LayerPath::new(inner.layers.clone(), element, after_layers))
}

/// Passes a call through its layers to its handler.
async fn run_through_layers(
    server: &Server,
    request: Request,
    arrival: Box<Arrival>,
    path: LayerPath,
) -> Result<CallReply, Failure> {
    let (method, for_hooks) = (request.method(), arrival.for_hooks());
    let call = Call { server: server.clone(), request, arrival, layer_path: path };
    let cause = match catch_panic_async(|| Next::new().run(call)).await {
        Ok(Ok(answer)) if CallKind::is_valid_answer(&method, &answer.outcome) => return Ok(answer),
        Ok(Ok(_)) => format!("a layer answered {} with a result of another kind", method.name()).into(),
        Ok(Err(error)) => match error.into_failure() {
            Failure::Hidden(cause) => cause,
            failure => return Err(failure),
        },
        Err(panic) => panic.into(),
    };
    let scope = Scope::begin(server.clone(), for_hooks);
    let subject = Subject::new(&method, "layer around", method.name());
    Err(server.request_failure(&scope, subject, Failure::Hidden(cause)).await)
}

/// Runs the handler of a call that has passed through its layers.
fn after_layers(call: Call) -> BoxFuture<'static, Result<CallReply, CallError>> {
    Box::pin(async move {
        let Call { server, request, arrival, .. } = call;
        run_handler(&server, request, arrival).await.map_err(CallError::from_failure)
    })
}

/// Runs the handler behind a request until the request is answered. Like `run_once` and `Server::route`, this is not an
/// `async fn`: its future would hold the request a second time.
fn run_handler(
    server: &Server,
    request: Request,
    mut arrival: Box<Arrival>,
) -> impl Future<Output = Result<CallReply, Failure>> + Send + use<'_> {
    if request.rounds().is_none() {
        arrival.questions.mode = AskMode::NotAllowed;
    }
    match &arrival.questions.mode {
        // If the client supports no questions, a second run is never needed.
        AskMode::Live(asker) if arrival.peer.can_be_asked() => {
            let asker = asker.clone();
            // Boxed, so that requests without questions do not have a larger future.
            Either::Right(Box::pin(run_with_questions(server, request, arrival, asker)))
        }
        _ => Either::Left(run_once(server, request, arrival)),
    }
}

/// Runs the handler once. If there are unanswered questions, they are the outcome, whatever the handler returned.
fn run_once(
    server: &Server,
    request: Request,
    arrival: Box<Arrival>,
) -> impl Future<Output = Result<CallReply, Failure>> + Send + use<'_> {
    arrival.telemetry.count_round();
    let is_tool = matches!(request, Request::CallTool(_));
    let scope = Scope::begin(server.clone(), arrival);
    async move {
        let answer = {
            let run = pin!(server.route(request, &scope));
            within_deadline(&scope, is_tool, run).await
        };
        match scope.take_questions() {
            None => answer,
            Some((open, past)) => {
                let required = InputRequired::new().with_input_requests(OrderedMap::from(open));
                let outcome = Outcome::NeedInput(required);
                Ok(CallReply { outcome, cache: None, replay: Some(Box::new(past)) })
            }
        }
    }
}

/// Stops a run that exceeds its deadline. Most runs complete at the first poll and need no timer.
async fn within_deadline(
    scope: &Scope,
    is_tool: bool,
    mut run: Pin<&mut impl Future<Output = Result<CallReply, Failure>>>,
) -> Result<CallReply, Failure> {
    if let Poll::Ready(answer) = poll_once(run.as_mut()).await {
        return answer;
    }
    // Timers need a tokio runtime, which the application may not have.
    let Some(limit) = scope.deadline().filter(|_| Handle::try_current().is_ok()) else { return run.await };
    let begun = Instant::now();
    let max_time = limit.max(scope.server().inner.max_call_time);
    let text = loop {
        let last_progress = scope.progress_time();
        let due = (last_progress.unwrap_or(begun) + limit).min(begun + max_time);
        if let Ok(answer) = tokio::time::timeout_at(due, run.as_mut()).await {
            return answer;
        }
        if due == begun + max_time {
            break format!("the call took longer than {max_time:?} and was stopped");
        }
        if scope.progress_time() == last_progress {
            break match last_progress {
                Some(_) => format!("the call reported no progress for {limit:?} and was stopped"),
                None => format!("the call took longer than {limit:?} and was stopped"),
            };
        }
    };
    tracing::warn!(?limit, ?max_time, "a handler exceeded its deadline and was stopped");
    if is_tool {
        return Ok(CallReply::complete(Reply::ToolCalled(CallToolResult::error(text))));
    }
    Err(RpcError::internal(text).into())
}

/// Runs the handler until the request is answered, and asks the client between runs.
async fn run_with_questions(
    server: &Server,
    request: Request,
    mut arrival: Box<Arrival>,
    asker: Arc<dyn Asker>,
) -> Result<CallReply, Failure> {
    loop {
        let CallReply { outcome, cache, replay: past } =
            run_once(server, request.clone(), arrival.clone()).await?;
        let required = match outcome {
            outcome @ Outcome::Complete(_) => return Ok(CallReply { outcome, cache, replay: past }),
            Outcome::NeedInput(required) => required,
        };
        let OrderedMap(questions) = required.input_requests.unwrap_or_default();
        let within = server.inner.question_timeout;
        let fresh = asker.ask(arrival.peer.version, &arrival.outbound, questions, within).await;
        arrival.questions.replay = past.map(|past| Arc::new(*past));
        arrival.questions.new_answers = Some(Arc::new(fresh));
    }
}
