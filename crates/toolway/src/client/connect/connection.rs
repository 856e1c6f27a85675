//! How is one request sent over one connection, timed out and cancelled?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::{Cancelled, LogLevel};
use toolway_protocol::{Id, Method, RawJson, Request, RpcError};

use crate::client::answer::caller::OpenCallGuard;
use crate::client::notifications::listeners::{Notifications, ProgressGuard};
use crate::client::wire::era_link::{EraLink, Requester};
use crate::client::wire::inbox::Inbox;
use crate::client::wire::opening::{OpenConnection, ServerFacts};
use crate::client::wire::outgoing::OutgoingMessage;
use crate::client::wire::request_options::{ProgressMode, RequestOptions, RequestRounds, ServerReply};
use crate::client::wire::transport::{Transport, exchange};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::lazy_timeout::lazy_timeout_at;

/// How long it may take to send a cancel notification, and how long a close waits for cancel notifications.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum time of a request in which questions of the server are answered and which does not count towards its
/// deadline. Without this limit, a server that keeps asking could hold a request forever.
const MAX_QUESTION_TIME: Duration = Duration::from_secs(24 * 3600);

/// How often a request beyond its deadline checks whether a question is still being answered.
const QUESTION_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The request that checks whether the server responds. [`EraLink::ping`] writes it, because each era uses a different
/// method for this purpose.
pub(crate) const PING: Request = Request::Other(Method::Ping, None);

/// An open connection to a server.
pub(crate) struct Connection {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) era: Box<dyn EraLink>,
    pub(crate) server: ServerFacts,
    inbox: Inbox,
    next_id: Arc<AtomicI64>,
    pub(crate) limits: MessageLimits,
    /// `true` once the server has ended the session.
    pub(crate) is_lost: AtomicBool,
    /// The number of cancel notifications that are still being sent.
    cancels_in_flight: watch::Sender<usize>,
}

/// The maximum length of messages sent over one connection.
pub(crate) struct MessageLimits {
    max_message: usize,
    /// The lowest limit that the server has reported on this connection. A new connection starts without it, because
    /// the server may have been replaced by one that accepts more.
    reported: AtomicUsize,
}

impl MessageLimits {
    fn new(max_message: usize) -> Self {
        Self { max_message, reported: AtomicUsize::new(usize::MAX) }
    }

    /// Returns an error if a message is longer than the client's limit or the limit that the server has reported.
    pub(crate) fn check(&self, outgoing: &OutgoingMessage) -> Result<()> {
        let size = outgoing.frame.len();
        let reported = self.reported.load(Ordering::Relaxed);
        let max = self.max_message;
        if size <= max.min(reported) {
            return Ok(());
        }
        let what = if outgoing.id.is_some() { "request" } else { "notification" };
        let text = if size > reported {
            format!(
                "the {what} is {size} bytes long, and the server takes at most {reported}: send less, or raise `max_message` on the server"
            )
        } else {
            format!(
                "the {what} is {size} bytes long, and the client sends at most {max}: send less, or raise `max_message` on the client"
            )
        };
        Err(Error::new(ErrorKind::TooLarge, text))
    }

    /// Records the limit that the server reported in an error. `size` is the size of the refused message: a limit that
    /// the message did not exceed is ignored, because it cannot be the reason for the error.
    fn note_reported(&self, size: usize, error: &Error) {
        let refused = error.rpc().filter(|error| error.code == Code::INVALID_REQUEST);
        if let Some(max) = refused.and_then(RpcError::max_message).filter(|max| *max < size) {
            self.reported.fetch_min(max, Ordering::Relaxed);
        }
    }
}

impl Connection {
    pub(crate) fn new(opened: OpenConnection, next_id: Arc<AtomicI64>) -> Self {
        let OpenConnection { transport, inbox, era, server } = opened;
        let size = MessageLimits::new(inbox.max_message);
        let (lost, taking_back) = (AtomicBool::new(false), watch::Sender::new(0));
        Self {
            transport,
            era,
            server,
            inbox,
            next_id,
            limits: size,
            is_lost: lost,
            cancels_in_flight: taking_back,
        }
    }

    /// Waits until all cancel notifications are sent, for a limited time. Closing the connection is not enough: some
    /// servers let a call run on when its connection or session ends.
    pub(crate) async fn cancels_sent(&self) {
        let mut left = self.cancels_in_flight.subscribe();
        // This cannot fail: `self` holds the sender.
        let _ = timeout(CANCEL_TIMEOUT, left.wait_for(|left| *left == 0)).await;
    }

