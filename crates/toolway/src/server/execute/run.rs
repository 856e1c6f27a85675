//! How often does a handler run until its call is answered?
//!
//! Once, unless the handler asks a question. A question without an answer ends a run, whatever the handler returned. If
//! the client can be asked while the call runs, it is asked here, and the handler runs again. Otherwise the questions
//! are the outcome of the call, and the client calls again with the answers.

use std::future::ready;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use tokio::runtime::Handle;
use tokio_util::either::Either;
use toolway_protocol::RpcError;
use toolway_protocol::request::{Outcome, Reply, Request};
use toolway_protocol::types::{CallToolResult, InputRequired, Keyed};

use crate::ground::future::BoxFuture;
use crate::ground::panic::catch;
use crate::ground::poll_once::poll_once;
use crate::server::Server;
use crate::server::call::layer::answer::{Answer, CallError};
use crate::server::call::layer::call::Call;
use crate::server::call::layer::service::Next;
use crate::server::call::layer::stages::{Kind, Path};
use crate::server::call::question_log::{Asker, Way};
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::visibility::Allowed;
use crate::server::catalog::visible::Element;
use crate::server::failure::errors::{Failure, Subject, busy};
use crate::server::observe::watch::Watching;

impl Server {
    /// Answers a request. This is not an `async fn`, because its future would store each argument twice.
    pub(crate) fn answer(
        &self,
        request: Request,
        mut arrival: Box<Arrival>,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send + use<'_> {
        let Ok(place) = self.inner.places.try_acquire() else {
            let full = busy("too many requests are running");
            return Either::Right(Box::pin(ready(Err(full.into()))) as BoxFuture<'_, _>);
        };
        let request = self.by_own_name(request);
        let watching = Watching::begin(self, || request.method(), Some(&request), &mut arrival);
        let path = path_of(self, &request, arrival.allowed.as_deref());
        if watching.is_none() && path.is_none() {
            return Either::Left(async move {
                let _place = place;
                run(self, request, arrival).await
            });
        }
        // Boxed: most calls are neither watched nor wrapped in layers.
        Either::Right(Box::pin(async move {
            let _place = place;
            match (watching, path) {
                (None, None) => run(self, request, arrival).await,
                (None, Some(path)) => through(self, request, arrival, path).await,
                (Some(watching), None) => watching.over(run(self, request, arrival)).await,
                (Some(watching), Some(path)) => watching.over(through(self, request, arrival, path)).await,
            }
        }))
    }
}

/// Returns the layers that a request passes through, or `None` if there are none. The layers of an element that the
/// caller may not see are left out: a layer might answer, or reveal that the element exists.
fn path_of(server: &Server, request: &Request, allowed: Option<&Allowed>) -> Option<Path> {
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
        match snapshot.asked_for(request, allowed) {
            Some(Element::Tool(tool)) => Some(&tool.origin.layers),
            Some(Element::Prompt(prompt)) => Some(&prompt.origin.layers),
            Some(Element::Resource(resource)) => Some(&resource.origin.layers),
            None => inner.sources.layers_around(&snapshot, request, allowed),
        }
    };
    let element = element.cloned().unwrap_or_default();
    let kind = Kind::of(request);
    let is_bare = !inner.layers.concern(kind) && !element.concern(kind);
    (!is_bare).then(|| Path::new(inner.layers.clone(), element, after_layers))
}

/// Passes a call through its layers to its handler.
async fn through(
    server: &Server,
    request: Request,
    arrival: Box<Arrival>,
    path: Path,
) -> Result<Answer, Failure> {
    let (method, for_hooks) = (request.method(), arrival.for_hooks());
    let call = Call { server: server.clone(), request, arrival, path };
    let cause = match catch(|| Next::new().run(call)).await {
        Ok(Ok(answer)) if Kind::is_answered_by(&method, &answer.outcome) => return Ok(answer),
        Ok(Ok(_)) => format!("a layer answered {} with a result of another kind", method.name()).into(),
        Ok(Err(error)) => match error.into_failure() {
            Failure::Hidden(cause) => cause,
            failure => return Err(failure),
        },
        Err(panic) => panic.into(),
    };
    let scope = Scope::begin(server.clone(), for_hooks);
    let subject = Subject::new(&method, "layer around", method.name());
    Err(server.failed(&scope, subject, Failure::Hidden(cause)).await)
}

