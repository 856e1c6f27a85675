//! How does a client learn what has changed on the server?

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use toolway_protocol::capability::{JsonObject, ServerCapabilities};
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::SubscriptionFilter;

use crate::client::connect::client::Client;
use crate::client::connect::connection::Connection;
use crate::client::connect::shared::{ClientState, closed_error};
use crate::client::handshake::subscriptions::WatchGuard;
use crate::client::notifications::changes::{Change, Changes};
use crate::client::wire::backoff::backoff;
use crate::client::wire::era_link::{Requester, WatchRequest};
use crate::ground::boxed_task::boxed_task;
use crate::ground::error::{Error, ErrorKind, Result};

/// How long an attempt to subscribe must last so that the next one follows without a longer wait.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The shortest wait after an attempt to subscribe that failed because a user has to sign in. A call asks the user.
const SIGN_IN_WAIT: Duration = Duration::from_secs(60);

/// Receives the changes of a server until it is dropped. Made by [`Client::watch`].
pub struct Watch {
    changes: Changes,
    missed: Vec<Change>,
    begun: mpsc::Receiver<Result<()>>,
    lost: Arc<Notify>,
    wanted: Arc<WatchTargets>,
    /// The task that maintains the subscription. Dropping the watch aborts it.
    _task: JoinSet<()>,
    _guard: WatchGuard,
}

/// An event of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    Changed(Change),
    /// Changes may be missed for a while: the connection is lost, or the server has ended the subscription.
    Lost,
    /// The client is gone, or the subscription cannot be maintained any more.
    Ended,
}

struct WatchTargets {
    filter: SubscriptionFilter,
    resources: HashSet<String>,
}

impl Client {
    /// Watches for changes of the contents of `resources`, and of all lists for which the server reports changes.
    ///
    /// The watch reports every change from the moment this method returns. After the client has reconnected, everything
    /// that is watched is reported as changed, because changes may have been missed in between.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # use toolway::client::Change;
    /// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
    /// # #[tool] fn multiply(a: f64, b: f64) -> f64 { a * b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").tools(tools![multiply]).build()?;
    /// # let client = Client::connect(&server).await?;
    /// let none: [&str; 0] = [];
    /// let mut changes = client.watch(none).await?;
    /// # server.add_tool(tools![add].remove(0))?;
    /// while let Some(change) = changes.next().await {
    ///     if change == Change::Tools {
    ///         println!("now there are {} tools", client.tools().await?.len());
    ///         break;
    ///     }
    /// }
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub async fn watch(&self, resources: impl IntoIterator<Item = impl Into<String>>) -> Result<Watch> {
        let resources: HashSet<String> = resources.into_iter().map(Into::into).collect();
        let limit = self.shared.reconnector.timeout();
        let beginning = self.start_watch(resources);
        match limit {
            None => beginning.await,
            Some(limit) => timeout(limit, beginning).await.unwrap_or_else(|_| {
                let message = format!(
                    "the server did not confirm within {limit:?} that it will send notifications of changes"
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }),
        }
    }

    async fn start_watch(&self, resources: HashSet<String>) -> Result<Watch> {
        let connection = self.shared.connection().await?;
        let changes = self.shared.notifications.add_watcher(resources.clone());
        let shared = Arc::downgrade(&self.shared);
        let current = move || -> Option<Box<dyn Requester>> {
            let connection = shared.upgrade()?.current();
            (connection.is_usable() && connection.era.has_subscriptions()).then(|| Box::new(connection) as _)
        };
        let watched = WatchGuard::new(&self.shared.subscriptions, resources.clone(), Box::new(current));
        let wanted = Arc::new(WatchTargets {
            filter: subscription_filter(&connection.server.capabilities, &resources),
            resources,
        });
        let (tell, mut again) = mpsc::channel(1);
        let lost = Arc::new(Notify::new());
        let keeping = SubscriptionTask {
            shared: Arc::downgrade(&self.shared),
            wanted: wanted.clone(),
            begun: tell,
            lost: lost.clone(),
        };
        let keeping: JoinSet<()> = [boxed_task(keeping.run())].into_iter().collect();
        again.recv().await.unwrap_or_else(|| Err(closed_error()))?;
        Ok(Watch { changes, missed: Vec::new(), begun: again, lost, wanted, _task: keeping, _guard: watched })
    }
}

impl Watch {
    /// Waits for the next change. Returns `None` once the client is gone, or once a retry of the subscription would be
    /// useless: the server does not support it any more, or the connection has ended and cannot be opened again.
    pub async fn next(&mut self) -> Option<Change> {
        loop {
            match self.next_event().await {
                WatchEvent::Changed(change) => return Some(change),
                WatchEvent::Lost => {}
                WatchEvent::Ended => return None,
            }
        }
    }

    /// Like `next`, but also returns [`WatchEvent::Lost`] when changes may be missed from now on.
    pub(crate) async fn next_event(&mut self) -> WatchEvent {
        loop {
            if let Some(change) = self.missed.pop() {
                return WatchEvent::Changed(change);
            }
            tokio::select! {
                biased;
                change = self.changes.next() => return change.map_or(WatchEvent::Ended, WatchEvent::Changed),
                () = self.lost.notified() => return WatchEvent::Lost,
                again = self.begun.recv() => match again {
                    Some(_) => self.missed = self.wanted.all_changes(),
                    // The task that maintains the subscription has ended.
                    None => return WatchEvent::Ended,
                },
            }
        }
    }

    /// Returns whether the server reports changes of this list.
    pub(crate) fn reports_changes_of(&self, list: &Change) -> bool {
        self.wanted.lists().any(|told| told == *list)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("resources", &self.wanted.resources).finish_non_exhaustive()
    }
}

impl WatchTargets {
    fn all_changes(&self) -> Vec<Change> {
        let mut all: Vec<_> = self.resources.iter().cloned().map(Change::Resource).collect();
        all.extend(self.lists());
        all
    }