    /// Returns whether requests can be sent over the connection.
    pub(crate) fn is_usable(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire) && self.transport.is_connected()
    }

    fn next_id(&self) -> Id {
        Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Sets the log level of later requests. Returns the request that sets the level on the server, if the era has one.
    pub(crate) fn set_log_level(&self, level: LogLevel) -> Option<Request> {
        self.era.set_log_level(level);
        self.era.log_level_request(level)
    }

    /// Checks once whether the server responds within `limit`, without retries.
    pub(crate) async fn probe(self: &Arc<Self>, limit: Duration) -> Result<()> {
        self.request(&mut RequestRounds::new(&PING), &RequestOptions::new(Some(limit))).await.map(drop)
    }

    /// Sends a request and returns the result unchanged. If the server asks questions, answers them and sends the
    /// request again, as often as needed. `course` may have begun on an earlier connection and is continued.
    pub(crate) async fn request(
        self: &Arc<Self>,
        course: &mut RequestRounds<'_>,
        terms: &RequestOptions,
    ) -> Result<RawJson> {
        self.request_with_id(self.next_id(), course, terms).await
    }

    async fn request_with_id(
        self: &Arc<Self>,
        mut id: Id,
        course: &mut RequestRounds<'_>,
        terms: &RequestOptions,
    ) -> Result<RawJson> {
        course.log_level = self.era.log_level();
        course.tag = terms.tag;
        loop {
            let outgoing = match course.request() {
                &PING => self.era.ping(id),
                _ => self.era.request(id, course, terms)?,
            };
            let result = self.send(outgoing, terms, &mut course.waited).await?;
            // If the result of a forwarded request contains questions, the code that forwards requests handles them.
            if terms.caller.is_some() {
                return Ok(result);
            }
            match self.era.complete(course, result)? {
                ServerReply::Complete(result) => return Ok(result),
                ServerReply::InputRequired(answered) => answered.await?,
            }
            id = self.next_id();
        }
    }

    /// Sends one request and waits for its reply. Cancels the request if the future is dropped or times out. `waited` is
    /// how long the client has waited for the server in earlier rounds.
    async fn send(
        self: &Arc<Self>,
        mut outgoing: OutgoingMessage,
        terms: &RequestOptions,
        waited: &mut Duration,
    ) -> Result<RawJson> {
        if !terms.headers.is_empty() {
            outgoing.headers.extend_from_slice(&terms.headers);
        }
        let Some(id) = outgoing.id.clone() else {
            return Err(Error::new(ErrorKind::Misuse, "a notification has no reply to wait for"));
        };
        let hearing = match &terms.progress {
            ProgressMode::Wanted(hook) => {
                Some(self.inbox.notifications.register_progress(id.clone(), hook.clone()))
            }
            ProgressMode::Unwanted => None,
        };
        self.limits.check(&outgoing)?;
        let size = outgoing.frame.len();
        let method = outgoing.method.clone();
        let _open = self.register_call(&id, &method, terms);
        let mut given_up = CancelGuard(
            (!self.transport.cancels_by_dropping(self.era.version()))
                .then(|| (self.clone(), id.clone(), method.clone())),
        );
        let mut work = std::pin::pin!(exchange(&*self.transport, outgoing));
        if terms.timeout.is_none() && terms.deadline.is_none() {
            return given_up.finish(work.await, self, size);
        }
        let mut sign_in_time = self.transport.user_time();
        let user_time_before = self.era.question_time() + sign_in_time;
        let question_time = || {
            let total = self.era.question_time() + self.transport.user_time();
            total.saturating_sub(user_time_before).min(MAX_QUESTION_TIME)
        };
        let (sent, mut asked) = (Instant::now(), Duration::ZERO);
        let (mut heard, mut checked) = (sent, sent);
        loop {
            // If the clock cannot represent a time, it is never reached.
            let silent_until = terms.timeout.and_then(|limit| heard.checked_add(limit));
            let deadline = terms
                .deadline
                .and_then(|limit| sent.checked_add(limit.saturating_sub(*waited).saturating_add(asked)))
                .map(|deadline| deadline.max(checked));
            let Some(until) = silent_until.into_iter().chain(deadline).min() else {
                return given_up.finish(work.await, self, size);
            };
            if let Some(outcome) = lazy_timeout_at(until, work.as_mut()).await {
                // Only a deadline counts the time of earlier rounds.
                if terms.deadline.is_some() {
                    *waited += sent.elapsed().saturating_sub(question_time());
                }
                return given_up.finish(outcome, self, size);
            }
            let now = Instant::now();
            let asked_before = std::mem::replace(&mut asked, question_time());
            if deadline.is_some_and(|deadline| deadline <= now) {
                if asked == asked_before {
                    return Err(deadline_error(&method, terms.deadline.unwrap_or_default()));
                }
                // While a question is being answered, the deadline moves.
                checked = now + QUESTION_CHECK_INTERVAL;
            }
            if silent_until.is_some_and(|until| until <= now) {
                let progress = hearing.as_ref().and_then(ProgressGuard::last_progress);
                heard = match progress.filter(|progress| *progress > heard) {
                    // A question of the server is being answered, perhaps by the user: start the time again.
                    _ if self.era.has_pending_question(&id, sent) => now,
                    // A user has been signing in.
                    _ if self.transport.user_time() > sign_in_time => {
                        sign_in_time = self.transport.user_time();
                        now
                    }
                    Some(progress) => progress,
                    None => return Err(timeout_error(&method, terms.timeout.unwrap_or_default())),
                };
            }
        }
    }

    /// Records a request as in flight until the guard is dropped. Returns `None` if the server cannot ask about
    /// requests of this method.
    fn register_call(&self, id: &Id, method: &Method, terms: &RequestOptions) -> Option<OpenCallGuard<'_>> {
        if !may_ask_about(method) {
            return None;
        }
        let caller = terms.caller.as_ref();
        self.era.note_caller(caller);
        Some(self.inbox.calls.register(id, caller, terms.tag))
    }

    /// Returns whether tools of this server can require that arguments are also sent in headers.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.transport.has_headers() && self.era.mirrors_arguments()
    }
}

