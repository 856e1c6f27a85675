//! What belongs to one call besides its arguments?
//!
//! The doors know how a message arrived ([`Arrival`]), the eras who sent it and what it wants ([`Facts`]). Both
//! together are a [`Scope`], which lives as long as the call; a handler that asks for it gets a [`Ctx`].

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolway_protocol::types::{CacheHints, CacheScope, Content, Progress, ReadResourceResult, Resource};
use toolway_protocol::uri_template::Values;
use toolway_protocol::{Id, Notification, RawJson};

use super::Server;
use super::completion::Completing;
use super::connecting::Connecting;
use super::extract::Principal;
use super::failure::{ResourceError, ToolError};
use super::listing::Cursor;
use super::log::{Log, Threshold};
use super::parameter::{Missing, Parameter};
use super::resource::Reading;
use super::state::States;
use crate::extensions::Extensions;
use crate::outbound::Outbound;
use crate::peer::Peer;
use crate::schema::Checker;

/// What a door knows about a message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrival {
    /// Where notifications about the request go.
    pub(crate) outbound: Outbound,
    /// The headers it came with, over HTTP.
    pub(crate) headers: Option<Arc<HeaderMap>>,
    /// What the application attached.
    pub(crate) extensions: Extensions,
    /// Who the peer is, as far as somebody has asked.
    pub(crate) principal: Option<Principal>,
    /// Room for streams of changes; nothing, where there can be none.
    pub(crate) listens: Option<Arc<Semaphore>>,
    /// Trips when the door is about to close, for what would otherwise never end.
    pub(crate) closing: Option<Arc<CancellationToken>>,
}

/// What an era knows about a request.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) peer: Arc<Peer>,
    /// What progress notifications must carry; without it there are none.
    pub(crate) progress_token: Option<RawJson>,
    /// Which log messages the peer wants.
    pub(crate) threshold: Threshold,
}

/// Everything that belongs to one call. It lives as long as the call: dropping it is what cancels.
pub struct Scope {
    call: Arc<Call>,
    states: Arc<States>,
    output: Option<Arc<Checker>>,
    about: Subject,
    /// How many resources are being read on behalf of each other.
    depth: u8,
    /// Whether the answer of the request is what this is about, and not something that is read on the way.
    is_answer: bool,
    /// Only the outermost scope ends the call: a resource that is read on the way does not.
    is_owner: bool,
}

/// What a handler without a macro may ask for: what was sent, in the form of its kind.
enum Subject {
    None,
    Completing(Completing),
    Reading(Reading),
    Filled(Values),
    Listing(Cursor),
    /// Boxed, because it is large and rare.
    Connecting(Box<Connecting>),
}

pub(super) struct Call {
    pub(super) server: Server,
    pub(super) facts: Facts,
    pub(super) arrival: Arrival,
    /// Made when a handler asks for it, so that the others do not pay.
    cancel: OnceLock<CancellationToken>,
    /// The last progress that was told.
    told: Mutex<f64>,
    cache: Mutex<Option<CacheHints>>,
}

impl Scope {
    pub(crate) fn new(server: Server, facts: Facts, arrival: Arrival) -> Self {
        let states = server.inner.states.clone();
        let call = Arc::new(Call {
            server,
            facts,
            arrival,
            cancel: OnceLock::new(),
            told: Mutex::new(f64::NEG_INFINITY),
            cache: Mutex::new(None),
        });
        Self { call, states, output: None, about: Subject::None, depth: 0, is_answer: true, is_owner: true }
    }

    /// The values that the server was given.
    pub fn states(&self) -> &States {
        &self.states
    }

    /// The values that came with the request.
    pub fn extensions(&self) -> &Extensions {
        &self.call.arrival.extensions
    }

    /// Who the caller is, if [`on_connect`](super::ServerBuilder::on_connect) has said so.
    pub fn principal(&self) -> Option<&Principal> {
        self.call.arrival.principal.as_ref()
    }

