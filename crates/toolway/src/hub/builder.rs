//! What can be said about a hub, and how are its servers started?

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::breaker::{Attempts, Breaker};
use super::config::{Config, ServerConfig, Variables};
use super::follower::Keeper;
use super::lists::Lists;
use super::member::{Hope, Member, Phase};
use super::names::NameRules;
use super::target::configured;
use super::{Hub, Owner, Shared};
use crate::client::{Client, ClientBuilder, Target};
use crate::error::Result;

/// A hub that is being described. Made by [`Hub::builder`].
///
/// ```
/// use std::time::Duration;
/// use toolway::hub::NameRules;
/// use toolway::prelude::*;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// let hub = Hub::builder()
///     .client(Client::builder().info("my-agent", "1.0.0").timeout(Duration::from_secs(20)))
///     .names(NameRules::default().with_separator("-"))
///     .build()?;
/// hub.connect("calc", &server).await?;
/// assert!(hub.tools().get("calc-add").is_some());
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct HubBuilder(Settings);

/// What was said about a hub.
#[derive(Clone)]
pub(super) struct Settings {
    client: ClientBuilder,
    each: Option<Arc<Each>>,
    pub(super) names: NameRules,
    start_timeout: Duration,
    attempts: Attempts,
    variables: Variables,
    max_message: Option<usize>,
}

/// Says more about the client of one server.
type Each = dyn Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync;

impl Default for Settings {
    fn default() -> Self {
        Self {
            client: Client::builder(),
            each: None,
            names: NameRules::default(),
            start_timeout: START_TIMEOUT,
            attempts: Attempts::default(),
            variables: Variables::default(),
            max_message: None,
        }
    }
}

impl HubBuilder {
    /// What every client is like: who it says it is, how patient it is, what it answers when a server asks.
    pub fn client(mut self, client: ClientBuilder) -> Self {
        self.0.client = client;
        self
    }

    /// Says more about the client of each server, by its name.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let hub = Hub::builder().client_for(|server, client| {
    ///     let server = server.to_owned();
    ///     client.on_log(move |message| eprintln!("[{server}] {}", message.data.as_str()))
    /// });
    /// ```
    pub fn client_for(
        mut self,
        each: impl Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.0.each = Some(Arc::new(each));
        self
    }

    /// The longest message that is sent to and accepted from any server, in bytes: 16 MiB, if nothing is said. It goes before
    /// what [`client`](Self::client) says; [`client_for`](Self::client_for), and `maxMessage` in a file, go before it. See
    /// [`ClientBuilder::max_message`].
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let hub = Hub::builder().max_message(64 << 20).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.0.max_message = Some(bytes);
        self
    }

    /// What joined names look like: `server__tool` in at most 64 letters, if nothing is said.
    pub fn names(mut self, rules: NameRules) -> Self {
        self.0.names = rules;
        self
    }

    /// How long starting waits for servers that are slow: 30 seconds, if nothing is said. Those that need longer come later.
    pub fn start_timeout(mut self, limit: Duration) -> Self {
        self.0.start_timeout = limit;
        self
    }

    /// How often a server may be tried within a time before it is left alone for longer: five times in a minute, if nothing is
    /// said.
    pub fn attempts(mut self, number: usize, within: Duration) -> Self {
        self.0.attempts = Attempts { number: number.max(1), within };
        self
    }

    /// What `${…}` in a file stands for: the environment, if nothing is said.
    pub fn variables(mut self, variables: Variables) -> Self {
        self.0.variables = variables;
        self
    }

    /// A hub without servers.
    ///
    /// # Errors
    ///
    /// Names cannot be joined as was said: see [`Names::new`](super::Names::new).
    pub fn build(self) -> Result<Hub> {
        Ok(Hub(Arc::new(Owner(Arc::new(Shared::new(self.0)?)))))
    }

    /// Connects to all servers that a file names: see [`Hub::from_file`].
    pub async fn from_file(self, path: impl AsRef<Path>) -> Result<Hub> {
        self.from_config(Config::from_file(path)?).await
    }

    /// Connects to all servers of a configuration: see [`Hub::from_file`].
    pub async fn from_config(self, config: Config) -> Result<Hub> {
        let hub = self.build()?;
        let shared = &hub.0.0;
        let members: Vec<_> =
            config.servers.iter().map(|server| shared.start_configured(server)).collect::<Result<_>>()?;
        // Whoever is late comes later.
        let _ = timeout(shared.settings.start_timeout, shared.settled(&members)).await;
        Ok(hub)
    }
}

impl Shared {
    /// Adds a server, and starts the task that looks after it.
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
        let (member, orders) =
            Member::new(name, target.connector().name(), breaker, Phase::Connecting, lists);
        self.insert(&member)?;
        let keeper = Keeper {
            hub: self.clone(),
            member: member.clone(),
            target,
            builder,
            orders,
            waiting: Vec::new(),
        };
        member.kept_by(tokio::spawn(keeper.run()).abort_handle());
        Ok(member)
    }

    /// Adds a server as a file describes it. One that is described wrongly is there, and cannot be used.
    fn start_configured(self: &Arc<Self>, config: &ServerConfig) -> Result<Arc<Member>> {
        if config.disabled {
            return self.idle(config, Phase::Disabled);
        }
        match configured(config, &self.settings.variables) {
            Ok(target) => {
                let builder = self.settings.client_of(&config.name);
                let builder = match config.timeout {
                    Some(timeout) => builder.timeout(timeout),
                    None => builder,
                };
                let builder = match config.max_message {
                    Some(bytes) => builder.max_message(bytes),
                    None => builder,
                };
                let lists = Lists::choosing(config.tools().clone());
                self.start_with(&config.name, target, builder, lists)
            }
            Err(error) => {
                let since = tokio::time::Instant::now();
                self.idle(config, Phase::Unavailable { error, since, hope: Hope::None })
            }
        }
    }

    /// Adds a server that nobody looks after.
    fn idle(&self, config: &ServerConfig, phase: Phase) -> Result<Arc<Member>> {
        let breaker = Arc::new(Breaker::new(self.settings.attempts));
        let (member, _) = Member::new(&config.name, config.place(), breaker, phase, Lists::default());
        self.insert(&member)?;
        Ok(member)
    }
}

impl Settings {
    fn client_of(&self, name: &str) -> ClientBuilder {
        let client = match self.max_message {
            Some(bytes) => self.client.clone().max_message(bytes),
            None => self.client.clone(),
        };
        match &self.each {
            Some(each) => each(name, client),
            None => client,
        }
    }
}

impl fmt::Debug for HubBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { client, names, start_timeout, attempts, .. } = &self.0;
        f.debug_struct("HubBuilder")
            .field("client", client)
            .field("names", names)
            .field("start_timeout", start_timeout)
            .field("attempts", attempts)
            .finish_non_exhaustive()
    }
}

/// How long starting waits for servers that are slow, unless somebody says otherwise.
const START_TIMEOUT: Duration = Duration::from_secs(30);