/// Returns whether a server may ask questions about a request with this method. It may not ask about lists and
/// subscriptions.
fn may_ask_about(method: &Method) -> bool {
    matches!(method, Method::CallTool | Method::GetPrompt | Method::ReadResource | Method::Other(_))
}

/// Lets the code of an era send requests of its own.
impl Requester for Arc<Connection> {
    fn next_id(&self) -> Id {
        Connection::next_id(self)
    }

    fn send_request(
        &self,
        id: Id,
        request: Request,
        timeout: Option<Duration>,
    ) -> BoxFuture<'_, Result<RawJson>> {
        Box::pin(async move {
            self.request_with_id(id, &mut RequestRounds::new(&request), &RequestOptions::new(timeout)).await
        })
    }

    fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    fn notifications(&self) -> &Notifications {
        &self.inbox.notifications
    }
}

/// Guard of a request in flight. Dropping it sends a cancel notification, unless the request has an outcome.
struct CancelGuard(Option<(Arc<Connection>, Id, Method)>);

impl CancelGuard {
    /// Disarms the guard, because a request with an outcome needs no cancel notification, and returns the outcome.
    /// Records what an error says about the connection: the server's message limit, or that the session has ended.
    fn finish(&mut self, outcome: Result<RawJson>, connection: &Connection, size: usize) -> Result<RawJson> {
        self.0 = None;
        if let Err(error) = &outcome {
            connection.limits.note_reported(size, error);
            if error.is_session_ended() {
                connection.is_lost.store(true, Ordering::Release);
            }
        }
        outcome
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let Some((connection, id, method)) = self.0.take() else { return };
        // Without a runtime the notification cannot be sent.
        let Ok(runtime) = Handle::try_current() else { return };
        if !connection.is_usable() {
            return;
        }
        tracing::debug!(method = method.name(), "a request is cancelled");
        connection.cancels_in_flight.send_modify(|left| *left += 1);
        let connection = CancelInFlight(connection);
        runtime.spawn(async move {
            let CancelInFlight(connection) = &connection;
            let cancelled =
                Cancelled::new().with_request_id(id).with_reason("the caller cancelled the request");
            let params = RawJson::encoded(&cancelled, connection.era.version());
            let outgoing = connection.era.notification(Method::Cancelled, Some(&params));
            match timeout(CANCEL_TIMEOUT, connection.transport.send(outgoing)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "the notification that cancels a request could not be sent");
                }
                Err(_) => tracing::debug!("sending the notification that cancels a request timed out"),
            }
        });
    }
}

/// Guard of a cancel notification that is being sent. Dropping it decrements `cancels_in_flight`, whether the
/// notification was sent or not.
struct CancelInFlight(Arc<Connection>);

impl Drop for CancelInFlight {
    fn drop(&mut self) {
        self.0.cancels_in_flight.send_modify(|left| *left -= 1);
    }
}

fn deadline_error(method: &Method, limit: Duration) -> Error {
    let message = format!(
        "the server did not complete {} within {limit:?} in total: raise `deadline` on the client",
        method.name()
    );
    Error::new(ErrorKind::Timeout, message).reply_lost()
}

pub(crate) fn timeout_error(method: &Method, limit: Duration) -> Error {
    let message = format!("the server did not answer {} within {limit:?}", method.name());
    Error::new(ErrorKind::Timeout, message).reply_lost()
}
