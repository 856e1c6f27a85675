//! Which settings does a single request have, and what does it return?

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde::de::DeserializeOwned;
use toolway_protocol::types::Progress;
use toolway_protocol::{RawJson, Request};

use crate::client::connect::connection::PING;
use crate::client::connect::shared::ClientState;
use crate::client::notifications::listeners::ProgressHook;
use crate::client::wire::request_options::{ProgressMode, RequestOptions};
use crate::client::wire::transport::malformed_reply;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

/// The maximum number of unread progress notifications; the oldest are dropped first.
const MAX_UNREAD: usize = 256;

/// The maximum total size in bytes of the unread progress notifications; the oldest are dropped first. The newest is kept
/// even if it is longer.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// A request to a server. Add settings to it, then await it. The request is sent when it is first awaited.
///
/// Dropping an `Exchange` that is being awaited cancels the request.
///
/// ```
/// # use toolway::prelude::*;
/// # use std::time::Duration;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// # let client = Client::connect(&server).await?;
/// let sum = client
///     .call("add", serde_json::json!({"a": 2, "b": 3}))
///     .timeout(Duration::from_secs(5))
///     .on_progress(|progress| eprintln!("{} done", progress.progress))
///     .await?;
/// assert_eq!(sum.decode::<f64>()?, 5.0);
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[must_use = "the request is not sent until this is awaited"]
pub struct Exchange<T>(ExchangeState<T>);

#[expect(clippy::large_enum_variant, reason = "the first poll replaces the large variant")]
enum ExchangeState<T> {
    Draft(RequestDraft<T>),
    Running(BoxFuture<'static, Result<T>>),
    Finished,
}

struct RequestDraft<T> {
    shared: Arc<ClientState>,
    request: Request,
    options: RequestOptions,
    /// The value that the caller has set with [`Exchange::safe_to_repeat`], if any.
    safe_to_repeat: Option<bool>,
    read: fn(&Request, RawJson) -> Result<T>,
}

impl<T> Exchange<T> {
    pub(crate) fn new(
        shared: Arc<ClientState>,
        request: Request,
        read: fn(&Request, RawJson) -> Result<T>,
    ) -> Self {
        let mut terms = RequestOptions::new(shared.reconnector.timeout());
        terms.deadline = shared.reconnector.deadline();
        Self(ExchangeState::Draft(RequestDraft {
            shared,
            request,
            options: terms,
            safe_to_repeat: None,
            read,
        }))
    }

    fn configure(mut self, set: impl FnOnce(&mut RequestDraft<T>)) -> Self {
        if let ExchangeState::Draft(described) = &mut self.0 {
            set(described);
        }
        self
    }

    /// Sets how long the server may be silent about the request before the request times out. Each progress
    /// notification restarts the time. The request does not time out while a question of the server about it is being
    /// answered. `None` waits until the [`deadline`](Self::deadline), which limits the total time.
    pub fn timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        let limit = limit.into();
        self.configure(|described| described.options.timeout = limit)
    }

    /// Sets how long the request may take in total before it fails and is cancelled. Progress does not restart this time.
    /// Time in which the client answers questions of the server does not count. `None` sets no limit.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # use std::time::Duration;
    /// # #[tool] async fn forever(ctx: Ctx) { for n in 0.. { ctx.progress(n, 9, "working").await; tokio::time::sleep(Duration::from_millis(1)).await; } }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("app", "1.0.0").tools(tools![forever]).build()?;
    /// # let client = Client::connect(&server).await?;
    /// let call = client.call("forever", serde_json::json!({})).deadline(Duration::from_millis(50));
    /// assert!(call.await.unwrap_err().is_timeout());
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn deadline(self, limit: impl Into<Option<Duration>>) -> Self {
        let limit = limit.into();
        self.configure(|described| described.options.deadline = limit)
    }