    /// The headers that the request came with; none on a pipe.
    pub fn headers(&self) -> Option<&Arc<HeaderMap>> {
        self.call.arrival.headers.as_ref()
    }

    /// Facts about the caller.
    pub fn peer(&self) -> &Peer {
        &self.call.facts.peer
    }

    pub(super) fn with_states(mut self, states: Option<&Arc<States>>) -> Self {
        if let Some(states) = states {
            self.states = states.clone();
        }
        self
    }

    pub(super) fn with_output(mut self, output: Option<&Arc<Checker>>) -> Self {
        self.output = output.cloned();
        self
    }

    /// The same call for something that is done on its behalf.
    fn inside(call: &Arc<Call>, depth: u8, is_answer: bool) -> Self {
        Self {
            call: call.clone(),
            states: call.server.inner.states.clone(),
            output: None,
            about: Subject::None,
            depth,
            is_answer,
            is_owner: false,
        }
    }

    /// The same call for one of several that are tried.
    pub(crate) fn inner(&self) -> Self {
        Self::inside(&self.call, self.depth, self.is_answer)
    }

    pub(super) fn completing(&self) -> Option<&Completing> {
        match &self.about {
            Subject::Completing(typed) => Some(typed),
            _ => None,
        }
    }

    pub(super) fn reading(&self) -> Option<&Reading> {
        match &self.about {
            Subject::Reading(reading) => Some(reading),
            _ => None,
        }
    }

