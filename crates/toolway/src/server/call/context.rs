//! What can a handler send and request while it runs?

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use toolway_protocol::types::{CacheHints, CacheScope, Content, Progress, ReadResourceResult, Resource};
use toolway_protocol::{Id, Notification};

use crate::ground::mutex::Mutex;
use crate::ground::peer::Peer;
use crate::server::Server;
use crate::server::call::log::Log;
use crate::server::call::memory_record::MemoryRecord;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Scope;
use crate::server::failure::errors::{ResourceError, ToolError};

/// The current call, as a parameter of a handler. It is not part of the schema.
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
pub struct Ctx(Scope);

impl Ctx {
    pub(crate) fn scope(&self) -> &Scope {
        &self.0
    }

    /// Returns the context of a handler that runs in this scope.
    pub(crate) fn of(scope: &Scope) -> Self {
        // Create the token now: the end of the run must cancel it, even if the context uses it only afterwards.
        scope.cancel_token();
        Self(scope.for_ctx())
    }

    /// Returns facts about the client.
    pub fn peer(&self) -> &Peer {
        self.0.peer()
    }

    /// Returns the principal that [`on_connect`](crate::server::ServerBuilder::on_connect) admitted, or the
    /// [`Principal`] that the application attached to the request, if any.
    pub fn principal(&self) -> Option<&Principal> {
        self.0.arrival().principal.as_ref()
    }

    /// Returns the remote address of the connection, if the transport knows it. Behind a proxy this is the proxy's
    /// address. `None` on a pipe.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Say from where the caller comes.
    /// #[tool]
    /// fn whence(ctx: &Ctx) -> String {
    ///     ctx.remote().map_or_else(|| "from here".to_owned(), |remote| remote.ip().to_string())
    /// }
    /// ```
    pub fn remote(&self) -> Option<SocketAddr> {
        self.0.arrival().remote
    }

    /// Returns the server that received the call.
    pub fn server(&self) -> &Server {
        self.0.server()
    }

    /// Returns the record that holds the caller's memory, if the transport has set one.
    pub(crate) fn memory_record(&self) -> Option<&Arc<MemoryRecord>> {
        self.0.arrival().memory_record.as_ref()
    }

