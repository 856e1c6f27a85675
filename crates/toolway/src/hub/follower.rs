//! How is a server started, and which task follows it? The task connects, reads the lists, watches for changes, and
//! starts again when the connection is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::breaker::{Breaker, Guarded};
use super::config::ServerConfig;
use super::lists::{ALL, Lists};
use super::member::{Hope, Member, Phase, Refresh};
use super::shared::Shared;
use super::target::configured::configured;
use crate::client::calls::watch::Heard;
use crate::client::{Change, Client, ClientBuilder, Target, Watch};
use crate::ground::error::{Chain, Error, ErrorKind, Result};

/// The task that follows one server. It runs until it is aborted or, for a client that the application supplied, until
/// that client is closed.
pub(crate) struct Follower {
    hub: Arc<Shared>,
    member: Arc<Member>,
    /// How to connect to the server, and the builder of its client. `None` if the application supplied the client: such
    /// a client connects by itself.
    reach: Option<(Target, ClientBuilder)>,
    orders: mpsc::Receiver<Refresh>,
    /// Callers that wait until all lists were read again.
    waiting: Vec<Refresh>,
    /// `true` if the last attempt to watch for changes failed without a refusal of the server. While this is `true`,
    /// further failures are not logged.
    was_deaf: bool,
}

/// The reason why following a connection ended.
enum Ended {
    /// The server may be gone; contains the reason, if it is known.
    Lost(Option<Error>),
    /// The client was closed.
    Closed,
}

/// The state of watching a server for changes.
pub(crate) enum Ear {
    Open(Watch),
    /// There is nothing to watch, or the server refuses to report changes.
    Mute,
    /// The request failed, or the stream ended. The next attempt is allowed at this time.
    Deaf(Instant),
}

impl Follower {
    pub(super) fn new(
        hub: Arc<Shared>,
        member: Arc<Member>,
        reach: Option<(Target, ClientBuilder)>,
        orders: mpsc::Receiver<Refresh>,
    ) -> Self {
        Self { hub, member, reach, orders, waiting: Vec::new(), was_deaf: false }
    }

    pub(crate) async fn run(mut self) {
        while self.reach.is_some() {
            let client = self.connect().await;
            self.hub.connected(&self.member, &client);
            self.attend(&client).await;
            tracing::debug!(server = &*self.member.name, "the client was closed; the hub connects again");
        }
        if let Ok(client) = self.member.client() {
            self.attend(&client).await;
            self.hub.unavailable(&self.member, client.loss());
        }
    }

    /// Connects for the first time, and retries until that succeeds.
    async fn connect(&mut self) -> Client {
        loop {
            if let Some((target, builder)) = &self.reach {
                match builder.clone().connect(target.clone()).await {
                    Ok(client) => return client,
                    Err(error) => self.failed(error),
                }
            }
            self.pause(std::future::pending()).await;
        }
    }

    /// Follows a server after its first connection, until its client is closed.
    async fn attend(&mut self, client: &Client) {
        let mut openings = client.openings();
        loop {
            let counted = self.member.breaker.counted();
            match self.begin(client, &mut openings).await {
                Ok((Ear::Deaf(_), _)) => {}
                Ok((ear, lists)) => match self.tend(client, &mut openings, ear, lists).await {
                    Ended::Closed => return,
                    // The client may already have reconnected.
                    Ended::Lost(None) if client.is_connected() => {}
                    Ended::Lost(error) => {
                        let error = error.unwrap_or_else(|| client.loss());
                        tracing::info!(
                            server = &*self.member.name,
                            error = %Chain(&error),
                            "the connection to a server was lost"
                        );
                        self.hub.unavailable(&self.member, error);
                    }
                },
                Err(_) if client.is_closed() => return,
                Err(error) => {
                    openings.borrow_and_update();
                    self.failed(error);
                }
            }
            // If no new connection was opened, the connector has not counted this attempt.
            if self.member.breaker.counted() == counted {
                self.member.breaker.count();
            }
            let member = self.member.clone();
            let reached = async {
                tokio::select! {
                    _ = openings.changed() => {}
                    () = member.reached.notified() => {}
                }
            };
            self.pause(reached).await;
        }
    }

