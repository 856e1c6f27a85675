//! How is a conversation opened again? Whoever needs it first begins; all others wait with them, and get what came of it. Those who
//! cannot wait any longer go, and it is opened all the same: the next one needs it, too.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};
use toolway_protocol::request::{ResourceUri, SetLogLevel};
use toolway_protocol::{Id, Request};

use crate::client::answer::answers::Answers;
use crate::client::connect::ClientBuilder;
use crate::client::connect::connection::{Connection, Course, Terms};
use crate::client::connect::opening::Opening;
use crate::client::notifications::listeners::Ears;
use crate::client::wire::target::Target;
use crate::client::wire::transport::Inbox;
use crate::client::{Dress, Shared, Wishes, closed};
use crate::error::{Error, ErrorKind, Result};

/// How long nobody tries after somebody has tried in vain: many calls may wait for one server.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a new connection may take to hear what the old one knew.
const MAX_RESTORING: Duration = Duration::from_secs(10);

/// How much of that it is told at once.
const RESTORED_AT_ONCE: usize = 32;

/// The way to a server, as often as it takes.
pub(crate) struct Way {
    target: Target,
    builder: ClientBuilder,
    ears: Arc<Ears>,
    attempts: Mutex<Attempts>,
    /// Whether questions that the application does not answer are for whoever requests are made for.
    passes: AtomicBool,
}

/// What is being done to open a conversation again, and what came of it the last time.
#[derive(Default)]
struct Attempts {
    running: Option<(Outcome, AbortHandle)>,
    /// How the last attempt failed, and when.
    failed: Option<(Error, Instant)>,
}

/// What comes of an attempt, for all who wait for it. They may go; it goes on.
type Outcome = watch::Receiver<Option<Result<Arc<Connection>>>>;

impl Way {
    pub(super) fn new(target: Target, builder: ClientBuilder, ears: Arc<Ears>) -> Self {
        Self { target, builder, ears, attempts: Mutex::default(), passes: AtomicBool::new(false) }
    }

    pub(crate) fn name(&self) -> String {
        self.target.connector().name()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.builder.timeout
    }

    /// How often a request is sent again: never, where there is only one way.
    pub(crate) fn retries(&self) -> u32 {
        if self.target.can_be_reached_again() { self.builder.retries } else { 0 }
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
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
        let answers = &self.builder.answers;
        if self.passes.load(Ordering::Acquire) { answers.passing() } else { answers.clone() }
    }

    /// Opens a conversation.
    pub(super) async fn open(&self, next_id: &AtomicI64) -> Result<Connection> {
        // What the server says before a transport is given up may still explain it.
        let opening = Opening {
            builder: &self.builder,
            connector: self.target.connector(),
            next_id,
            inbox: &|max_message| Inbox::new(self.answers(), self.ears.clone(), max_message),
            deadline: Opening::deadline(self.builder.connect_timeout),
        };
        let outcome = match timeout_at(opening.deadline, opening.open()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(opening.late()),
        };
        outcome.map_err(|error| failed(error, &self.name()))
    }
}

/// Says where it was that failed, once.
fn failed(error: Error, name: &str) -> Error {
    if error.to_string().starts_with("failed to connect to") {
        return error;
    }
    error.context(format!("failed to connect to {name}"))
}

impl Shared {
    pub(crate) fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the server, as soon as it can be told, that it may ask whoever requests are made for.
    #[allow(dead_code, reason = "only whoever joins a server with clients asks")]
    pub(crate) fn pass_questions(&self) {
        let was_so = self.way.passes.swap(true, Ordering::AcqRel);
        let current = self.current();
        let is_told = match current.era {
            // Each request says for itself what may be asked.
            Dress::Stateless(_) => true,
            Dress::Handshake(_) => {
                let answers = current.inbox.asked().answers();
                answers.passes() || answers.has_all()
            }
        };
        if !was_so && !is_told && self.way.target.can_be_reached_again() {
            current.lost.store(true, Ordering::Release);
        }
    }

    /// A connection that can be used: the one there is, or another one.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>> {
        let mut outcome = {
            let current = self.current();
            if self.closed.load(Ordering::Acquire) {
                return Err(closed());
            }
            // One that cannot be opened again says best why it is over.
            if current.is_usable() || !self.way.target.can_be_reached_again() {
                return Ok(current);
            }
            self.attempt()?
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(opened))) => Ok(opened.clone()),
            Ok(Some(Err(error))) => Err(error.repeated()),
            _ if self.closed.load(Ordering::Acquire) => Err(closed()),
            _ => Err(Error::new(
                ErrorKind::Transport,
                "the runtime was shut down in which the connection was being opened again",
            )
            .unsent()),
        }
    }

    /// Joins the attempt that is being made, or begins one.
    fn attempt(self: &Arc<Self>) -> Result<Outcome> {
        let mut attempts = self.way.attempts();
        // Whoever closes it sees to it that no attempt is left behind.
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        if let Some((running, task)) = &attempts.running
            && !task.is_finished()
            && running.borrow().is_none()
        {
            return Ok(running.clone());
        }
        // It may have been opened since the caller has looked.
        let current = self.current();
        if current.is_usable() {
            return Ok(watch::Sender::new(Some(Ok(current))).subscribe());
        }
        // Somebody else has just tried.
        if let Some((error, when)) = &attempts.failed
            && when.elapsed() < PAUSE
        {
            return Err(error.repeated());
        }
        tracing::debug!(server = self.way.name(), "the connection is opened again");
        let (tell, outcome) = watch::channel(None);
        let (way, next_id, shared) = (self.way.clone(), self.next_id.clone(), Arc::downgrade(self));
        let task = tokio::spawn(async move {
            let opened = way.open(&next_id).await.map(Arc::new);
            // What broke off was the opening. Of the requests that wait for it, the server has seen nothing.
            let opened = opened.map_err(|error| if error.is_broken_off() { error.unsent() } else { error });
            if let Ok(connection) = &opened {
                // The client is gone, and so is whoever waited.
                let Some(wishes) = shared.upgrade().map(|shared| shared.wishes().clone()) else { return };
                way.restore(connection, &next_id, wishes).await;
            }
            let Some(shared) = shared.upgrade() else { return };
            shared.take_over(&opened);
            tell.send_replace(Some(opened));
        });
        attempts.running = Some((outcome.clone(), task.abort_handle()));
        Ok(outcome)
    }

    /// From now on, all use what came of an attempt.
    fn take_over(&self, opened: &Result<Arc<Connection>>) {
        match opened {
            Ok(opened) => {
                {
                    let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                    // Whoever closes it ends the connection of now, and this one ends when it is dropped.
                    if self.closed.load(Ordering::Acquire) {
                        return;
                    }
                    self.ears.tools_changed();
                    *current = opened.clone();
                }
                self.ears.opened_again();
            }
            Err(error) => self.way.attempts().failed = Some((error.repeated(), Instant::now())),
        }
    }
}

impl Way {
    /// Tells a new connection what the old one knew. A server that does not want it any more, or does not answer, goes on without.
    async fn restore(&self, connection: &Arc<Connection>, next_id: &Arc<AtomicI64>, wishes: Wishes) {
        let Wishes { log_level, resources, .. } = wishes;
        let mut requests = Vec::new();
        if let Some(level) = log_level
            && !connection.set_log_level(level)
        {
            requests.push(Request::SetLogLevel(SetLogLevel::new(level)));
        }
        requests.extend(resources.into_iter().map(|uri| Request::Subscribe(ResourceUri::new(uri))));
        let terms = Terms::of_our_own(self.ears.clone(), Some(MAX_RESTORING));
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