    /// Returns a value that is attached to the request: see [`Extensions`](crate::ground::extensions::Extensions).
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.arrival().extensions.get()
    }

    /// Waits until the call ends or is cancelled. The handler itself is dropped when its call is cancelled; this method
    /// is for work that the handler has moved to other tasks.
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
        self.0.cancel_token().cancelled().await;
    }

    /// Returns whether the call has ended or was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_over()
    }

    /// Reports the progress of the call to the caller. The notification is sent only if the caller requested progress,
    /// and only if `done` is larger than in the last report, as the protocol requires. If the total is unknown, pass
    /// `()` or `None`. An empty message is left out; for reports without a message, [`progress_of`](Self::progress_of)
    /// and [`progress_at`](Self::progress_at) are shorter.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) {
    /// ctx.progress(1, 3, "first of three").await;
    /// ctx.progress(1.5, (), "half of an unknown number").await;
    /// # }
    /// ```
    pub async fn progress(&self, done: impl Amount, total: impl Amount, message: impl Into<String>) {
        let arrival = self.0.arrival();
        // A call that has ended sends nothing more.
        if self.is_cancelled() {
            return;
        }
        self.0.record_progress();
        let (Some(token), true) = (&arrival.progress_token, arrival.outbound.is_open()) else { return };
        let (Ok(token), Some(done)) = (token.decode::<Id>(), done.amount()) else { return };
        if !advance_progress(self.0.last_progress(), &done) {
            return;
        }
        let mut progress = Progress::new(token, done);
        progress.total = total.amount();
        progress.message = Some(message.into()).filter(|message| !message.is_empty());
        arrival.outbound.send_notification(arrival.peer.version, &Notification::Progress(progress)).await;
    }

    /// Reports the progress of the call without a message: see [`progress`](Self::progress).
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) {
    /// ctx.progress_of(1, 3).await;
    /// # }
    /// ```
    pub async fn progress_of(&self, done: impl Amount, total: impl Amount) {
        self.progress(done, total, "").await;
    }

    /// Reports the progress of the call without a total: see [`progress`](Self::progress).
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) {
    /// ctx.progress_at(128).await;
    /// # }
    /// ```
    pub async fn progress_at(&self, done: impl Amount) {
        self.progress(done, (), "").await;
    }

    /// Returns a logger that sends messages to the client. Messages below the level that the client requested are not
    /// sent.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) {
    /// ctx.log().warning("disk is nearly full", serde_json::json!({"free": "3 %"})).await;
    /// # }
    /// ```
    pub fn log(&self) -> Log<'_> {
        Log::new(&self.0)
    }

    /// Closes the client's connection while the call continues. The client reconnects after `retry` and receives the
    /// remaining messages. Use this for calls that take minutes, where an open connection costs more than reconnecting.
    /// It works only for clients of 2025-11-25 that have a session over HTTP; for all others it does nothing.
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
            self.0.arrival().outbound.release(retry).await;
        }
    }

    /// Reads a resource of this server, in process. The handler can also read resources that are hidden from the caller
    /// ([`Admit::only_resources`](crate::server::Admit::only_resources)): take care not to reveal them.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) -> Result<String, toolway::ToolError> {
    /// let contents = ctx.read_resource("notes://index").await?;
    /// Ok(contents.text().unwrap_or_default().to_owned())
    /// # }
    /// ```
    pub async fn read_resource(&self, uri: impl Into<String>) -> Result<ReadResourceResult, ResourceError> {
        if self.0.depth >= MAX_READ_DEPTH {
            return Err(ResourceError::hidden("resources read each other without end"));
        }
        let scope = self.0.for_nested_read();
        // Boxed, because a resource may read other resources.
        Box::pin(self.0.server().read_in_process(uri.into(), &scope)).await
    }

    /// Returns a link to a resource of this server, with the name and media type that the server lists for it.
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
        self.0.server().describe_resource(uri)
    }

    /// Checks a value against the output schema of the tool that is being called. Without such a schema every value is
    /// valid.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) -> Result<serde_json::Value, toolway::ToolError> {
    /// let answer = serde_json::json!({"sum": 5});
    /// ctx.check_output(&answer)?;
    /// # Ok(answer)
    /// # }
    /// ```
    pub fn check_output(&self, value: &impl Serialize) -> Result<(), ToolError> {
        let Some(checker) = &self.0.output_checker else { return Ok(()) };
        let problems = checker.check(&serde_json::to_value(value)?);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ToolError::new(crate::schema::describe_output_problems(&problems)))
        }
    }

    /// Sets how long the result of this call may be cached, and by which clients. Only the results of lists and of
    /// reading a resource carry this, and only in revisions with caching.
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
        // A resource that is read to produce another answer must not change the cache hints of that answer.
        if !self.0.is_answer {
            return;
        }
        let hints = CacheHints::new(millis(ttl), scope);
        self.0.set_cache_hints(hints);
    }
}

/// The maximum depth of resources that read other resources.
const MAX_READ_DEPTH: u8 = 16;

/// Converts a duration to whole milliseconds, limited to 2^53 - 1, which every JSON parser can represent exactly.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min((1 << 53) - 1)
}

/// Returns whether `done` is more than the last reported value; if so, stores `done` as the last reported value.
pub(crate) fn advance_progress(told: &Mutex<f64>, done: &serde_json::Number) -> bool {
    let Some(done) = done.as_f64() else { return false };
    let mut told = told.lock();
    if done <= *told {
        return false;
    }
    *told = done;
    true
}

impl Clone for Ctx {
    fn clone(&self) -> Self {
        Self(self.0.for_ctx())
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx").field("peer", self.0.peer()).finish_non_exhaustive()
    }
}

/// An amount: any number, an `Option` of one, or `()` if the amount is unknown.
///
/// ```
/// use toolway::server::Amount;
///
/// assert_eq!(3_u8.amount().unwrap().to_string(), "3");
/// assert_eq!(Some(0.5).amount().unwrap().to_string(), "0.5");
/// assert_eq!(f64::NAN.amount(), None);
/// assert_eq!(().amount(), None);
/// ```
pub trait Amount {
    /// Returns the amount as a JSON number; `None` if it is unknown or cannot be represented in JSON.
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

impl Amount for () {
    fn amount(self) -> Option<serde_json::Number> {
        None
    }
}

impl<T: Amount> Amount for Option<T> {
    fn amount(self) -> Option<serde_json::Number> {
        self.and_then(T::amount)
    }
}
