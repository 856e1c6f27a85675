//! What belongs to one run of a handler besides its arguments?
//!
//! What is known about a message is an [`Arrival`]: its door, admission and its era fill it in. A run of a handler is a [`Scope`]
//! over it, from which parameters are made.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use http::HeaderMap;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolway_protocol::types::CacheHints;
use toolway_protocol::{ProtocolVersion, RawJson};

use crate::ground::extensions::Extensions;
use crate::ground::mutex::Mutex;
use crate::ground::outbound::Outbound;
use crate::ground::peer::Peer;
use crate::schema::Checker;
use crate::server::Server;
use crate::server::call::noted::Noted;
use crate::server::call::place::Place;
use crate::server::call::principal::Principal;
use crate::server::call::question_log::{Asked, Asking};
use crate::server::call::state::States;
use crate::server::call::threshold::Threshold;
use crate::server::call::visibility::Allowed;

/// What is known about a message that came in. It is large, and travels in a box.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// Where notifications about the request go.
    pub(crate) outbound: Outbound,
    /// The headers it came with, over HTTP.
    pub(crate) headers: Option<Arc<HeaderMap>>,
    /// What the application attached.
    pub(crate) extensions: Extensions,
    /// Who the peer is, if admission has named it.
    pub(crate) principal: Option<Principal>,
    /// What it may see; everything, unless admission says otherwise.
    pub(crate) allowed: Option<Arc<Allowed>>,
    /// Where it comes from, if the door knows.
    pub(crate) remote: Option<SocketAddr>,
    /// Where what is remembered of the peer is kept, if that is not the principal's place.
    pub(crate) memory: Option<Arc<Place>>,
    /// Room for streams of changes; nothing, where there can be none.
    pub(crate) listens: Option<Arc<Semaphore>>,
    /// Trips when the door is about to close, for what would otherwise never end.
    pub(crate) closing: Option<Arc<CancellationToken>>,
    /// What the peer says about itself.
    pub(crate) peer: Arc<Peer>,
    /// What progress notifications must carry; without it there are none.
    pub(crate) progress_token: Option<RawJson>,
    /// Which log messages the peer wants.
    pub(crate) threshold: Threshold,
    /// What became of questions, and how more can be asked.
    pub(crate) asking: Asking,
    /// What is of interest to those who watch.
    pub(crate) noted: Noted,
}

impl Default for Arrival {
    /// A message of a peer without a connection, for hooks, tests and `handle_json`.
    fn default() -> Self {
        static UNKNOWN: LazyLock<Arc<Peer>> =
            LazyLock::new(|| Arc::new(Peer::unknown(ProtocolVersion::LATEST)));
        Self {
            outbound: Outbound::default(),
            headers: None,
            extensions: Extensions::default(),
            principal: None,
            allowed: None,
            remote: None,
            memory: None,
            listens: None,
            closing: None,
            peer: UNKNOWN.clone(),
            progress_token: None,
            threshold: Threshold::Nothing,
            asking: Asking::default(),
            noted: Noted::default(),
        }
    }
}

impl Arrival {
    /// The part of it that hooks get: the caller can no longer be reached.
    pub(crate) fn for_hooks(&self) -> Box<Self> {
        Box::new(Self {
            outbound: Outbound::default(),
            allowed: None,
            listens: None,
            closing: None,
            asking: Asking::default(),
            ..self.clone()
        })
    }
}

/// Everything that belongs to one run of a handler.
pub struct Scope {
    shared: Arc<Shared>,
    /// The values of a server that was merged into this one, for its entries.
    states: Option<Arc<States>>,
    pub(crate) output: Option<Arc<Checker>>,
    subject: Option<Box<dyn Any + Send + Sync>>,
    /// How many resources are being read on behalf of each other.
    pub(crate) depth: u8,
    /// Whether the answer of the request is what this is about, and not something that is read on the way.
    pub(crate) is_answer: bool,
}

/// What all scopes of one run share.
struct Shared {
    server: Server,
    arrival: Box<Arrival>,
    /// Made when a handler asks for it, so that the others do not pay.
    cancel: OnceLock<CancellationToken>,
    /// The last progress that was told.
    told: Mutex<f64>,
    cache: Mutex<Option<CacheHints>>,
    asked: Asked,
    /// How long it may take, where that is not as long as with others.
    deadline: OnceLock<Duration>,
}

