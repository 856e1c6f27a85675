//! How often does a handler run until its call is answered?
//!
//! Once, unless it asks. A question that stayed without an answer ends a run whatever the handler returned. Where the client
//! can be asked while the call runs, that is done here, and the handler runs again; else the questions are the outcome, and the
//! client calls again with the answers.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use tokio::runtime::Handle;
use toolway_protocol::request::{Outcome, Reply, Request};
use toolway_protocol::types::{CallToolResult, InputRequest};
use toolway_protocol::{ProtocolVersion, RawJson, RpcError};

use crate::ground::future::BoxFuture;
use crate::ground::outbound::Outbound;
use crate::ground::panic::catch;
use crate::ground::poll_once::poll_once;
use crate::server::Server;
use crate::server::call::layer::answer::{Answer, Answered, CallError};
use crate::server::call::layer::call::Call;
use crate::server::call::layer::service::Next;
use crate::server::call::layer::stages::{Kind, Path, Stages};
use crate::server::call::question_log::{Asker, Way, required};
use crate::server::call::replay::Past;
use crate::server::call::scope::{Arrival, Facts, Round, Scope};
use crate::server::call::visibility::Allowed;
use crate::server::catalog::visible::Element;
use crate::server::failure::ask::AskError;
use crate::server::failure::errors::{Failure, Subject, busy};
use crate::server::observe::watch::Watching;

impl Server {
    /// Answers a request. It is no `async fn`: all that it is given would have two places in its future.
    pub(crate) fn answer(
        &self,
        request: Request,
        facts: Facts,
        arrival: Arrival,
    ) -> impl Future<Output = Result<Answered, Failure>> + Send + use<'_> {
        let work = match self.inner.places.try_acquire() {
            Ok(place) => Ok((place, self.work(request, facts, arrival))),
            Err(_) => Err(busy("too many requests are running")),
        };
        async move {
            let (_place, work) = work?;
            match work {
                Work::Alone(call) => run(call).await,
                Work::Amid(work) => work.await,
            }
        }
    }

    fn work(&self, request: Request, mut facts: Facts, arrival: Arrival) -> Work {
        let request = self.by_own_name(request);
        let watching = Watching::begin(self, || request.method(), Some(&request), &mut facts, &arrival);
        let path = path_of(self, &request, arrival.allowed.as_deref());
        let is_layered = path.is_some();
        let path = path.unwrap_or_else(no_layers);
        // Boxed: everything on the way would else have a place for it, and move it there.
        let call = Box::new(Call { server: self.clone(), request, facts, arrival, path });
        if watching.is_none() && !is_layered {
            return Work::Alone(call);
        }
        Work::Amid(Box::pin(amid(call, watching, is_layered)))
    }
}

/// What there is to do for a call.
enum Work {
    /// The handler alone.
    Alone(Box<Call>),
    /// The handler, amid those who watch it and the layers around it.
    Amid(BoxFuture<'static, Result<Answered, Failure>>),
}

/// Runs the handler behind a call amid those who watch it and the layers around it.
async fn amid(call: Box<Call>, watching: Option<Watching>, is_layered: bool) -> Result<Answered, Failure> {
    match (watching, is_layered) {
        (None, false) => run(call).await,
        (None, true) => through(*call).await,
        (Some(watching), false) => watching.over(run(call)).await,
        (Some(watching), true) => watching.over(through(*call)).await,
    }
}

/// The way of a request; `None`, if it passes nothing. What the caller may not see has no layers: one of them might answer,
/// or say that it is there.
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
            Some(Element::Tool(tool)) => Some(&tool.layers),
            Some(Element::Prompt(prompt)) => Some(&prompt.layers),
            Some(Element::Resource(resource)) => Some(&resource.layers),
            None => inner.sources.layers_around(&snapshot, request, allowed),
        }
    };
    let element = element.cloned().unwrap_or_default();
    let kind = Kind::of(request);
    let is_bare = !inner.layers.concern(kind) && !element.concern(kind);
    (!is_bare).then(|| Path::new(inner.layers.clone(), element, after_layers))
}

fn no_layers() -> Path {
    Path::new(Stages::default(), Stages::default(), after_layers)
}

/// Sends a call through its layers to its handler.
async fn through(call: Call) -> Result<Answered, Failure> {
    let (server, facts, arrival) = (call.server.clone(), call.facts.clone(), call.arrival.for_hooks());
    let method = call.request.method();
    let cause = match catch(|| Next::new().run(call)).await {
        Ok(Ok(Answer(answered))) if Kind::is_answered_by(&method, &answered.outcome) => return Ok(answered),
        Ok(Ok(_)) => format!("a layer answered {} with a result of another kind", method.name()).into(),
        Ok(Err(error)) => match error.into_failure() {
            Failure::Hidden(cause) => cause,
            failure => return Err(failure),
        },
        Err(panic) => panic.into(),
    };
    let (_, ending) = Scope::begin(server.clone(), facts, arrival);
    let subject = Subject { method: method.name(), kind: "layer around", name: method.name() };
    Err(server.failed(ending.round(), subject, Failure::Hidden(cause)).await)
}

