//! How is a conversation opened again? By whoever needs it first; the others wait, and get what came of it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use toolway_protocol::Request;
use toolway_protocol::request::{ResourceUri, SetLogLevel};

use super::ClientBuilder;
use super::opening::Opening;
use crate::client::answer::Answers;
use crate::client::connection::{Connection, Terms};
use crate::client::ears::Ears;
use crate::client::target::Target;
use crate::client::transport::Inbox;
use crate::client::{Dress, Shared, Wishes, closed};
use crate::error::{Error, Result};

/// How long nobody tries after somebody has tried in vain: many calls may wait for one server.
const PAUSE: Duration = Duration::from_millis(100);

/// The way to a server, as often as it takes.
pub(in crate::client) struct Way {
    target: Target,
    builder: ClientBuilder,
    ears: Arc<Ears>,
    turn: tokio::sync::Mutex<()>,
    /// How the last attempt failed, and when.
    failed: Mutex<Option<(Error, Instant)>>,
    /// Whether questions that the application does not answer are for whoever requests are made for.
    passes: AtomicBool,
}

impl Way {
    pub(super) fn new(target: Target, builder: ClientBuilder, ears: Arc<Ears>) -> Self {
        Self {
            target,
            builder,
            ears,
            turn: tokio::sync::Mutex::default(),
            failed: Mutex::new(None),
            passes: AtomicBool::new(false),
        }
    }

    pub(in crate::client) fn name(&self) -> String {
        self.target.connector().name()
    }

    pub(in crate::client) fn timeout(&self) -> Option<Duration> {
        self.builder.timeout
    }

    /// How often a request is sent again: never, where there is only one way.
    pub(in crate::client) fn retries(&self) -> u32 {
        if self.target.can_be_reached_again() { self.builder.retries } else { 0 }
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
            inbox: &|| Inbox::new(self.answers(), self.ears.clone()),
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
    pub(in crate::client) fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the server, as soon as it can be told, that it may ask whoever requests are made for.
    #[allow(dead_code, reason = "only whoever joins a server with clients asks")]
    pub(in crate::client) fn pass_questions(&self) {
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
    pub(in crate::client) async fn connection(&self) -> Result<Arc<Connection>> {
        let current = self.current();
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        // One that cannot be opened again says best why it is over.
        if current.is_usable() || !self.way.target.can_be_reached_again() {
            return Ok(current);
        }
        drop(current);
        let _turn = self.way.turn.lock().await;
        let current = self.current();
        if current.is_usable() {
            return Ok(current);
        }
        // Somebody else has just tried.
        if let Some((error, when)) = &*lock(&self.way.failed)
            && when.elapsed() < PAUSE
        {
            return Err(error.repeated());
        }
        tracing::debug!(server = self.way.name(), "the connection is opened again");
        match self.way.open(&self.next_id).await {
            Ok(opened) => {
                let opened = Arc::new(opened);
                self.restore(&opened).await;
                self.ears.tools_changed();
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = opened.clone();
                self.ears.opened_again();
                // It may have been closed meanwhile.
                if self.closed.load(Ordering::Acquire) {
                    let _ = opened.transport.close().await;
                    return Err(closed());
                }
                Ok(opened)
            }
            Err(error) => {
                *lock(&self.way.failed) = Some((error.repeated(), Instant::now()));
                Err(error)
            }
        }
    }

    /// Tells a new connection what the old one knew. A server that does not want it any more goes on without.
    async fn restore(&self, connection: &Arc<Connection>) {
        let Wishes { log_level, resources } = self.wishes().clone();
        let mut requests = Vec::new();
        if let Some(level) = log_level
            && !connection.set_log_level(level)
        {
            requests.push(Request::SetLogLevel(SetLogLevel::new(level)));
        }
        requests.extend(resources.into_iter().map(|uri| Request::Subscribe(ResourceUri::new(uri))));
        let terms = Terms::of_our_own(self.ears.clone(), Some(self.way.builder.connect_timeout));
        for request in requests {
            let next_id = || self.next_id();
            if let Err(error) = connection.ask(&next_id, &request, &terms).await {
                tracing::warn!(%error, method = request.method().name(), "a new connection was not told what the old one knew");
            }
        }
    }
}

fn lock(failed: &Mutex<Option<(Error, Instant)>>) -> MutexGuard<'_, Option<(Error, Instant)>> {
    failed.lock().unwrap_or_else(PoisonError::into_inner)
}