impl Scope {
    /// The scope of a run, which ends when the guard is dropped.
    pub(crate) fn begin(server: Server, arrival: Box<Arrival>) -> ScopeGuard {
        let told = arrival.asking.past.as_ref().and_then(|past| past.told()).unwrap_or(f64::NEG_INFINITY);
        let shared = Arc::new(Shared {
            server,
            arrival,
            cancel: OnceLock::new(),
            told: Mutex::new(told),
            cache: Mutex::new(None),
            asked: Asked::default(),
            deadline: OnceLock::new(),
        });
        ScopeGuard(Self { shared, states: None, output: None, subject: None, depth: 0, is_answer: true })
    }

    /// The values that the server was given.
    pub fn states(&self) -> &States {
        self.states.as_ref().unwrap_or(&self.shared.server.inner.states)
    }

    /// The values that came with the request.
    pub fn extensions(&self) -> &Extensions {
        &self.arrival().extensions
    }

    /// Who the caller is, if [`on_connect`](crate::server::ServerBuilder::on_connect) has said so.
    pub fn principal(&self) -> Option<&Principal> {
        self.arrival().principal.as_ref()
    }

    /// The headers that the request came with; none on a pipe.
    pub fn headers(&self) -> Option<&Arc<HeaderMap>> {
        self.arrival().headers.as_ref()
    }

    /// Facts about the caller.
    pub fn peer(&self) -> &Peer {
        &self.arrival().peer
    }

    pub(crate) fn server(&self) -> &Server {
        &self.shared.server
    }

    pub(crate) fn arrival(&self) -> &Arrival {
        &self.shared.arrival
    }

    /// What the caller may see, if that is not everything.
    pub(crate) fn allowed(&self) -> Option<&Allowed> {
        self.arrival().allowed.as_deref()
    }

    /// The same scope for the handler of an entry, with the values of its server.
    pub(crate) fn with_states(&self, states: Option<&Arc<States>>) -> Self {
        Self {
            shared: self.shared.clone(),
            states: states.or(self.states.as_ref()).cloned(),
            output: None,
            subject: None,
            depth: self.depth,
            is_answer: self.is_answer,
        }
    }

    pub(crate) fn with_output(mut self, output: Option<&Arc<Checker>>) -> Self {
        self.output = output.cloned();
        self
    }

    /// The same call for a resource that is read on behalf of its handler.
    pub(crate) fn inside(&self) -> Self {
        Self { depth: self.depth + 1, is_answer: false, states: None, ..self.with_states(None) }
    }

    /// The same scope for a [`Ctx`](crate::server::Ctx), without what was sent.
    pub(crate) fn handle(&self) -> Self {
        self.with_states(None).with_output(self.output.as_ref())
    }

    /// What a handler without a macro may ask for, if it is of this type: what was sent, in the form of its kind.
    pub(crate) fn subject<T: 'static>(&self) -> Option<&T> {
        self.subject.as_deref()?.downcast_ref()
    }

    pub(crate) fn about<T: Send + Sync + 'static>(mut self, subject: T) -> Self {
        self.subject = Some(Box::new(subject));
        self
    }

    /// Whether the run is known to have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.cancel.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// Trips when the run has ended.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.shared.cancel.get_or_init(CancellationToken::new)
    }

    /// The last progress that was told.
    pub(crate) fn told(&self) -> &Mutex<f64> {
        &self.shared.told
    }

    /// What was asked in the run.
    pub(crate) fn asked(&self) -> &Asked {
        &self.shared.asked
    }

    /// What a handler said about keeping the answer.
    pub(crate) fn cache_hints(&self) -> Option<CacheHints> {
        self.shared.cache.lock().clone()
    }

    pub(crate) fn set_cache_hints(&self, hints: CacheHints) {
        *self.shared.cache.lock() = Some(hints);
    }

    /// How long the run may take.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.shared.deadline.get().copied().or(self.shared.server.inner.deadline)
    }

    pub(crate) fn set_deadline(&self, limit: Duration) {
        let _ = self.shared.deadline.set(limit);
    }
}

/// Lets a run go on. Dropping it is what cancels: whatever the handler has left running hears of it.
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