    fn failed(&mut self, error: Error) {
        tracing::debug!(server = &*self.member.name, error = %Chain(&error), "a server is unavailable");
        self.hub.unavailable(&self.member, error);
        self.answer();
    }

    /// Notifies the callers of `refresh` that all lists were read or the attempt failed.
    fn answer(&mut self) {
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(());
        }
    }

    /// Waits until the next attempt is allowed, a refresh is requested, or a call has reached the server.
    async fn pause(&mut self, reached: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = reached => {}
            Some(refresh) = self.orders.recv() => {
                self.member.breaker.reset();
                self.waiting.push(refresh);
            }
            () = sleep_until(self.member.breaker.next()) => {}
        }
    }

    /// Starts watching for changes, and reads all lists.
    async fn begin(&mut self, client: &Client, openings: &mut Openings) -> Result<(Ear, Lists)> {
        let ear = self.listen(client).await?;
        openings.borrow_and_update();
        client.forget_tools();
        let mut lists = self.member.lists();
        lists.read_all(client).await?;
        self.hub.ready(&self.member, lists.clone());
        self.answer();
        Ok((ear, lists))
    }

    /// Starts watching for changes.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached. For a client that the application supplied, a failed attempt
    /// is only logged, and the lists are read nevertheless.
    async fn listen(&mut self, client: &Client) -> Result<Ear> {
        let Unheard { error, is_refusal } = match listen(client, []).await {
            Ok(watch) => {
                self.was_deaf = false;
                return Ok(Ear::Open(watch));
            }
            Err(unheard) => unheard,
        };
        if self.reach.is_some() || client.is_closed() {
            return if is_refusal || error.rpc().is_some() { Ok(Ear::Mute) } else { Err(error) };
        }
        let (ear, what) = if is_refusal {
            (Ear::Mute, "a mounted server does not send notifications of changes")
        } else {
            (Ear::Deaf(Instant::now()), "a mounted server could not be asked to send notifications")
        };
        if !std::mem::replace(&mut self.was_deaf, !is_refusal) {
            tracing::warn!(server = &*self.member.name, %error, "{what}");
        }
        Ok(ear)
    }

    /// Keeps the lists up to date while the server is connected.
    async fn tend(
        &mut self,
        client: &Client,
        openings: &mut Openings,
        mut ear: Ear,
        mut lists: Lists,
    ) -> Ended {
        let between = lists.pace.between;
        let mut polite = Instant::now() + between;
        loop {
            let awaited: Vec<_> =
                ALL.into_iter().filter(|list| lists.is_refused(list) || !ear.tells_of(list)).collect();
            let due = awaited.iter().filter_map(|list| lists.due(list)).min();
            let is_due = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let outcome = tokio::select! {
                biased;
                _ = openings.changed() => return Ended::Lost(None),
                () = client.lost() => return Ended::Lost(None),
                heard = ear.next() => match heard {
                    Heard::Lost => return Ended::Lost(None),
                    Heard::Over => return Ended::Closed,
                    Heard::Changed(list) => {
                        sleep_until(polite).await;
                        polite = Instant::now() + between;
                        lists.read(client, &list).await
                    }
                },
                () = self.member.look.notified() => match client.probe(MAX_PROBE).await {
                    Err(error) if error.rpc().is_none() => Err(error),
                    _ => continue,
                },
                Some(refresh) = self.orders.recv() => {
                    self.waiting.push(refresh);
                    client.forget_tools();
                    lists.read_all(client).await
                }
                () = is_due => {
                    let now = Instant::now();
                    let mut outcome = Ok(());
                    for list in awaited {
                        if lists.due(&list).is_some_and(|due| due <= now) {
                            if list == Change::Tools {
                                client.forget_tools();
                            }
                            outcome = outcome.and(lists.read(client, &list).await);
                        }
                    }
                    outcome
                }
            };
            match outcome {
                Ok(()) => {
                    self.hub.ready(&self.member, lists.clone());
                    self.answer();
                }
                Err(_) if client.is_closed() => return Ended::Closed,
                Err(error) => return Ended::Lost(Some(error)),
            }
        }
    }
}