/// Runs the handler of a call that has passed its layers.
fn after_layers(call: Box<Call>) -> BoxFuture<'static, Result<Answer, CallError>> {
    Box::pin(async move { Ok(Answer(run(call).await.map_err(CallError::told)?)) })
}

/// Runs the handler behind a call until it is answered.
async fn run(mut call: Box<Call>) -> Result<Answered, Failure> {
    if call.request.rounds().is_none() {
        call.facts.asking.way = Way::NotHere;
    }
    match &call.facts.asking.way {
        // Whoever can be asked nothing needs no second run.
        Way::Live(asker) if call.facts.peer.can_be_asked() => {
            let asker = asker.clone();
            // Boxed: what is not asked anything shall not have a larger future for it.
            Box::pin(converse(call, &*asker)).await
        }
        _ => match round(call).await {
            Ended::Answered(answered) => answered,
            Ended::Asking(open, past) => {
                let past = Some(Box::new(past));
                Ok(Answered { outcome: Outcome::NeedInput(required(open)), cache: None, past })
            }
        },
    }
}

enum Ended {
    Answered(Result<Answered, Failure>),
    /// These questions have no answer.
    Asking(Vec<(String, InputRequest)>, Past),
}

/// Runs the handler once.
async fn round(call: Box<Call>) -> Ended {
    let Call { server, request, facts, arrival, .. } = *call;
    facts.noted.round();
    let is_tool = matches!(request, Request::CallTool(_));
    let (scope, ending) = Scope::begin(server.clone(), facts, arrival);
    let run = pin!(server.route(request, scope));
    let answered = in_time(ending.round(), is_tool, run).await;
    match ending.round().questions() {
        Some((open, past)) => Ended::Asking(open, past),
        None => Ended::Answered(answered),
    }
}

/// Lets a run take no longer than it may. Most are done at once, and need no clock.
async fn in_time(
    round: &Round,
    is_tool: bool,
    mut run: Pin<&mut impl Future<Output = Result<Answered, Failure>>>,
) -> Result<Answered, Failure> {
    if let Poll::Ready(answered) = poll_once(run.as_mut()).await {
        return answered;
    }
    let limit = round.deadline.get().copied().or(round.server.inner.deadline);
    // A host without a runtime has no clock.
    let Some(limit) = limit.filter(|_| Handle::try_current().is_ok()) else { return run.await };
    if let Ok(answered) = tokio::time::timeout(limit, run).await {
        return answered;
    }
    tracing::warn!(?limit, "a handler took longer than it may, and was stopped");
    let text = format!("this took longer than {limit:?}, and was stopped");
    if is_tool {
        return Ok(Answered::complete(Reply::ToolCalled(CallToolResult::error(text))));
    }
    Err(RpcError::internal(text).into())
}

/// Runs the handler, and asks in between.
async fn converse(call: Box<Call>, asker: &dyn Asker) -> Result<Answered, Failure> {
    let Call { server, request, mut facts, arrival, .. } = *call;
    loop {
        let call = Box::new(Call {
            server: server.clone(),
            request: request.clone(),
            facts: facts.clone(),
            arrival: arrival.clone(),
            path: no_layers(),
        });
        let (open, past) = match round(call).await {
            Ended::Answered(answered) => return answered,
            Ended::Asking(open, past) => (open, past),
        };
        let version = facts.peer.version;
        let fresh = ask_all(asker, &server, version, &arrival.outbound, open).await;
        facts.asking.past = Some(Arc::new(past));
        facts.asking.fresh = Some(Arc::new(fresh));
    }
}

/// Asks all at once, and waits for every answer.
async fn ask_all(
    asker: &dyn Asker,
    server: &Server,
    version: ProtocolVersion,
    outbound: &Outbound,
    open: Vec<(String, InputRequest)>,
) -> BTreeMap<String, Result<RawJson, AskError>> {
    let within = server.inner.question_timeout;
    let mut waiting: Vec<_> = open
        .into_iter()
        .map(|(key, question)| (key, asker.ask(version, outbound.clone(), question, within)))
        .collect();
    let mut answers = BTreeMap::new();
    poll_fn(|cx| {
        waiting.retain_mut(|(key, asking)| match asking.as_mut().poll(cx) {
            Poll::Ready(answer) => {
                answers.insert(std::mem::take(key), answer);
                false
            }
            Poll::Pending => true,
        });
        if waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers
}
