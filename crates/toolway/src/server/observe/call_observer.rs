//! What does a call show to operators? One span, three events, and the statistics for the `on_request_end` hook.
//!
//! | event | level | when |
//! |---|---|---|
//! | `toolway.call.start` | debug | a call begins |
//! | `toolway.call.exception` | error | a handler failed in a way that was not meant for the peer |
//! | `toolway.call.stop` | debug | the call is over; `error` is the kind of error, as in [`RequestStats`] |
//!
//! The span and the events contain no data of a peer or a handler, except the id of the request, its trace, and the
//! cause of an exception. Without a subscriber, a hook or OpenTelemetry, none of this runs.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use toolway_protocol::era::resource_not_found;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::request::{Outcome, Reply, Request};
use toolway_protocol::{Id, Method, RpcError};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::ground::peer::Peer;
use crate::ground::poll_once::poll_once;
use crate::server::Server;
use crate::server::call::layer::reply::CallReply;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::telemetry::CallCounters;
use crate::server::call::trace::ParentSpan;
use crate::server::call::visibility::Visibility;
use crate::server::catalog::visible::ElementRef;
use crate::server::failure::errors::Failure;
use crate::server::observe::otel::Instruments;
use crate::server::observe::report::run_hook;
use crate::server::observe::stats::RequestStats;

impl Server {
    /// Records a request that could not become a call.
    pub(crate) async fn reject_request(
        &self,
        method: &Method,
        error: RpcError,
        arrival: &mut Arrival,
    ) -> Failure {
        let trouble = Failure::from(error);
        if let Some(watching) = CallObserver::begin(self, || method.clone(), None, arrival) {
            watching.record_failure(&trouble).await;
        }
        trouble
    }
}

/// A call that is being observed. If this value is dropped before the call has ended, the call was cancelled.
pub(crate) struct CallObserver {
    server: Server,
    counters: Arc<CallCounters>,
    peer: Arc<Peer>,
    /// The facts about the request for the hook, if there is a hook.
    hook_arrival: Option<Box<Arrival>>,
    stats: RequestStats,
    span: Span,
    begun: Instant,
    /// `true` if the request could be decoded.
    is_decoded: bool,
    is_over: bool,
}

impl CallObserver {
    /// Starts to observe a call. Returns `None` if there is neither a hook nor a subscriber nor OpenTelemetry.
    pub(crate) fn begin(
        server: &Server,
        method: impl FnOnce() -> Method,
        request: Option<&Request>,
        arrival: &mut Arrival,
    ) -> Option<Self> {
        let inner = &server.inner;
        let is_traced = tracing::enabled!(target: "toolway", tracing::Level::INFO);
        if inner.request_end_hook.is_none() && !is_traced && !Instruments::IS_ENABLED {
            return None;
        }
        let stats = describe(server, &method(), request, arrival.visibility.as_deref());
        let origin = arrival.telemetry.trace_context.parent_span(arrival.headers.as_deref());
        let span = span(&stats, arrival, origin.as_ref());
        if let Some(origin) = &origin {
            Instruments::set_parent(&span, origin);
        }
        let earlier = arrival.questions.replay.as_ref().map_or(0, |past| past.rounds());
        let seen =
            Arc::new(CallCounters { rounds: AtomicU32::new(earlier.into()), ..CallCounters::default() });
        arrival.telemetry.counters = Some(seen.clone());
        let kept = inner.request_end_hook.is_some().then(|| arrival.for_hooks());
        span.in_scope(|| tracing::debug!(name: "toolway.call.start", target: "toolway", "a call begins"));
        let peer = arrival.peer.clone();
        let begun = Instant::now();
        let is_read = request.is_some();
        Some(Self {
            server: server.clone(),
            counters: seen,
            peer,
            hook_arrival: kept,
            stats,
            span,
            begun,
            is_decoded: is_read,
            is_over: false,
        })
    }

