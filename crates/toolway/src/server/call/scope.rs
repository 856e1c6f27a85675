//! What belongs to one run of a handler besides its arguments?
//!
//! An [`Arrival`] holds what is known about a received message: the transport, the admission and the protocol revision
//! fill it in. A [`Scope`] is one run of a handler for this message; the parameters of the handler are made from it.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::types::CacheHints;
use toolway_protocol::{ProtocolVersion, RawJson};

use crate::ground::budget::{Account, Budget};
use crate::ground::extensions::Extensions;
use crate::ground::mutex::Mutex;
use crate::ground::outbound::Outbound;
use crate::ground::peer::Peer;
use crate::schema::Checker;
use crate::server::Server;
use crate::server::call::memory_record::MemoryRecord;
use crate::server::call::principal::Principal;
use crate::server::call::question_log::{QuestionContext, QuestionLog};
use crate::server::call::state::States;
use crate::server::call::stream_rights::{Recheck, StreamRights, StreamView};
use crate::server::call::telemetry::RequestTelemetry;
use crate::server::call::threshold::Threshold;
use crate::server::call::verified::Verified;
use crate::server::call::visibility::Visibility;

/// The data about a received message. It is large, so it is passed in a box.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// The destination of notifications about the request.
    pub(crate) outbound: Outbound,
    /// The HTTP headers.
    pub(crate) headers: Option<Arc<HeaderMap>>,
    /// The values that the application attached.
    pub(crate) extensions: Extensions,
    /// The principal, if admission or the application has set one.
    pub(crate) principal: Option<Principal>,
    /// The caller, if its credentials were verified.
    pub(crate) caller: Option<Arc<Verified>>,
    /// The elements that the caller may see; `None` means all.
    pub(crate) visibility: Option<Arc<Visibility>>,
    /// The remote address, if the transport knows it.
    pub(crate) remote: Option<SocketAddr>,
    /// The record for the caller's memory, if it is not the record of the principal.
    pub(crate) memory_record: Option<Arc<MemoryRecord>>,
    /// The account that counts what the peer uses; `None` if it is not counted.
    pub(crate) account: Option<Arc<Account>>,
    /// How many streams of changes may be open; `None` where such streams are impossible.
    pub(crate) stream_budget: Option<Budget>,
    /// Decides again about a request that may open a stream; `None` if the decision cannot change.
    pub(crate) recheck: Option<Arc<dyn Recheck>>,
    /// Cancelled when the transport is about to close, for work that would otherwise never end.
    pub(crate) shutdown_token: Option<Arc<CancellationToken>>,
    /// The data that the client has sent about itself.
    pub(crate) peer: Arc<Peer>,
    /// The token for progress notifications; without it none are sent.
    pub(crate) progress_token: Option<RawJson>,
    /// The log messages that the client requested.
    pub(crate) threshold: Threshold,
    /// The answers to questions, and the way to ask more.
    pub(crate) questions: QuestionContext,
    /// Data for spans, metrics and hooks.
    pub(crate) telemetry: RequestTelemetry,
}

impl Default for Arrival {
    /// Describes a message of a peer without a connection, for hooks, tests and `handle_json`.
    fn default() -> Self {
        static UNKNOWN: LazyLock<Arc<Peer>> =
            LazyLock::new(|| Arc::new(Peer::unknown(ProtocolVersion::LATEST)));
        Self {
            outbound: Outbound::default(),
            headers: None,
            extensions: Extensions::default(),
            principal: None,
            caller: None,
            visibility: None,
            remote: None,
            memory_record: None,
            account: None,
            stream_budget: None,
            recheck: None,
            shutdown_token: None,
            peer: UNKNOWN.clone(),
            progress_token: None,
            threshold: Threshold::Nothing,
            questions: QuestionContext::default(),
            telemetry: RequestTelemetry::default(),
        }
    }
}

impl Arrival {
    /// Returns the rights of a stream that the request opens; `None` if they cannot change.
    pub(crate) fn stream_rights(&self) -> Option<StreamRights> {
        let expiry = self.caller.as_ref().and_then(|caller| caller.expiry());
        self.recheck.clone().map(|recheck| StreamRights::new(recheck, expiry))
    }

    /// Returns what the caller may see on a stream that the request opens.
    pub(crate) fn stream_view(&self) -> StreamView {
        StreamView {
            visibility: self.visibility.clone(),
            caller: self.caller.clone(),
            is_over_http: self.headers.is_some() || self.recheck.is_some(),
        }
    }

    /// Returns the part that hooks get. It has no way to send messages to the caller.
    pub(crate) fn for_hooks(&self) -> Box<Self> {
        Box::new(Self {
            outbound: Outbound::default(),
            visibility: None,
            account: None,
            stream_budget: None,
            recheck: None,
            shutdown_token: None,
            questions: QuestionContext::default(),
            ..self.clone()
        })
    }
}

/// The context of one run of a handler.
pub struct Scope {
    shared: Arc<Shared>,
    /// The state values of the merged server that the entry comes from; `None` if the entry is the server's own.
    states: Option<Arc<States>>,
    pub(crate) output_checker: Option<Arc<Checker>>,
    input: Option<Box<dyn Any + Send + Sync>>,
    /// The depth of resources that read other resources.
    pub(crate) depth: u8,
    /// `true` if this run produces the answer of the request; `false` for a resource that a handler reads with
    /// `Ctx::read_resource`.
    pub(crate) is_answer: bool,
}