    /// Adds a header to this request, on transports that have headers (HTTP).
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let header = (name.into(), value.into());
        self.configure(|described| described.options.headers.push(header))
    }

    /// Sends a bearer token with this request only, on transports that have headers (HTTP).
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// Adds a member to the request's `_meta`. Names that the protocol reserves are ignored.
    pub fn meta(self, name: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.configure(|described| {
            described.options.meta.get_or_insert_default().insert(name, value);
        })
    }

    /// Gives the request a number. A callback that answers questions of the server can read it, to know which of several
    /// calls a question is about.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway::client::{Answer, Elicitation, QuestionOrigin};
    /// use toolway::prelude::*;
    ///
    /// #[derive(toolway::Form)]
    /// struct Seats {
    ///     count: u64,
    /// }
    ///
    /// /// Book a table.
    /// #[tool]
    /// async fn book(ctx: Ctx) -> Result<String, ToolError> {
    ///     let Seats { count } = ctx.ask("For how many?").await?;
    ///     Ok(format!("booked for {count}"))
    /// }
    ///
    /// async fn answer(_: Elicitation) -> Answer {
    ///     let tag = QuestionOrigin::current().and_then(|origin| origin.request_tag());
    ///     tag.map_or_else(Answer::decline, |tag| Answer::accept(json!({ "count": tag })))
    /// }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    ///
    /// let server = Server::new("restaurant", "1.0.0").tools(tools![book]).build()?;
    /// let client = Client::builder().on_elicit(answer).connect(&server).await?;
    /// let (two, four) =
    ///     tokio::join!(client.call("book", json!({})).tag(2), client.call("book", json!({})).tag(4));
    /// assert_eq!(two?.text()?, "booked for 2");
    /// assert_eq!(four?.text()?, "booked for 4");
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn tag(self, tag: u64) -> Self {
        self.configure(|described| described.options.tag = Some(tag))
    }

    /// Calls a function with each progress notification of the request.
    pub fn on_progress(self, hook: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        let hook: ProgressHook = Arc::new(move |progress, _| hook(progress));
        self.configure(|described| described.options.progress = ProgressMode::Wanted(Some(hook)))
    }

    /// Sets whether it is safe if the server executes the request twice. If it is safe, the client sends the request
    /// again when the reply is lost. By default, requests that only read are safe, and calls of tools that declare
    /// themselves read-only or idempotent.
    pub fn safe_to_repeat(self, safe: bool) -> Self {
        self.configure(|described| described.safe_to_repeat = Some(safe))
    }
}

impl<T: Send + 'static> Exchange<T> {
    /// Returns a handle that receives the request's progress. The request is sent when the handle, or
    /// [`progress`](RunningExchange::progress), is first awaited.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # #[tool] async fn count(ctx: Ctx) -> String { for n in 1..=3 { ctx.progress(n, 3, "counting").await; } "done".to_owned() }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("counter", "1.0.0").tools(tools![count]).build()?;
    /// # let client = Client::connect(&server).await?;
    /// let mut running = client.call("count", serde_json::json!({})).start();
    /// let mut seen = 0;
    /// while let Some(progress) = running.progress().await {
    ///     println!("{} of {:?}", progress.progress, progress.total);
    ///     seen += 1;
    /// }
    /// assert_eq!(running.await?.text()?, "done");
    /// assert_eq!(seen, 3);
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn start(self) -> RunningExchange<T> {
        let seen = Arc::new(ProgressQueue::default());
        let tell = seen.clone();
        let hook: ProgressHook = Arc::new(move |progress, bytes| tell.put(progress.clone(), bytes));
        let exchange = self.configure(|described| {
            let progress = &mut described.options.progress;
            let both: ProgressHook = match std::mem::replace(progress, ProgressMode::Unwanted) {
                ProgressMode::Wanted(Some(first)) => Arc::new(move |progress, bytes| {
                    first(progress, bytes);
                    hook(progress, bytes);
                }),
                _ => hook,
            };
            *progress = ProgressMode::Wanted(Some(both));
        });
        RunningExchange { exchange, progress_queue: seen, outcome: None }
    }
}

impl Exchange<()> {
    /// A request whose result is ignored.
    pub(crate) fn ignoring_result(shared: Arc<ClientState>, request: Request) -> Self {
        Self::new(shared, request, |_, _| Ok(()))
    }
}

impl Exchange<RawJson> {
    /// A request whose result is returned unchanged.
    pub(crate) fn raw(shared: Arc<ClientState>, request: Request) -> Self {
        Self::new(shared, request, |_, text| Ok(text))
    }
}

impl<T> Exchange<T> {
    /// A request whose result is decoded as `R` and converted into `T`.
    pub(crate) fn decoded<R: DeserializeOwned + Into<T>>(shared: Arc<ClientState>, request: Request) -> Self {
        Self::new(shared, request, |request, text| decode::<R>(request, &text).map(Into::into))
    }
}

