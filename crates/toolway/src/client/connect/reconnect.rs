//! How is a connection opened again, and what is it told that the old one knew?

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};
use toolway_protocol::request::{ResourceUri, SetLogLevel};
use toolway_protocol::types::LogLevel;
use toolway_protocol::{Id, Request};

use crate::client::answer::answers::Answers;
use crate::client::connect::config::Config;
use crate::client::connect::connection::{Connection, Terms};
use crate::client::connect::opening::Opening;
use crate::client::notifications::listeners::Notifications;
use crate::client::stateless::rounds::Course;
use crate::client::wire::target::Target;
use crate::ground::error::{Error, Result};

/// How long a new connection may take to hear what the old one knew.
const MAX_RESTORING: Duration = Duration::from_secs(10);

/// How much of that it is told at once.
const RESTORED_AT_ONCE: usize = 32;

/// Opens connections to one server, as often as it takes.
pub(crate) struct Reconnector {
    target: Target,
    config: Config,
    notifications: Arc<Notifications>,
    attempts: Mutex<Attempts>,
    /// Whether questions that the application does not answer are for the callers of forwarded requests.
    pub(crate) passes: AtomicBool,
}

/// What is being done to open a conversation again, and what came of it the last time.
#[derive(Default)]
pub(crate) struct Attempts {
    pub(crate) running: Option<(Outcome, AbortHandle)>,
    /// How the last attempt failed, and when.
    pub(crate) failed: Option<(Error, Instant)>,
}

/// What comes of an attempt, for all who wait for it. They may go; it goes on.
pub(crate) type Outcome = watch::Receiver<Option<Result<Arc<Connection>>>>;

impl Reconnector {
    pub(crate) fn new(target: Target, config: Config, notifications: Arc<Notifications>) -> Self {
        Self { target, config, notifications, attempts: Mutex::default(), passes: AtomicBool::new(false) }
    }

    pub(crate) fn name(&self) -> String {
        self.target.connector().name()
    }

    /// Whether another connection can be opened.
    pub(crate) fn is_lasting(&self) -> bool {
        self.target.can_be_reached_again()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.config.timeout
    }

    /// How often a request is sent again: never, where there is only one way.
    pub(crate) fn retries(&self) -> u32 {
        if self.is_lasting() { self.config.retries } else { 0 }
    }

    pub(crate) fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the attempt that is being made, if any: nobody wants another connection.
    pub(crate) fn stop(&self) {
        if let Some((_, task)) = self.attempts().running.take() {
            task.abort();
        }
    }

    /// What the application answers, and whether the rest is for whoever requests are made for.
    fn answers(&self) -> Answers {
        let answers = &self.config.answers;
        if self.passes.load(Ordering::Acquire) { answers.passing() } else { answers.clone() }
    }

    /// Opens a conversation.
    pub(crate) async fn open(&self, next_id: &AtomicI64) -> Result<Connection> {
        // What the server says before a transport is given up may still explain it.
        let opening = Opening {
            config: &self.config,
            connector: self.target.connector(),
            next_id,
            notifications: &self.notifications,
            answers: self.answers(),
            deadline: Opening::deadline(self.config.connect_timeout),
        };
        let outcome = match timeout_at(opening.deadline, opening.open()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(opening.late()),
        };
        outcome.map_err(|error| failed(error, &self.name()))
    }

    /// Tells a new connection what the old one knew. A server that does not want it any more, or does not answer, goes on without.
    pub(crate) async fn restore(
        &self,
        connection: &Arc<Connection>,
        next_id: &Arc<AtomicI64>,
        wishes: Wishes,
    ) {
        let Wishes { log_level, resources, .. } = wishes;
        let mut requests = Vec::new();
        if let Some(level) = log_level
            && !connection.set_log_level(level)
        {
            requests.push(Request::SetLogLevel(SetLogLevel::new(level)));
        }
        requests.extend(resources.into_iter().map(|uri| Request::Subscribe(ResourceUri::new(uri))));
        let terms = Terms::of_our_own(self.notifications.clone(), Some(MAX_RESTORING));
        let restoring = async {
            let mut telling = JoinSet::new();
            for request in requests {
                if telling.len() >= RESTORED_AT_ONCE {
                    telling.join_next().await;
                }
                let (connection, next_id, terms) = (connection.clone(), next_id.clone(), terms.clone());
                telling.spawn(async move {
                    let next_id = || Id::Number(next_id.fetch_add(1, Ordering::Relaxed));
                    let told = connection.ask(&next_id, &request, &terms, &mut Course::default()).await;
                    if let Err(error) = told {
                        let method = request.method();
                        tracing::warn!(%error, method = method.name(), "a new connection was not told what the old one knew");
                    }
                });
            }
            while telling.join_next().await.is_some() {}
        };
        if timeout(MAX_RESTORING, restoring).await.is_err() {
            tracing::warn!("a new connection does not hear what the old one knew");
        }
    }
}

/// Says where it was that failed, once.
fn failed(error: Error, name: &str) -> Error {
    if error.to_string().starts_with("failed to connect to") {
        return error;
    }
    error.context(format!("failed to connect to {name}"))
}

/// What a new connection is told that an old one knew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    pub(crate) log_level: Option<LogLevel>,
    /// The resources whose changes are to be told.
    pub(crate) resources: BTreeSet<String>,
    /// Those that are watched, and by how many watchers. A watcher asks for them again itself.
    pub(crate) watched: HashMap<String, usize>,
}