    fn lists(&self) -> impl Iterator<Item = Change> {
        let lists = [
            (self.filter.resources_list_changed, Change::Resources),
            (self.filter.prompts_list_changed, Change::Prompts),
            (self.filter.tools_list_changed, Change::Tools),
        ];
        lists.into_iter().filter(|(told, _)| *told == Some(true)).map(|(_, change)| change)
    }
}

/// Returns the filter for the changes that the server can report: of these resources, and of its lists.
fn subscription_filter(capabilities: &ServerCapabilities, resources: &HashSet<String>) -> SubscriptionFilter {
    let says = |settings: &Option<JsonObject>, what: &str| {
        settings.as_ref().and_then(|settings| settings.get(what)).and_then(serde_json::Value::as_bool)
            == Some(true)
    };
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = says(&capabilities.tools, "listChanged").then_some(true);
    filter.prompts_list_changed = says(&capabilities.prompts, "listChanged").then_some(true);
    filter.resources_list_changed = says(&capabilities.resources, "listChanged").then_some(true);
    filter.resource_subscriptions = (!resources.is_empty()).then(|| resources.iter().cloned().collect());
    filter
}

/// The task that maintains a subscription, over as many connections as needed.
struct SubscriptionTask {
    /// Weak, so that a watch does not keep the client alive.
    shared: Weak<ClientState>,
    wanted: Arc<WatchTargets>,
    /// Sends `Ok` each time the subscription has begun, or the error if the first attempt fails.
    begun: mpsc::Sender<Result<()>>,
    lost: Arc<Notify>,
}

impl SubscriptionTask {
    async fn run(self) {
        let (mut has_begun, mut attempt) = (false, 0);
        loop {
            let started = Instant::now();
            let Some(shared) = self.shared.upgrade() else { return };
            let retries = shared.reconnector.retries();
            let (mut least_wait, mut needs_sign_in) = (None, false);
            let outcome = match shared.connection().await {
                Ok(connection) => {
                    let begun = || {
                        has_begun = true;
                        drop(self.begun.try_send(Ok(())));
                    };
                    self.subscribe_once(shared, &connection, Box::new(begun)).await
                }
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                // If the subscription cannot begin, `watch` returns the error.
                if !has_begun && (attempt == retries || !may_begin_later(&error)) {
                    drop(self.begun.try_send(Err(error)));
                    return;
                }
                if has_begun && is_final(&error) {
                    tracing::warn!(%error, "the server no longer sends notifications of changes");
                    self.lost.notify_one();
                    return;
                }
                tracing::debug!(%error, "the server does not send notifications of changes at the moment");
                (least_wait, needs_sign_in) = (shortest_wait(&error), error.needs_sign_in());
            }
            if has_begun {
                self.lost.notify_one();
            }
            if self.shared.upgrade().is_none_or(|shared| shared.is_lost_for_good()) {
                return;
            }
            // A server that accepts each subscription and ends it at once is asked less and less often. An attempt that
            // waited for a user who did not sign in was not a subscription.
            if has_begun && !needs_sign_in && started.elapsed() >= STABLE_AFTER {
                attempt = 0;
            }
            sleep(backoff(attempt, least_wait)).await;
            attempt += 1;
        }
    }

    /// Subscribes to changes on one connection. Returns when the connection or the subscription ends.
    async fn subscribe_once(
        &self,
        shared: Arc<ClientState>,
        connection: &Arc<Connection>,
        begun: Box<dyn FnOnce() + Send + '_>,
    ) -> Result<()> {
        let (notifications, timeout) = (shared.notifications.clone(), shared.reconnector.timeout());
        let mut openings = notifications.reconnects();
        if !Arc::ptr_eq(&shared.current(), connection) {
            return Ok(());
        }
        drop(shared);
        // The connection is over when it is lost, when a call found that the session has ended and the client
        // reconnected, or when the client is gone.
        let over = async {
            tokio::select! {
                () = connection.transport.disconnected() => {}
                _ = openings.changed() => {}
                () = notifications.closed() => {}
            }
        };
        let (filter, over) = (&self.wanted.filter, Box::pin(over));
        connection
            .era
            .watch(WatchRequest {
                requester: connection,
                filter,
                timeout,
                on_begun: begun,
                connection_ended: over,
            })
            .await
    }
}

/// Returns whether the first attempt to subscribe should be repeated, as any request that is safe to repeat.
fn may_begin_later(error: &Error) -> bool {
    !error.is_timeout() && (error.is_unsent() || error.is_session_ended() || error.is_reply_lost())
}

/// Returns the shortest wait before the next attempt to subscribe.
fn shortest_wait(error: &Error) -> Option<Duration> {
    let needed = error.needs_sign_in().then_some(SIGN_IN_WAIT);
    error.retry_after().max(needed)
}

/// Returns whether a retry would be useless, because the client is closed or the server does not support the
/// subscription.
fn is_final(error: &Error) -> bool {
    let is_passing = error.is_unsent() || error.is_reply_lost() || error.http_status().is_some();
    error.is_cancelled()
        || (!is_passing && matches!(error.code(), Some(Code::METHOD_NOT_FOUND | Code::INVALID_PARAMS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_asks_to_sign_in_is_asked_rarely() {
        let refused = || Error::new(ErrorKind::PeerRefused, "no");
        assert_eq!(shortest_wait(&refused()), None);
        assert_eq!(shortest_wait(&refused().with_http_status(401)), Some(SIGN_IN_WAIT));
        assert_eq!(shortest_wait(&refused().with_challenge("Bearer")), Some(SIGN_IN_WAIT));
    }
}
