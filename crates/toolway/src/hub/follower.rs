//! How is a server started, and which task follows it? The task connects, reads the lists, watches for changes, and
//! starts again when the connection is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::breaker::{Breaker, LimitedConnector};
use super::config::ServerConfig;
use super::lists::{ALL_LISTS, Lists};
use super::member::{Member, Phase, RefreshRequest, RetryMode};
use super::read_pace::ReadPace;
use super::shared::Shared;
use super::target::configured::resolve_target;
use crate::client::calls::watch::WatchEvent;
use crate::client::{Change, Client, ClientBuilder, Target, Watch};
use crate::ground::boxed_task::boxed_task;
use crate::ground::error::{Chain, Error, ErrorKind, Result};

/// The task that follows one server. It runs until it is aborted or, for a client that the application supplied, until
/// that client is closed.
pub(crate) struct Follower {
    hub: Arc<Shared>,
    member: Arc<Member>,
    /// How to connect to the server, and the builder of its client. `None` if the application supplied the client: such
    /// a client connects by itself.
    reach: Option<(Target, ClientBuilder)>,
    orders: mpsc::Receiver<RefreshRequest>,
    /// Callers that wait until all lists were read again.
    refresh_waiters: Vec<RefreshRequest>,
    /// `true` if the last attempt to watch for changes failed without a refusal of the server. While this is `true`,
    /// further failures are not logged.
    has_watch_failed: bool,
}

/// The reason why following a connection ended.
enum FollowOutcome {
    /// The server may be gone; contains the reason, if it is known.
    Lost(Option<Error>),
    /// The client was closed.
    Closed,
}

/// The state of watching a server for changes.
pub(crate) enum WatchState {
    Open(Watch),
    /// There is nothing to watch, or the server refuses to report changes.
    Silent,
    /// The request failed, or the stream ended. The next attempt is allowed at this time.
    RetryAt(Instant),
}

impl Follower {
    pub(super) fn new(
        hub: Arc<Shared>,
        member: Arc<Member>,
        reach: Option<(Target, ClientBuilder)>,
        orders: mpsc::Receiver<RefreshRequest>,
    ) -> Self {
        Self { hub, member, reach, orders, refresh_waiters: Vec::new(), has_watch_failed: false }
    }

    pub(crate) async fn run(mut self) {
        while self.reach.is_some() {
            let client = self.connect().await;
            self.hub.set_connected(&self.member, &client);
            self.follow_client(&client).await;
            tracing::debug!(server = &*self.member.name, "the client was closed; the hub connects again");
        }
        if let Ok(client) = self.member.client() {
            self.follow_client(&client).await;
            self.hub.set_unavailable(&self.member, client.loss_error());
        }
    }

    /// Connects for the first time, and retries until that succeeds.
    async fn connect(&mut self) -> Client {
        loop {
            if let Some((target, builder)) = &self.reach {
                match builder.clone().connect(target.clone()).await {
                    Ok(client) => return client,
                    Err(error) => self.record_failure(error),
                }
            }
            self.wait_for_retry(std::future::pending()).await;
        }
    }

    /// Follows a server after its first connection, until its client is closed.
    async fn follow_client(&mut self, client: &Client) {
        let mut openings = client.reconnects();
        let mut pace = ReadPace::new();
        loop {
            let counted = self.member.breaker.attempt_count();
            match self.watch_and_read(client, &mut openings).await {
                Ok((WatchState::RetryAt(_), _)) => {}
                Ok((ear, lists)) => match self.keep_current(client, &mut openings, ear, lists).await {
                    FollowOutcome::Closed => return,
                    // The client may already have reconnected.
                    FollowOutcome::Lost(None) if client.is_connected() => {}
                    FollowOutcome::Lost(error) => {
                        let error = error.unwrap_or_else(|| client.loss_error());
                        tracing::info!(
                            server = &*self.member.name,
                            error = %Chain(&error),
                            "the connection to a server was lost"
                        );
                        self.hub.set_unavailable(&self.member, error);
                    }
                },
                Err(_) if client.is_closed() => return,
                Err(error) => {
                    openings.borrow_and_update();
                    self.record_failure(error);
                }
            }
            // If no new connection was opened, the connector has not counted this attempt.
            if self.member.breaker.attempt_count() == counted {
                self.member.breaker.record_attempt();
            }
            let member = self.member.clone();
            let reached = async {
                tokio::select! {
                    _ = openings.changed() => {}
                    () = member.call_succeeded.notified() => {}
                }
            };
            let reached = async {
                reached.await;
                // A server may end its stream of notifications, which counts as a new connection, again and again.
                pace.note_change();
                sleep_until(pace.due().unwrap_or_else(Instant::now)).await;
            };
            self.wait_for_retry(reached).await;
            pace.note_read();
        }
    }