/// The data that all scopes of one run share.
struct Shared {
    server: Server,
    arrival: Box<Arrival>,
    /// Cancelled when the run ends. Created only when a handler needs the token, because most handlers do not.
    cancel: OnceLock<CancellationToken>,
    /// The last progress that was reported.
    last_progress: Mutex<f64>,
    cache: Mutex<Option<CacheHints>>,
    question_log: QuestionLog,
    /// The time limit of this run, if it differs from the server's.
    deadline: OnceLock<Duration>,
    /// When the handler last reported progress.
    progress_time: Mutex<Option<Instant>>,
}

impl Scope {
    /// Starts a run, which ends when the guard is dropped.
    pub(crate) fn begin(server: Server, arrival: Box<Arrival>) -> ScopeGuard {
        let told = arrival
            .questions
            .replay
            .as_ref()
            .and_then(|past| past.last_progress())
            .unwrap_or(f64::NEG_INFINITY);
        let shared = Arc::new(Shared {
            server,
            arrival,
            cancel: OnceLock::new(),
            last_progress: Mutex::new(told),
            cache: Mutex::new(None),
            question_log: QuestionLog::default(),
            deadline: OnceLock::new(),
            progress_time: Mutex::new(None),
        });
        ScopeGuard(Self {
            shared,
            states: None,
            output_checker: None,
            input: None,
            depth: 0,
            is_answer: true,
        })
    }

    /// Returns the state values of the server.
    pub fn states(&self) -> &States {
        self.states.as_ref().unwrap_or(&self.shared.server.inner.states)
    }

    /// Returns the values that are attached to the request.
    pub fn extensions(&self) -> &Extensions {
        &self.arrival().extensions
    }

    /// Returns the principal, if [`on_connect`](crate::server::ServerBuilder::on_connect) or the application set one.
    pub fn principal(&self) -> Option<&Principal> {
        self.arrival().principal.as_ref()
    }

    /// Returns the HTTP headers of the request; `None` on a pipe.
    pub fn headers(&self) -> Option<&Arc<HeaderMap>> {
        self.arrival().headers.as_ref()
    }

    /// Returns facts about the client.
    pub fn peer(&self) -> &Peer {
        &self.arrival().peer
    }

    pub(crate) fn server(&self) -> &Server {
        &self.shared.server
    }

    pub(crate) fn arrival(&self) -> &Arrival {
        &self.shared.arrival
    }

    /// Returns what the caller may see; `None` means everything.
    pub(crate) fn visibility(&self) -> Option<&Visibility> {
        self.arrival().visibility.as_deref()
    }

    /// Returns the same scope for the handler of an entry, with the state values of the server that the entry comes
    /// from.
    pub(crate) fn with_states(&self, states: Option<&Arc<States>>) -> Self {
        Self {
            shared: self.shared.clone(),
            states: states.or(self.states.as_ref()).cloned(),
            output_checker: None,
            input: None,
            depth: self.depth,
            is_answer: self.is_answer,
        }
    }

    pub(crate) fn with_output_checker(mut self, output: Option<&Arc<Checker>>) -> Self {
        self.output_checker = output.cloned();
        self
    }

    /// Returns the scope for a resource that the handler reads.
    pub(crate) fn for_nested_read(&self) -> Self {
        Self { depth: self.depth + 1, is_answer: false, states: None, ..self.with_states(None) }
    }

    /// Returns the same scope for a [`Ctx`](crate::server::Ctx), without the subject of the handler.
    pub(crate) fn for_ctx(&self) -> Self {
        self.with_states(None).with_output_checker(self.output_checker.as_ref())
    }

    /// Returns the subject of the run, if it has this type: the resource to read, the arguments of a prompt, the text
    /// to complete, and so on.
    pub(crate) fn input<T: 'static>(&self) -> Option<&T> {
        self.input.as_deref()?.downcast_ref()
    }

    pub(crate) fn with_input<T: Send + Sync + 'static>(mut self, subject: T) -> Self {
        self.input = Some(Box::new(subject));
        self
    }

    /// Returns whether the run has ended. `false` if no token was created, because the end is then not recorded.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.cancel.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// Returns a token that is cancelled when the run ends.
    pub(crate) fn cancel_token(&self) -> &CancellationToken {
        self.shared.cancel.get_or_init(CancellationToken::new)
    }

    /// Returns the last progress that was reported.
    pub(crate) fn last_progress(&self) -> &Mutex<f64> {
        &self.shared.last_progress
    }

    /// Returns the questions of the run.
    pub(crate) fn question_log(&self) -> &QuestionLog {
        &self.shared.question_log
    }

    /// Returns the cache hints that the handler set.
    pub(crate) fn cache_hints(&self) -> Option<CacheHints> {
        self.shared.cache.lock().clone()
    }

    pub(crate) fn set_cache_hints(&self, hints: CacheHints) {
        *self.shared.cache.lock() = Some(hints);
    }

    /// Returns how long the run may take without progress.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.shared.deadline.get().copied().or(self.shared.server.inner.deadline)
    }

    /// Returns when the handler last reported progress.
    pub(crate) fn progress_time(&self) -> Option<Instant> {
        *self.shared.progress_time.lock()
    }

    /// Records that the handler reports progress, whether or not the caller wants to know.
    pub(crate) fn record_progress(&self) {
        *self.shared.progress_time.lock() = Some(Instant::now());
    }

    pub(crate) fn set_deadline(&self, limit: Duration) {
        let _ = self.shared.deadline.set(limit);
    }
}

/// Keeps a run alive. Dropping it cancels the token of the run, so that tasks which the handler started can stop.
pub(crate) struct ScopeGuard(Scope);

impl Deref for ScopeGuard {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.0
    }
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        if let Some(token) = self.0.shared.cancel.get() {
            token.cancel();
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("peer", self.peer()).finish_non_exhaustive()
    }
}