    pub(super) fn filled(&self) -> Option<&Values> {
        match &self.about {
            Subject::Filled(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn listing(&self) -> Option<&Cursor> {
        match &self.about {
            Subject::Listing(cursor) => Some(cursor),
            _ => None,
        }
    }

    pub(super) fn connecting(&self) -> Option<&Connecting> {
        match &self.about {
            Subject::Connecting(connecting) => Some(connecting),
            _ => None,
        }
    }

    pub(super) fn connecting_this(mut self, connecting: Connecting) -> Self {
        self.about = Subject::Connecting(Box::new(connecting));
        self
    }

    pub(super) fn listing_from(mut self, cursor: Cursor) -> Self {
        self.about = Subject::Listing(cursor);
        self
    }

    pub(super) fn completing_this(mut self, typed: Completing) -> Self {
        self.about = Subject::Completing(typed);
        self
    }

    pub(super) fn reading_this(mut self, reading: Reading) -> Self {
        self.about = Subject::Reading(reading);
        self
    }

    pub(super) fn filled_with(mut self, values: Values) -> Self {
        self.about = Subject::Filled(values);
        self
    }

    /// To ask for the call's cache hints when the scope is gone.
    pub(super) fn call(&self) -> Arc<Call> {
        self.call.clone()
    }
}

impl Call {
    /// What a handler said about keeping the answer.
    pub(super) fn cache_hints(&self) -> Option<CacheHints> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.is_owner
            && let Some(token) = self.call.cancel.get()
        {
            token.cancel();
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("peer", &self.call.facts.peer).finish_non_exhaustive()
    }
}

/// The call that a handler is in, as a parameter of the handler. It is not part of the schema.
///
/// ```
/// use toolway::prelude::*;
///
/// /// Count to a number, slowly.
/// #[tool]
/// async fn count(to: u32, ctx: Ctx) -> String {
///     for n in 1..=to {
///         ctx.progress(n, to, format!("at {n}")).await;
///     }
///     ctx.log().info("counted", serde_json::json!({"to": to})).await;
///     format!("counted for a client that speaks {}", ctx.peer().version)
/// }
/// ```
#[derive(Clone)]
pub struct Ctx {
    call: Arc<Call>,
    output: Option<Arc<Checker>>,
    depth: u8,
    is_answer: bool,
    cancel: CancellationToken,
}

impl Ctx {
    /// Facts about the caller.
    pub fn peer(&self) -> &Peer {
        &self.call.facts.peer
    }

    /// Who the caller is: whom [`on_connect`](super::ServerBuilder::on_connect) has admitted. Nothing, where nobody was
    /// asked or anyone is admitted.
    pub fn principal(&self) -> Option<&Principal> {
        self.call.arrival.principal.as_ref()
    }

    /// The server that the call came to.
    pub fn server(&self) -> &Server {
        &self.call.server
    }

    /// A value that came with the request: see [`Extensions`].
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.call.arrival.extensions.get()
    }

    /// Ends when the call has ended or its caller does not want it any more. The handler itself is simply
    /// dropped then; this is for work that it has handed to other tasks.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Start something that takes long.
    /// #[tool]
    /// async fn start(ctx: Ctx) -> &'static str {
    ///     tokio::spawn(async move {
    ///         tokio::select! {
    ///             () = ctx.cancelled() => {} // tidy up
    ///             () = std::future::pending() => {} // the work
    ///         }
    ///     });
    ///     "started"
    /// }
    /// ```
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// Whether the call has ended or its caller does not want it any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Tells the caller how far the call is. Goes out only if the caller asked for it, and only if there is
    /// more done than was told before, as the protocol demands. `total` may be `None`, `message` may be empty.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) {
    /// ctx.progress(1, 3, "first of three").await;
    /// ctx.progress(1.5, None::<u32>, "").await;
    /// # }
    /// ```
    pub async fn progress(&self, done: impl Amount, total: impl Amount, message: impl Into<String>) {
        let Call { facts, arrival, told, .. } = &*self.call;
        // Nothing is said about a call that has ended.
        if self.is_cancelled() {
            return;
        }
        let (Some(token), true) = (&facts.progress_token, arrival.outbound.is_open()) else { return };
        let (Ok(token), Some(done)) = (token.decode::<Id>(), done.amount()) else { return };
        if !is_more(told, &done) {
            return;
        }
        let mut progress = Progress::new(token, done);
        progress.total = total.amount();
        progress.message = Some(message.into()).filter(|message| !message.is_empty());
        arrival.outbound.tell(facts.peer.version, &Notification::Progress(progress)).await;
    }

    /// Log messages for the client, which hears only what it has asked for.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) {
    /// ctx.log().warning("disk is nearly full", serde_json::json!({"free": "3 %"})).await;
    /// # }
    /// ```
    pub fn log(&self) -> Log<'_> {
        let Call { facts, arrival, .. } = &*self.call;
        Log::new(&facts.threshold, &arrival.outbound, facts.peer.version, &self.cancel)
    }

    /// Lets the client's connection go while the call runs on; the client comes back after `retry` and hears the rest.
    /// For calls that take minutes, where an open connection costs more than coming back. Only clients of 2025-11-25
    /// that have a session over HTTP can do that; for all others this does nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    ///
    /// /// Render the film.
    /// #[tool]
    /// async fn render(ctx: Ctx) -> &'static str {
    ///     ctx.release_stream(Duration::from_secs(30)).await;
    ///     // … an hour of work …
    ///     "rendered"
    /// }
    /// ```
    pub async fn release_stream(&self, retry: Duration) {
        if !self.is_cancelled() {
            self.call.arrival.outbound.release(retry).await;
        }
    }

    /// Reads a resource of this server, in process.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) -> Result<String, toolway::ToolError> {
    /// let contents = ctx.read_resource("notes://index").await?;
    /// Ok(contents.text().unwrap_or_default().to_owned())
    /// # }
    /// ```
    pub async fn read_resource(&self, uri: impl Into<String>) -> Result<ReadResourceResult, ResourceError> {
        if self.depth >= MAX_DEPTH {
            return Err(ResourceError::hidden("resources read each other without end"));
        }
        let scope = Scope::inside(&self.call, self.depth + 1, false);
        // Boxed, because a resource may read others in turn.
        Box::pin(self.call.server.read_in_process(uri.into(), scope)).await
    }

    /// A link to a resource of this server, with the name and media type that the server knows for it.
    ///
    /// ```
    /// # fn doc(ctx: toolway::Ctx) {
    /// let link = ctx.link("notes://7/body");
    /// # }
    /// ```
    pub fn link(&self, uri: impl Into<String>) -> Content {
        Content::Link(Box::new(self.link_to(uri.into())))
    }

    fn link_to(&self, uri: String) -> Resource {
        self.call.server.describe_resource(uri)
    }

    /// Checks a value against the output schema of the tool that is being called. Without such a schema
    /// everything is right.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) -> Result<serde_json::Value, toolway::ToolError> {
    /// let answer = serde_json::json!({"sum": 5});
    /// ctx.check_output(&answer)?;
    /// # Ok(answer)
    /// # }
    /// ```
    pub fn check_output(&self, value: &impl Serialize) -> Result<(), ToolError> {
        let Some(checker) = &self.output else { return Ok(()) };
        let problems = checker.check(&serde_json::to_value(value)?);
        if problems.is_empty() { Ok(()) } else { Err(ToolError::new(crate::schema::output_text(&problems))) }
    }

    /// How long the result of this call may be kept, and by whom. Only results that can be cached carry it:
    /// those of reading a resource and of listing, in the revisions that know of caching.
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    /// use toolway::types::CacheScope;
    ///
    /// /// The message of the day.
    /// #[resource("motd://today")]
    /// fn motd(ctx: &Ctx) -> &'static str {
    ///     ctx.cache(Duration::from_secs(60), CacheScope::Public);
    ///     "be kind"
    /// }
    /// ```
    pub fn cache(&self, ttl: Duration, scope: CacheScope) {
        // What is read on the way to another answer says nothing about that one.
        if !self.is_answer {
            return;
        }
        let hints = CacheHints::new(millis(ttl), scope);
        *self.call.cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(hints);
    }
}

/// How many resources may be read on behalf of each other.
const MAX_DEPTH: u8 = 16;

/// A time in whole milliseconds, as far as every JSON reader can count.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min((1 << 53) - 1)
}