/// Runs the handler of a call that has passed through its layers.
fn after_layers(call: Call) -> BoxFuture<'static, Result<Answer, CallError>> {
    Box::pin(async move {
        let Call { server, request, arrival, .. } = call;
        run(&server, request, arrival).await.map_err(CallError::told)
    })
}

/// Runs the handler behind a request until the request is answered.
async fn run(server: &Server, request: Request, mut arrival: Box<Arrival>) -> Result<Answer, Failure> {
    if request.rounds().is_none() {
        arrival.asking.way = Way::NotHere;
    }
    match &arrival.asking.way {
        // If the client supports no questions, a second run is never needed.
        Way::Live(asker) if arrival.peer.can_be_asked() => {
            let asker = asker.clone();
            // Boxed, so that requests without questions do not have a larger future.
            Box::pin(converse(server, request, arrival, &*asker)).await
        }
        _ => round(server, request, arrival).await,
    }
}

/// Runs the handler once. If there are unanswered questions, they are the outcome, whatever the handler returned.
async fn round(server: &Server, request: Request, arrival: Box<Arrival>) -> Result<Answer, Failure> {
    arrival.noted.round();
    let is_tool = matches!(request, Request::CallTool(_));
    let scope = Scope::begin(server.clone(), arrival);
    let run = pin!(server.route(request, &scope));
    let answer = in_time(&scope, is_tool, run).await;
    match scope.questions() {
        None => answer,
        Some((open, past)) => {
            let required = InputRequired::new().with_input_requests(Keyed::from(open));
            Ok(Answer { outcome: Outcome::NeedInput(required), cache: None, past: Some(Box::new(past)) })
        }
    }
}

/// Stops a run that exceeds its deadline. Most runs complete at the first poll and need no timer.
async fn in_time(
    scope: &Scope,
    is_tool: bool,
    mut run: Pin<&mut impl Future<Output = Result<Answer, Failure>>>,
) -> Result<Answer, Failure> {
    if let Poll::Ready(answer) = poll_once(run.as_mut()).await {
        return answer;
    }
    // Timers need a tokio runtime, which the application may not have.
    let Some(limit) = scope.deadline().filter(|_| Handle::try_current().is_ok()) else { return run.await };
    if let Ok(answer) = tokio::time::timeout(limit, run).await {
        return answer;
    }
    tracing::warn!(?limit, "a handler exceeded its deadline and was stopped");
    let text = format!("the call took longer than {limit:?} and was stopped");
    if is_tool {
        return Ok(Answer::complete(Reply::ToolCalled(CallToolResult::error(text))));
    }
    Err(RpcError::internal(text).into())
}

/// Runs the handler until the request is answered, and asks the client between runs.
async fn converse(
    server: &Server,
    request: Request,
    mut arrival: Box<Arrival>,
    asker: &dyn Asker,
) -> Result<Answer, Failure> {
    loop {
        let Answer { outcome, cache, past } = round(server, request.clone(), arrival.clone()).await?;
        let required = match outcome {
            outcome @ Outcome::Complete(_) => return Ok(Answer { outcome, cache, past }),
            Outcome::NeedInput(required) => required,
        };
        let Keyed(questions) = required.input_requests.unwrap_or_default();
        let within = server.inner.question_timeout;
        let fresh = asker.ask(arrival.peer.version, &arrival.outbound, questions, within).await;
        arrival.asking.past = past.map(|past| Arc::new(*past));
        arrival.asking.fresh = Some(Arc::new(fresh));
    }
}
