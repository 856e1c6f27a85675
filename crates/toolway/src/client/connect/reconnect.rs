//! How does a client open its first connection, and how does it reconnect?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::client::answer::answers::AnswerHandlers;
use crate::client::connect::config::Config;
use crate::client::connect::connection::Connection;
use crate::client::connect::list_limit::ListLimit;
use crate::client::handshake::opening::Negotiation;
use crate::client::notifications::listeners::Notifications;
use crate::client::wire::backoff::backoff;
use crate::client::wire::opening::ConnectionSetup;
use crate::client::wire::target::Target;
use crate::ground::error::{Error, Result};
use crate::ground::mutex::Mutex;

/// Opens connections to one server, as often as needed.
pub(crate) struct Reconnector {
    target: Target,
    config: Config,
    notifications: Arc<Notifications>,
    pub(crate) attempts: Mutex<Attempts>,
    /// `true` if questions that the application does not answer are passed on to the callers of forwarded requests.
    pub(crate) forwards_questions: AtomicBool,
}

/// The current attempt to reconnect, and the outcome of the last one.
#[derive(Default)]
pub(crate) struct Attempts {
    pub(crate) running: Option<(AttemptOutcome, AbortHandle)>,
    /// The error and the time of the last failed attempt.
    pub(crate) last_failure: Option<(Error, Instant)>,
}

/// The outcome of an attempt, shared by all calls that wait for it. The attempt continues even if no call waits any
/// more.
pub(crate) type AttemptOutcome = watch::Receiver<Option<Result<Arc<Connection>>>>;

impl Reconnector {
    pub(crate) fn new(target: Target, mut config: Config, notifications: Arc<Notifications>) -> Self {
        config.answers.extensions = target.connector().extensions();
        Self {
            target,
            config,
            notifications,
            attempts: Mutex::default(),
            forwards_questions: AtomicBool::new(false),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.target.connector().name()
    }

    /// Returns whether another connection can be opened.
    pub(crate) fn can_reconnect(&self) -> bool {
        self.target.connector().can_reconnect()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.config.timeout
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.config.deadline
    }

    pub(crate) fn max_list(&self) -> ListLimit {
        self.config.max_list
    }

    /// How often a request is sent again; `0` if the client cannot reconnect.
    pub(crate) fn retries(&self) -> u32 {
        if self.can_reconnect() { self.config.retries } else { 0 }
    }

    /// Aborts the current attempt, if there is one, because the client is closed or dropped.
    pub(crate) fn stop(&self) {
        if let Some((_, task)) = self.attempts.lock().running.take() {
            task.abort();
        }
    }

    /// The application's answers. The field `forwards_questions` is also `true` if a mount has enabled it since the
    /// client was built.
    fn answers(&self) -> AnswerHandlers {
        let answers = self.config.answers.clone();
        AnswerHandlers {
            forwards_questions: answers.forwards_questions || self.forwards_questions.load(Ordering::Acquire),
            ..answers
        }
    }

    /// Opens the first connection of a client. A server that cannot be reached is reported at once, because its address may be
    /// wrong; one that asks to be asked later is asked later.
    pub(crate) async fn open_first(&self, next_id: &Arc<AtomicI64>) -> Result<Connection> {
        let deadline = ConnectionSetup::deadline_after(self.config.connect_timeout);
        let mut attempt = 0;
        loop {
            let error = match self.open_until(next_id, deadline).await {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            let Some(least) = error.retry_after().filter(|_| error.is_unsent()) else { return Err(error) };
            let wait = backoff(attempt, Some(least));
            if attempt == self.retries() || Instant::now() + wait >= deadline {
                return Err(error);
            }
            attempt += 1;
            tracing::debug!(%error, attempt, ?wait, "the server is asked again to accept a client");
            sleep(wait).await;
        }
    }

    /// Opens another connection.
    pub(crate) async fn open(&self, next_id: &Arc<AtomicI64>) -> Result<Connection> {
        self.open_until(next_id, ConnectionSetup::deadline_after(self.config.connect_timeout)).await
    }

    async fn open_until(&self, next_id: &Arc<AtomicI64>, deadline: Instant) -> Result<Connection> {
        let config = &self.config;
        let opening = ConnectionSetup {
            connector: self.target.connector(),
            info: &config.info,
            answers: &config.answers,
            headers: &config.headers,
            max_message: config.max_message,
            connect_timeout: config.connect_timeout,
            next_id,
            notifications: &self.notifications,
            deadline,
            user_time_before: self.target.connector().user_time(),
        };
        let answers = self.answers();
        let negotiation = Negotiation {
            setup: &opening,
            era_cache: &config.era_cache,
            answers,
            probe_timeout: config.probe_timeout,
        };
        // The steps inside `open` have the same deadline. They time out first, with an error that contains the
        // diagnosis of the transport. The future is boxed because it is large and connections are rarely opened.
        let outcome = opening.with_deadline(Box::pin(negotiation.open(config.pinned))).await;
        let opened = outcome.map_err(|error| with_server_name(error, &self.name()))?;
        Ok(Connection::new(opened, next_id.clone()))
    }
}

/// Adds the name of the server to an error, unless it has been added already.
fn with_server_name(error: Error, name: &str) -> Error {
    if error.to_string().starts_with("failed to connect to") {
        return error;
    }
    error.context(format!("failed to connect to {name}"))
}
