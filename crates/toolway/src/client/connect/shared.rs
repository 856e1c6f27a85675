//! What do all clones of a client share? The current connection. If the connection is lost, the first call that needs
//! it starts an attempt to reconnect. All other calls wait for the outcome of this attempt. If a call times out while
//! it waits, the attempt continues, because the next call needs the connection too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_protocol::types::LogLevel;

use crate::client::connect::config::Config;
use crate::client::connect::connection::Connection;
use crate::client::connect::reconnect::{AttemptOutcome, Reconnector};
use crate::client::connect::tool_cache::ToolCache;
use crate::client::handshake::subscriptions::Subscriptions;
use crate::client::notifications::listeners::Notifications;
use crate::client::wire::target::Target;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// How long no new attempt to reconnect starts after a failed one. Calls in this time get the error of the failed
/// attempt. Without the pause, many calls to an unavailable server would each start an attempt.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// The state that all clones of a client share. It outlives connections.
pub(crate) struct ClientState {
    pub(crate) reconnector: Arc<Reconnector>,
    current: Mutex<Arc<Connection>>,
    pub(crate) closed: AtomicBool,
    next_id: Arc<AtomicI64>,
    pub(crate) notifications: Arc<Notifications>,
    pub(crate) tools: ToolCache,
    /// The log level, if the application has set one.
    pub(crate) log_level: Mutex<Option<LogLevel>>,
    pub(crate) subscriptions: Arc<Subscriptions>,
}

impl ClientState {
    /// Opens the first connection.
    pub(crate) async fn open(target: Target, config: Config) -> Result<Self> {
        let notifications = Arc::new(Notifications::new(config.hooks.clone()));
        let reconnector = Arc::new(Reconnector::new(target, config, notifications.clone()));
        let next_id = Arc::new(AtomicI64::new(0));
        let connection = reconnector.open_first(&next_id).await?;
        Ok(Self {
            reconnector,
            current: Mutex::new(Arc::new(connection)),
            closed: AtomicBool::new(false),
            next_id,
            notifications,
            tools: ToolCache::default(),
            log_level: Mutex::default(),
            subscriptions: Arc::default(),
        })
    }

    /// The current connection, which may have ended.
    pub(crate) fn current(&self) -> Arc<Connection> {
        self.current.lock().clone()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns whether the connection has ended, and the client cannot reconnect.
    pub(crate) fn is_lost_for_good(&self) -> bool {
        !self.reconnector.can_reconnect() && !self.current().is_usable()
    }

    /// Returns the current connection if it is usable; otherwise reconnects.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>> {
        if let Some(current) = self.open_connection()? {
            return Ok(current);
        }
        let mut outcome = self.join_or_start_attempt()?;
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(opened))) => Ok(opened.clone()),
            Ok(Some(Err(error))) => Err(error.clone_flattened()),
            _ if self.is_closed() => Err(closed_error()),
            _ => Err(Error::new(
                ErrorKind::Transport,
                "the runtime was shut down while the connection was being reopened",
            )
            .unsent()),
        }
    }

    /// Returns the current connection, or `None` if the client has to reconnect first.
    pub(crate) fn open_connection(&self) -> Result<Option<Arc<Connection>>> {
        let current = self.current();
        if self.is_closed() {
            return Err(closed_error());
        }
        // If the client cannot reconnect, return the ended connection: its own error explains best why it has ended.
        Ok((current.is_usable() || !self.reconnector.can_reconnect()).then_some(current))
    }

    /// Returns the outcome of the attempt that is running, or starts a new attempt.
    fn join_or_start_attempt(self: &Arc<Self>) -> Result<AttemptOutcome> {
        let mut attempts = self.reconnector.attempts.lock();
        // `close` stops the running attempt, so no attempt may start after `close`.
        if self.is_closed() {
            return Err(closed_error());
        }
        if let Some((running, task)) = &attempts.running
            && !task.is_finished()
            && running.borrow().is_none()
        {
            return Ok(running.clone());
        }
        // Another call may have reconnected since the caller checked.
        let current = self.current();
        if current.is_usable() {
            return Ok(watch::Sender::new(Some(Ok(current))).subscribe());
        }
        // Another call has just failed to reconnect.
        if let Some((error, when)) = &attempts.last_failure
            && when.elapsed() < RECONNECT_PAUSE
        {
            return Err(error.clone_flattened());
        }
        tracing::debug!(server = self.reconnector.name(), "the client reconnects");
        let (tell, outcome) = watch::channel(None);
        let (reconnector, next_id, shared) =
            (self.reconnector.clone(), self.next_id.clone(), Arc::downgrade(self));
        let task = tokio::spawn(async move {
            let opened = reconnector.open(&next_id).await.map(Arc::new);
            // What broke off was the opening of the connection. The server has not seen the requests that wait for the
            // connection, so for them the error means "unsent".
            let opened = opened.map_err(|error| if error.is_reply_lost() { error.unsent() } else { error });
            if let Ok(connection) = &opened {
                // Without the client, no call waits for the connection any more.
                let Some(shared) = shared.upgrade() else { return };
                let (log_level, subscriptions) = (*shared.log_level.lock(), shared.subscriptions.clone());
                drop(shared);
                let log_request = log_level.and_then(|level| connection.set_log_level(level));
                subscriptions.restore(connection.clone(), log_request).await;
            }
            let Some(shared) = shared.upgrade() else { return };
            shared.finish_attempt(&opened);
            tell.send_replace(Some(opened));
        });
        attempts.running = Some((outcome.clone(), task.abort_handle()));
        Ok(outcome)
    }

    /// Makes a new connection the current one for all clones, or records the error of a failed attempt.
    fn finish_attempt(&self, opened: &Result<Arc<Connection>>) {
        match opened {
            Ok(opened) => {
                {
                    let mut current = self.current.lock();
                    // `close` has closed only the old connection. The new connection ends when it is dropped.
                    if self.is_closed() {
                        return;
                    }
                    self.notifications.invalidate_tools();
                    *current = opened.clone();
                }
                self.notifications.note_reconnected();
            }
            Err(error) => {
                self.reconnector.attempts.lock().last_failure =
                    Some((error.clone_flattened(), Instant::now()));
            }
        }
    }
}

impl Drop for ClientState {
    fn drop(&mut self) {
        self.reconnector.stop();
        self.notifications.close();
    }
}

pub(crate) fn closed_error() -> Error {
    Error::new(ErrorKind::Cancelled, "the client is closed").session_ended()
}
