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

use super::Server;
use super::ask::{AskError, Asker, Past, Way, required};
use super::call::{Answered, Call};
use super::failure::{Trouble, busy};
use super::handler::Running;
use super::layer::{Path, through};
use super::scope::{Arrival, Facts, Round, Scope};
use super::watch::Watching;
use crate::at_once::at_once;
use crate::outbound::Outbound;

impl Server {
    /// Answers a request. It is no `async fn`: all that it is given would have two places in its future.
    pub(super) fn answer(
        &self,
        request: Request,
        facts: Facts,
        arrival: Arrival,
    ) -> impl Future<Output = Result<Answered, Trouble>> + Send + use<'_> {
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
        let path = Path::of(self, &request, arrival.allowed.as_deref());
        let is_layered = path.is_some();
        let path = path.unwrap_or_default();
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
    Amid(Running<Result<Answered, Trouble>>),
}

/// Runs the handler behind a call amid those who watch it and the layers around it.
async fn amid(call: Box<Call>, watching: Option<Watching>, is_layered: bool) -> Result<Answered, Trouble> {
    match (watching, is_layered) {
        (None, false) => run(call).await,
        (None, true) => through(*call).await,
        (Some(watching), false) => watching.over(run(call)).await,
        (Some(watching), true) => watching.over(through(*call)).await,
    }
}

/// Runs the handler behind a call until it is answered.
pub(super) async fn run(mut call: Box<Call>) -> Result<Answered, Trouble> {
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
    Answered(Result<Answered, Trouble>),
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
    mut run: Pin<&mut impl Future<Output = Result<Answered, Trouble>>>,
) -> Result<Answered, Trouble> {
    if let Poll::Ready(answered) = at_once(run.as_mut()).await {
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
async fn converse(call: Box<Call>, asker: &dyn Asker) -> Result<Answered, Trouble> {
    let Call { server, request, mut facts, arrival, .. } = *call;
    loop {
        let call = Box::new(Call {
            server: server.clone(),
            request: request.clone(),
            facts: facts.clone(),
            arrival: arrival.clone(),
            path: Path::default(),
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