/// Whether `done` is more than was told before; remembers it if so.
fn is_more(told: &Mutex<f64>, done: &serde_json::Number) -> bool {
    let Some(done) = done.as_f64() else { return false };
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    if done <= *told {
        return false;
    }
    *told = done;
    true
}

impl Parameter for Ctx {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        Ok(Self {
            call: scope.call.clone(),
            output: scope.output.clone(),
            depth: scope.depth,
            is_answer: scope.is_answer,
            cancel: scope.call.cancel.get_or_init(CancellationToken::new).clone(),
        })
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx").field("peer", &self.call.facts.peer).finish_non_exhaustive()
    }
}

/// How much: any number, or an `Option` of one.
///
/// ```
/// use toolway::server::Amount;
///
/// assert_eq!(3_u8.amount().unwrap().to_string(), "3");
/// assert_eq!(Some(0.5).amount().unwrap().to_string(), "0.5");
/// assert_eq!(f64::NAN.amount(), None);
/// ```
pub trait Amount {
    /// The amount as JSON has it; nothing for `None`, and for what JSON cannot say.
    fn amount(self) -> Option<serde_json::Number>;
}

macro_rules! amounts {
    ($($type:ty),*) => {$(
        impl Amount for $type {
            fn amount(self) -> Option<serde_json::Number> {
                Some(self.into())
            }
        }
    )*};
}
amounts!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl Amount for f64 {
    fn amount(self) -> Option<serde_json::Number> {
        serde_json::Number::from_f64(self)
    }
}

impl Amount for f32 {
    fn amount(self) -> Option<serde_json::Number> {
        f64::from(self).amount()
    }
}

impl<T: Amount> Amount for Option<T> {
    fn amount(self) -> Option<serde_json::Number> {
        self.and_then(T::amount)
    }
}