/// Decodes the result of a request as an `R`.
pub(crate) fn decode<R: DeserializeOwned>(request: &Request, result: &RawJson) -> Result<R> {
    let malformed = || malformed_reply(&request.method());
    // Derived decoders also accept an array in place of an object; the protocol does not.
    if !result.is_object() {
        return Err(malformed());
    }
    result.decode().map_err(|error| malformed().caused_by(error))
}

impl<T: Send + 'static> Future for Exchange<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let ExchangeState::Draft(_) = &self.0
            && let ExchangeState::Draft(described) = std::mem::replace(&mut self.0, ExchangeState::Finished)
        {
            self.0 = ExchangeState::Running(Box::pin(described.run()));
        }
        let ExchangeState::Running(running) = &mut self.0 else {
            panic!("an exchange was polled after it had completed");
        };
        let outcome = std::task::ready!(running.as_mut().poll(cx));
        self.0 = ExchangeState::Finished;
        Poll::Ready(outcome)
    }
}

impl<T> RequestDraft<T> {
    async fn run(self) -> Result<T> {
        let Self { shared, request, options: mut terms, safe_to_repeat: safe, read } = self;
        if request == PING {
            terms.progress = ProgressMode::Unwanted;
        } else if !terms.wants_progress()
            // Request progress for tool calls even if the caller does not want it: progress keeps a slow call from
            // timing out.
            && (shared.notifications.want_progress() || matches!(request, Request::CallTool(_)))
        {
            terms.progress = ProgressMode::Wanted(None);
        }
        let result = shared.request_with_retries(&request, terms, safe).await?;
        read(&request, result)
    }
}

impl<T> fmt::Debug for Exchange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            ExchangeState::Draft(described) => described.request.method().name().to_owned(),
            ExchangeState::Running(_) => "running".to_owned(),
            ExchangeState::Finished => "over".to_owned(),
        };
        f.debug_tuple("Exchange").field(&state).finish()
    }
}

/// A request that receives progress. Made by [`Exchange::start`]. Awaiting it returns the result of the request.
///
/// It is also a stream of the progress notifications. The stream ends when the result has arrived.
#[must_use = "the request is not sent until this is awaited"]
pub struct RunningExchange<T> {
    exchange: Exchange<T>,
    progress_queue: Arc<ProgressQueue>,
    outcome: Option<Result<T>>,
}

impl<T: Send + Unpin + 'static> RunningExchange<T> {
    /// Waits for the next progress notification. Returns `None` once the result has arrived.
    pub async fn progress(&mut self) -> Option<Progress> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl<T: Send + Unpin + 'static> Stream for RunningExchange<T> {
    type Item = Progress;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Progress>> {
        // Poll the exchange first: on some transports, polling the exchange reads the connection and so receives the
        // progress.
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = Pin::new(&mut self.exchange).poll(cx)
        {
            self.outcome = Some(outcome);
        }
        match self.progress_queue.poll_next(cx) {
            Poll::Pending if self.outcome.is_some() => Poll::Ready(None),
            polled => polled,
        }
    }
}

impl<T: Send + Unpin + 'static> Future for RunningExchange<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => Pin::new(&mut self.exchange).poll(cx),
        }
    }
}

impl<T> fmt::Debug for RunningExchange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Running").field(&self.exchange).finish()
    }
}

/// The progress notifications that were not read yet.
#[derive(Default)]
struct ProgressQueue(Mutex<UnreadProgress>);

#[derive(Default)]
struct UnreadProgress {
    /// The notifications, each with its size.
    queue: VecDeque<(Progress, usize)>,
    bytes: usize,
    /// The waker of the task that waits for the next notification.
    waker: Option<std::task::Waker>,
}

impl ProgressQueue {
    fn put(&self, progress: Progress, bytes: usize) {
        let mut unread = self.0.lock();
        unread.queue.push_back((progress, bytes));
        unread.bytes += bytes;
        while unread.queue.len() > MAX_UNREAD || (unread.bytes > MAX_UNREAD_BYTES && unread.queue.len() > 1) {
            unread.take();
        }
        if let Some(waker) = unread.waker.take() {
            waker.wake();
        }
    }

    fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Progress>> {
        let mut unread = self.0.lock();
        match unread.take() {
            Some(progress) => Poll::Ready(Some(progress)),
            None => {
                unread.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl UnreadProgress {
    fn take(&mut self) -> Option<Progress> {
        let (progress, bytes) = self.queue.pop_front()?;
        self.bytes -= bytes;
        Some(progress)
    }
}
