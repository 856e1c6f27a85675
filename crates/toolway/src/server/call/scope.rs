//! What belongs to one run of a handler besides its arguments?
//!
//! The doors know how a message arrived ([`Arrival`]), the eras who sent it and what it wants ([`Facts`]). Both
//! together are a [`Scope`], from which parameters are made.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolway_protocol::types::CacheHints;
use toolway_protocol::{ProtocolVersion, RawJson};

use crate::ground::extensions::Extensions;
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

/// What a door knows about a message.
#[derive(Debug, Clone, Default)]
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
}

impl Arrival {
    /// The part of it that hooks get: the caller can no longer be reached.
    pub(crate) fn for_hooks(&self) -> Self {
        Self {
            headers: self.headers.clone(),
            extensions: self.extensions.clone(),
            principal: self.principal.clone(),
            remote: self.remote,
            memory: self.memory.clone(),
            ..Self::default()
        }
    }
}

/// What an era knows about a request.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) peer: Arc<Peer>,
    /// What progress notifications must carry; without it there are none.
    pub(crate) progress_token: Option<RawJson>,
    /// Which log messages the peer wants.
    pub(crate) threshold: Threshold,
    /// What became of questions, and how more can be asked.
    pub(crate) asking: Asking,
    /// What is of interest to those who watch.
    pub(crate) noted: Noted,
    /// The request's `_meta`, where a gateway may pass it on.
    pub(crate) meta: Option<RawJson>,
}

impl Facts {
    /// The facts about a peer without a connection, for hooks, tests and `handle_json`.
    pub(crate) fn unknown(version: ProtocolVersion) -> Self {
        Self {
            peer: Arc::new(Peer::unknown(version)),
            progress_token: None,
            threshold: Threshold::Nothing,
            asking: Asking::default(),
            noted: Noted::default(),
            meta: None,
        }
    }
}

/// Everything that belongs to one run of a handler.
pub struct Scope {
    pub(crate) round: Arc<Round>,
    states: Arc<States>,
    pub(crate) output: Option<Arc<Checker>>,
    subject: Option<Box<dyn Any + Send + Sync>>,
    /// How many resources are being read on behalf of each other.
    pub(crate) depth: u8,
    /// Whether the answer of the request is what this is about, and not something that is read on the way.
    pub(crate) is_answer: bool,
}

/// What all who work on one run of a handler share.
pub(crate) struct Round {
    pub(crate) server: Server,
    pub(crate) facts: Facts,
    pub(crate) arrival: Arrival,
    /// Made when a handler asks for it, so that the others do not pay.
    cancel: OnceLock<CancellationToken>,
    /// The last progress that was told.
    pub(crate) told: Mutex<f64>,
    pub(crate) cache: Mutex<Option<CacheHints>>,
    pub(crate) asked: Asked,
    /// How long it may take, where that is not as long as with others.
    pub(crate) deadline: OnceLock<Duration>,
}

impl Scope {
    /// The scope of a run, which ends when the [`Ending`] is dropped.
    pub(crate) fn begin(server: Server, facts: Facts, arrival: Arrival) -> (Self, Ending) {
        let states = server.inner.states.clone();
        let told = facts.asking.past.as_ref().and_then(|past| past.told()).unwrap_or(f64::NEG_INFINITY);
        let round = Arc::new(Round {
            server,
            facts,
            arrival,
            cancel: OnceLock::new(),
            told: Mutex::new(told),
            cache: Mutex::new(None),
            asked: Asked::default(),
            deadline: OnceLock::new(),
        });
        let scope = Self { round, states, output: None, subject: None, depth: 0, is_answer: true };
        let ending = Ending(scope.round.clone());
        (scope, ending)
    }

    /// The values that the server was given.
    pub fn states(&self) -> &States {
        &self.states
    }

    /// The values that came with the request.
    pub fn extensions(&self) -> &Extensions {
        &self.round.arrival.extensions
    }

    /// Who the caller is, if [`on_connect`](crate::server::ServerBuilder::on_connect) has said so.
    pub fn principal(&self) -> Option<&Principal> {
        self.round.arrival.principal.as_ref()
    }

    /// The headers that the request came with; none on a pipe.
    pub fn headers(&self) -> Option<&Arc<HeaderMap>> {
        self.round.arrival.headers.as_ref()
    }

    /// Facts about the caller.
    pub fn peer(&self) -> &Peer {
        &self.round.facts.peer
    }

    /// What the caller may see, if that is not everything.
    pub(crate) fn allowed(&self) -> Option<&Allowed> {
        self.round.arrival.allowed.as_deref()
    }

    pub(crate) fn with_states(mut self, states: Option<&Arc<States>>) -> Self {
        if let Some(states) = states {
            self.states = states.clone();
        }
        self
    }

    pub(crate) fn with_output(mut self, output: Option<&Arc<Checker>>) -> Self {
        self.output = output.cloned();
        self
    }

    /// The same call for something that is done on its behalf.
    pub(crate) fn inside(round: &Arc<Round>, depth: u8, is_answer: bool) -> Self {
        Self {
            round: round.clone(),
            states: round.server.inner.states.clone(),
            output: None,
            subject: None,
            depth,
            is_answer,
        }
    }

    /// The same scope for a [`Ctx`](crate::server::Ctx), without what was sent.
    pub(crate) fn handle(&self) -> Self {
        Self {
            round: self.round.clone(),
            states: self.states.clone(),
            output: self.output.clone(),
            subject: None,
            depth: self.depth,
            is_answer: self.is_answer,
        }
    }

    /// The same call for one of several that are tried.
    pub(crate) fn inner(&self) -> Self {
        Self::inside(&self.round, self.depth, self.is_answer)
    }

    /// What a handler without a macro may ask for, if it is of this type: what was sent, in the form of its kind.
    pub(crate) fn subject<T: 'static>(&self) -> Option<&T> {
        self.subject.as_deref()?.downcast_ref()
    }

    pub(crate) fn about<T: Send + Sync + 'static>(mut self, subject: T) -> Self {
        self.subject = Some(Box::new(subject));
        self
    }

    /// To ask for the call's cache hints when the scope is gone.
    pub(crate) fn round(&self) -> Arc<Round> {
        self.round.clone()
    }
}

impl Round {
    /// Whether the run has ended, as far as anybody can know it.
    pub(crate) fn is_over(&self) -> bool {
        self.cancel.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// Trips when the run has ended.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.cancel.get_or_init(CancellationToken::new)
    }

    /// What a handler said about keeping the answer.
    pub(crate) fn cache_hints(&self) -> Option<CacheHints> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whoever has it lets a run go on. Dropping it is what cancels: whatever the handler has left running hears of it.
pub(crate) struct Ending(Arc<Round>);

impl Ending {
    /// What was asked and said in the run.
    pub(crate) fn round(&self) -> &Arc<Round> {
        &self.0
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(token) = self.0.cancel.get() {
            token.cancel();
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("peer", &self.round.facts.peer).finish_non_exhaustive()
    }
}