    fn record_failure(&mut self, error: Error) {
        tracing::debug!(server = &*self.member.name, error = %Chain(&error), "a server is unavailable");
        self.hub.set_unavailable(&self.member, error);
        self.notify_waiters();
    }

    /// Notifies the callers of `refresh` that all lists were read or the attempt failed.
    fn notify_waiters(&mut self) {
        for waiting in self.refresh_waiters.drain(..) {
            let _ = waiting.send(());
        }
    }

    /// Waits until the next attempt is allowed, a refresh is requested, or a call has reached the server.
    async fn wait_for_retry(&mut self, reached: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = reached => {}
            Some(refresh) = self.orders.recv() => {
                self.member.breaker.reset();
                self.refresh_waiters.push(refresh);
            }
            () = sleep_until(self.member.breaker.next_attempt()) => {}
        }
    }

    /// Starts watching for changes, and reads all lists.
    async fn watch_and_read(
        &mut self,
        client: &Client,
        openings: &mut Reconnects,
    ) -> Result<(WatchState, Lists)> {
        let ear = self.listen(client).await?;
        openings.borrow_and_update();
        client.invalidate_tools();
        let mut lists = self.member.lists();
        lists.read_all(&self.member.name, client).await?;
        self.hub.set_ready(&self.member, lists.clone());
        self.notify_waiters();
        Ok((ear, lists))
    }

    /// Starts watching for changes.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached. For a client that the application supplied, a failed attempt
    /// is only logged, and the lists are read nevertheless.
    async fn listen(&mut self, client: &Client) -> Result<WatchState> {
        let WatchError { error, is_refusal } = match listen(client, []).await {
            Ok(watch) => {
                self.has_watch_failed = false;
                return Ok(WatchState::Open(watch));
            }
            Err(unheard) => unheard,
        };
        if self.reach.is_some() || client.is_closed() {
            return if is_refusal || error.rpc().is_some() { Ok(WatchState::Silent) } else { Err(error) };
        }
        let (ear, what) = if is_refusal {
            (WatchState::Silent, "a mounted server does not send notifications of changes")
        } else {
            (WatchState::RetryAt(Instant::now()), "a mounted server could not be asked to send notifications")
        };
        if !std::mem::replace(&mut self.has_watch_failed, !is_refusal) {
            tracing::warn!(server = &*self.member.name, %error, "{what}");
        }
        Ok(ear)
    }

    /// Keeps the lists up to date while the server is connected.
    async fn keep_current(
        &mut self,
        client: &Client,
        openings: &mut Reconnects,
        mut ear: WatchState,
        mut lists: Lists,
    ) -> FollowOutcome {
        let mut paces = ALL_LISTS.map(|_| ReadPace::new());
        loop {
            // The lists that are due without a report: those whose last read failed, and those that have a validity or
            // an interval because the server does not report their changes.
            let unreported = ALL_LISTS.map(|list| lists.has_problem(&list) || !ear.reports_changes_of(&list));
            let due_of = |place: usize| {
                let due = lists.due(&ALL_LISTS[place]).filter(|_| unreported[place]);
                paces[place].due().into_iter().chain(due).min()
            };
            let dues = [0, 1, 2].map(due_of);
            let due = dues.into_iter().flatten().min();
            let is_due = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let outcome = tokio::select! {
                biased;
                _ = openings.changed() => return FollowOutcome::Lost(None),
                () = client.disconnected() => return FollowOutcome::Lost(None),
                heard = ear.next() => match heard {
                    WatchEvent::Lost => return FollowOutcome::Lost(None),
                    WatchEvent::Ended if client.is_closed() => return FollowOutcome::Closed,
                    // The server no longer reports changes.
                    WatchEvent::Ended => {
                        ear = WatchState::Silent;
                        continue;
                    }
                    WatchEvent::Changed(change) => {
                        if let Some(place) = ALL_LISTS.iter().position(|list| *list == change) {
                            paces[place].note_change();
                        }
                        continue;
                    }
                },
                () = self.member.call_failed.notified() => match client.probe(PROBE_TIMEOUT).await {
                    Err(error) if error.rpc().is_none() => Err(error),
                    _ => continue,
                },
                Some(refresh) = self.orders.recv() => {
                    self.refresh_waiters.push(refresh);
                    client.invalidate_tools();
                    lists.read_all(&self.member.name, client).await
                }
                () = is_due => {
                    let now = Instant::now();
                    let mut outcome = Ok(());
                    for ((list, pace), due) in ALL_LISTS.iter().zip(&mut paces).zip(dues) {
                        if due.is_some_and(|due| due <= now) {
                            if *list == Change::Tools && pace.due().is_none() {
                                client.invalidate_tools();
                            }
                            outcome = outcome.and(lists.read(&self.member.name, client, list).await);
                            pace.note_read();
                        }
                    }
                    outcome
                }
            };
            match outcome {
                Ok(()) => {
                    self.hub.set_ready(&self.member, lists.clone());
                    self.notify_waiters();
                }
                Err(_) if client.is_closed() => return FollowOutcome::Closed,
                Err(error) => return FollowOutcome::Lost(Some(error)),
            }
        }
    }
}