    /// Runs the work and records its end.
    pub(crate) async fn observe(
        mut self,
        work: impl Future<Output = Result<CallReply, Failure>>,
    ) -> Result<CallReply, Failure> {
        let outcome = work.instrument(self.span.clone()).await;
        self.is_over = true;
        match &outcome {
            Ok(CallReply { outcome: Outcome::Complete(reply), .. }) => {
                let error = self.error_in_reply(reply);
                self.finish(error, None).await;
            }
            // A question does not end the call: the client calls again with the answer.
            Ok(_) => {}
            Err(trouble) => self.record_failure(trouble).await,
        }
        outcome
    }

    /// Records a failure.
    async fn record_failure(mut self, trouble: &Failure) {
        self.is_over = true;
        let (error, code) = self.classify_failure(trouble);
        self.finish(Some(error), code).await;
    }

    /// Records the end of the call and runs the hook. A hook that does not finish in the first poll continues in a
    /// task, so that the response does not wait for it.
    async fn finish(mut self, error: Option<&'static str>, code: Option<Code>) {
        let Some(hook) = self.record_end(error, code) else { return };
        let mut hook = Box::pin(hook);
        let first = poll_once(hook.as_mut()).await;
        if first.is_pending() {
            match Handle::try_current() {
                Ok(_) => self.server.spawn_background(hook),
                Err(_) => hook.await,
            }
        }
    }

    /// Returns the kind of error in a reply.
    fn error_in_reply(&self, reply: &Reply) -> Option<&'static str> {
        let is_error = matches!(reply, Reply::ToolCalled(result) if result.is_error());
        let is_unexpected = self.counters.is_unexpected.load(Ordering::Relaxed);
        is_error.then_some(if is_unexpected { "internal_error" } else { "tool_error" })
    }

    /// Returns the kind of error of a failure, and the code that the peer gets.
    fn classify_failure(&self, trouble: &Failure) -> (&'static str, Option<Code>) {
        let error = match trouble {
            Failure::Rpc(error) => error,
            Failure::NoSuchResource(uri) => {
                let error = resource_not_found(self.peer.version, uri);
                return ("resource_not_found", Some(error.code));
            }
            Failure::MissingCapabilities(..) => return ("missing_capability", None),
            Failure::Visible(_) | Failure::Hidden(_) | Failure::NotFound | Failure::Unanswered => {
                return ("internal_error", None);
            }
        };
        let RequestStats { method, tool, prompt, .. } = &self.stats;
        let lacks = |found: &Option<String>, asked: Method| {
            self.is_decoded && found.is_none() && *method == asked.name()
        };
        let what = match error.code {
            Code::INVALID_PARAMS if lacks(tool, Method::CallTool) => "tool_not_found",
            Code::INVALID_PARAMS if lacks(prompt, Method::GetPrompt) => "prompt_not_found",
            Code::INVALID_PARAMS => "invalid_params",
            Code::INVALID_REQUEST => "invalid_request",
            Code::METHOD_NOT_FOUND => "method_not_found",
            Code::INTERNAL_ERROR => "internal_error",
            _ => "error",
        };
        (what, Some(error.code))
    }

    /// Records the end of the call, and returns the hook to run.
    fn record_end(
        &mut self,
        error: Option<&'static str>,
        code: Option<Code>,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.stats.duration = self.begun.elapsed();
        self.stats.rounds = self.counters.rounds.load(Ordering::Relaxed);
        self.stats.error = error;
        let code = code.map(|code| code.0.to_string());
        // OpenTelemetry's conventions: the code of an error, and a single name for every failed result of a tool.
        let error_type = code.as_deref().or(match error {
            Some("internal_error") => Some("tool_error"),
            error => error,
        });
        if let Some(error_type) = error_type {
            self.span.record("error.type", error_type);
            self.span.record("otel.status_code", "ERROR");
        }
        if let Some(code) = &code {
            self.span.record("rpc.response.status_code", code.as_str());
        }
        let duration_ms = self.stats.duration.as_secs_f64() * 1000.0;
        self.span.in_scope(|| {
            tracing::debug!(name: "toolway.call.stop", target: "toolway", error, duration_ms, "a call is over");
        });
        let version = self.peer.version.as_str();
        self.server.inner.instruments.record_call(&self.stats, version, error_type, code.as_deref());
        let arrival = self.hook_arrival.take()?;
        let (server, stats, span) = (self.server.clone(), self.stats.clone(), self.span.clone());
        let hook = async move {
            let Some(counter) = &server.inner.request_end_hook else { return };
            let scope = Scope::begin(server.clone(), arrival);
            run_hook("on_request_end", || counter.call(stats, &scope)).await;
        };
        Some(hook.instrument(span))
    }
}