impl Ear {
    /// Waits for the next change. In the state `Deaf`, waits until the next attempt is allowed.
    pub(crate) async fn next(&mut self) -> Heard {
        match self {
            Self::Open(watch) => watch.next_or_lost().await,
            Self::Mute => std::future::pending().await,
            Self::Deaf(until) => {
                sleep_until(*until).await;
                Heard::Over
            }
        }
    }

    fn tells_of(&self, list: &Change) -> bool {
        matches!(self, Self::Open(watch) if watch.tells_of(list))
    }
}

impl Shared {
    /// Adds a server, and spawns the task that follows it.
    pub(super) fn start(self: &Arc<Self>, name: &str, target: Target) -> Result<Arc<Member>> {
        self.start_with(name, target, self.settings.client_of(name), Lists::default())
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
        let target = Target::new(Guarded { target, breaker: breaker.clone() });
        let (member, orders) = Member::new(name, place, breaker, Phase::Connecting, lists, None);
        self.insert(&member)?;
        let follower = Follower::new(self.clone(), member.clone(), Some((target, builder)), orders);
        member.kept_by(tokio::spawn(follower.run()).abort_handle());
        Ok(member)
    }

    /// Adds a server from a configuration. A server with mistakes is added as unavailable.
    pub(super) fn start_configured(self: &Arc<Self>, config: &ServerConfig) -> Result<Arc<Member>> {
        if config.disabled {
            return self.idle(config, Phase::Disabled);
        }
        match configured(config, &self.settings.variables) {
            Ok(target) => {
                let mut builder = self.settings.client_of(&config.name);
                if let Some(timeout) = config.timeout {
                    builder = builder.timeout(timeout);
                }
                if let Some(bytes) = config.max_message {
                    builder = builder.max_message(bytes);
                }
                let lists = Lists { wanted: config.tools.clone(), ..Lists::default() };
                self.start_with(&config.name, target, builder, lists)
            }
            Err(error) => {
                let since = Instant::now();
                self.idle(config, Phase::Unavailable { error, since, hope: Hope::None })
            }
        }
    }

    /// Adds a server without a task.
    fn idle(&self, config: &ServerConfig, phase: Phase) -> Result<Arc<Member>> {
        let breaker = Arc::new(Breaker::new(self.settings.attempts));
        let (member, _) = Member::new(&config.name, config.place(), breaker, phase, Lists::default(), None);
        self.insert(&member)?;
        Ok(member)
    }
}

/// The reason why a server does not report changes.
pub(crate) struct Unheard {
    pub(crate) error: Error,
    /// `true` if the server refused, or did not answer in time. `false` if it could not be asked.
    pub(crate) is_refusal: bool,
}

/// Asks a server to report changes of its lists and of these resources.
pub(crate) async fn listen(
    client: &Client,
    resources: impl IntoIterator<Item = String>,
) -> Result<Watch, Unheard> {
    match timeout(MAX_WATCHING, client.watch(resources)).await {
        Ok(outcome) => outcome.map_err(|error| {
            // A busy server has not refused.
            let is_busy = error.is_unsent() || error.http_status().is_some();
            let is_refusal = error.rpc().is_some() && !is_busy;
            Unheard { error, is_refusal }
        }),
        Err(_) => {
            let text = "the server did not confirm in time that it will send notifications of changes";
            Err(Unheard { error: Error::new(ErrorKind::Timeout, text), is_refusal: true })
        }
    }
}

/// Changes each time the client opens a new connection.
type Openings = tokio::sync::watch::Receiver<u64>;

/// How long a server may take to accept a request to report changes. After that time, the hub continues without
/// notifications of changes.
pub(crate) const MAX_WATCHING: Duration = Duration::from_secs(5);

/// How long a server may take to answer a probe, when it is unclear whether it is reachable.
const MAX_PROBE: Duration = Duration::from_secs(10);