impl WatchState {
    /// Waits for the next change. In the state `RetryAt`, waits until the next attempt is allowed.
    pub(crate) async fn next(&mut self) -> WatchEvent {
        match self {
            Self::Open(watch) => watch.next_event().await,
            Self::Silent => std::future::pending().await,
            Self::RetryAt(until) => {
                sleep_until(*until).await;
                WatchEvent::Ended
            }
        }
    }

    fn reports_changes_of(&self, list: &Change) -> bool {
        matches!(self, Self::Open(watch) if watch.reports_changes_of(list))
    }
}

impl Shared {
    /// Adds a server, and spawns the task that follows it.
    pub(super) fn start(self: &Arc<Self>, name: &str, target: Target) -> Result<Arc<Member>> {
        self.start_with(name, target, self.settings.client_builder_for(name), Lists::default())
    }

    fn start_with(
        self: &Arc<Self>,
        name: &str,
        target: Target,
        builder: ClientBuilder,
        lists: Lists,
    ) -> Result<Arc<Member>> {
        let breaker = Arc::new(Breaker::new(self.settings.attempts));
        let place = target.connector().name();
        // The client does not see which server is behind the limit.
        let target = builder.map_target(target)?;
        let target = Target::new(LimitedConnector { target, breaker: breaker.clone() });
        let (member, orders) = Member::new(name, place, breaker, Phase::Connecting, lists, None);
        self.insert(&member)?;
        let follower = Follower::new(self.clone(), member.clone(), Some((target, builder)), orders);
        member.set_task(tokio::spawn(boxed_task(follower.run())).abort_handle());
        Ok(member)
    }

    /// Adds a server from a configuration. A server with mistakes is added as unavailable.
    pub(super) fn start_configured(self: &Arc<Self>, config: &ServerConfig) -> Result<Arc<Member>> {
        if config.disabled {
            return self.insert_idle(config, Phase::Disabled);
        }
        match resolve_target(config, &self.settings.variables) {
            Ok(target) => {
                let mut builder = self.settings.client_builder_for(&config.name);
                if let Some(timeout) = config.timeout {
                    builder = builder.timeout(timeout);
                }
                if let Some(bytes) = config.max_message {
                    builder = builder.max_message(bytes);
                }
                builder = builder.max_list(config.max_list_items, config.max_list_bytes);
                let lists = Lists { tool_filter: config.tools.clone(), ..Lists::default() };
                self.start_with(&config.name, target, builder, lists)
            }
            Err(error) => {
                let since = Instant::now();
                self.insert_idle(config, Phase::Unavailable { error, since, retry_mode: RetryMode::Never })
            }
        }
    }

    /// Adds a server without a task.
    fn insert_idle(&self, config: &ServerConfig, phase: Phase) -> Result<Arc<Member>> {
        let breaker = Arc::new(Breaker::new(self.settings.attempts));
        let (member, _) =
            Member::new(&config.name, config.describe_address(), breaker, phase, Lists::default(), None);
        self.insert(&member)?;
        Ok(member)
    }
}

/// The reason why a server does not report changes.
pub(crate) struct WatchError {
    pub(crate) error: Error,
    /// `true` if the server refused, or did not answer in time. `false` if it could not be asked.
    pub(crate) is_refusal: bool,
}

/// Asks a server to report changes of its lists and of these resources.
pub(crate) async fn listen(
    client: &Client,
    resources: impl IntoIterator<Item = String>,
) -> Result<Watch, WatchError> {
    match timeout(WATCH_TIMEOUT, client.watch(resources)).await {
        Ok(outcome) => outcome.map_err(|error| {
            // A busy server has not refused.
            let is_busy = error.is_unsent() || error.http_status().is_some();
            let is_refusal = error.rpc().is_some() && !is_busy;
            WatchError { error, is_refusal }
        }),
        Err(_) => {
            let text = "the server did not confirm in time that it will send notifications of changes";
            Err(WatchError { error: Error::new(ErrorKind::Timeout, text), is_refusal: true })
        }
    }
}

/// Changes each time the client opens a new connection.
type Reconnects = tokio::sync::watch::Receiver<u64>;

/// How long a server may take to accept a request to report changes. After that time, the hub continues without
/// notifications of changes.
pub(crate) const WATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server may take to answer a probe, when it is unclear whether it is reachable.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