impl Drop for CallObserver {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Some(hook) = self.record_end(Some("cancelled"), None) {
            self.server.spawn_background(hook);
        }
    }
}

/// Describes a request by names that the server has registered and that the caller may see.
fn describe(
    server: &Server,
    method: &Method,
    request: Option<&Request>,
    allowed: Option<&Visibility>,
) -> RequestStats {
    let name = match method.facts() {
        Some(facts) => Cow::Borrowed(facts.name),
        None if server.inner.methods.contains_key(method.name()) => Cow::Owned(method.name().to_owned()),
        None => Cow::Borrowed("unknown"),
    };
    let mut stats = RequestStats {
        method: name,
        tool: None,
        prompt: None,
        uri: None,
        error: None,
        duration: Duration::ZERO,
        rounds: 0,
    };
    let snapshot = server.inner.registry.load();
    match request.and_then(|request| snapshot.target_of(request, allowed)) {
        Some(ElementRef::Tool(tool)) => stats.tool = Some(tool.definition().name.clone()),
        Some(ElementRef::Prompt(prompt)) => stats.prompt = Some(prompt.definition().name.clone()),
        Some(ElementRef::Resource(resource)) => stats.uri = Some(resource.definition().uri().to_owned()),
        None => {}
    }
    stats
}

/// Creates the span of a call, by OpenTelemetry's conventions for MCP. The span contains the URI or template of a
/// resource only as it was registered. It contains no session id, because readers of traces could use the id to enter
/// the session.
fn span(stats: &RequestStats, arrival: &Arrival, origin: Option<&ParentSpan>) -> Span {
    let RequestStats { method, tool, prompt, uri, .. } = stats;
    let is_http = arrival.headers.is_some();
    let name = || match tool.as_ref().or(prompt.as_ref()) {
        Some(target) => format!("{method} {target}"),
        None => method.to_string(),
    };
    let id = || match arrival.telemetry.id.as_ref()? {
        Id::Number(number) => Some(number.to_string()),
        Id::String(text) => Some(text.chars().take(MAX_ID_CHARS).collect()),
    };
    tracing::info_span!(
        target: "toolway",
        "call",
        otel.name = name(),
        otel.kind = "server",
        otel.status_code = Empty,
        mcp.method.name = &**method,
        mcp.protocol.version = arrival.peer.version.as_str(),
        mcp.resource.uri = uri.as_deref(),
        gen_ai.operation.name = tool.as_ref().map(|_| "execute_tool"),
        gen_ai.tool.name = tool.as_deref(),
        gen_ai.prompt.name = prompt.as_deref(),
        jsonrpc.request.id = id(),
        network.transport = transport(arrival),
        network.protocol.name = is_http.then_some("http"),
        rpc.response.status_code = Empty,
        "error.type" = Empty,
        trace_id = origin.map(ParentSpan::trace_id),
    )
}

/// Returns the transport of a request, if it is known.
fn transport(arrival: &Arrival) -> Option<&'static str> {
    if arrival.headers.is_some() {
        return Some("tcp");
    }
    // Without HTTP headers, only a pipe has a token for its shutdown. A message that a host passed in has neither.
    arrival.shutdown_token.as_ref().map(|_| "pipe")
}

/// How many characters of a request id are shown.
const MAX_ID_CHARS: usize = 200;
