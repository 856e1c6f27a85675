//! Which settings does a hub have?

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::breaker::AttemptLimit;
use super::config::{Config, Variables};
use super::handle::Hub;
use super::names::joined::Names;
use super::names::rules::NameRules;
use super::names::uris::Uris;
use super::shared::{HubGuard, Settings, Shared};
use super::snapshot::HubSnapshot;
use crate::client::ClientBuilder;
use crate::ground::error::Result;

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl Hub {
    /// Creates a hub without servers.
    pub fn new() -> Self {
        Self::builder().build().expect("the default rules for names are valid")
    }

    /// Returns a builder with all settings of a hub.
    pub fn builder() -> HubBuilder {
        HubBuilder::default()
    }

    /// Connects to all servers in a configuration file concurrently.
    ///
    /// Returns when each server is ready or has failed once, or after the [start timeout](HubBuilder::start_timeout).
    /// The hub keeps trying to connect to servers that are not ready; [`status`](Hub::status) returns their state.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or has mistakes; the error lists all of them. A server that does not
    /// start is not an error.
    pub async fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().from_file(path).await
    }

    /// Connects to all servers of a configuration; see [`from_file`](Hub::from_file).
    ///
    /// ```
    /// use toolway::hub::Config;
    /// use toolway::prelude::*;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let config = Config::parse(r#"{ "mcpServers": {
    ///   "gone": { "command": "/no/such/program" },
    ///   "off": { "command": "files", "disabled": true }
    /// } }"#)?;
    /// let hub = Hub::from_config(config).await?;
    /// let status = hub.status();
    /// assert!(status[0].is_unavailable());
    /// assert_eq!(status[1].to_string(), "off: disabled");
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub async fn from_config(config: Config) -> Result<Self> {
        Self::builder().from_config(config).await
    }
}

/// A builder of hubs, created by [`Hub::builder`].
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

impl HubBuilder {
    /// Sets the builder for the clients of all servers: their name, their timeouts, and their handlers for requests of
    /// the servers.
    pub fn client(mut self, client: ClientBuilder) -> Self {
        self.0.client = client;
        self
    }

    /// Changes the builder for the client of each server, by the server's name.
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
        self.0.client_hook = Some(Arc::new(each));
        self
    }

    /// Sets the maximum size of a message to or from any server, in bytes. The default is 16 MiB. This setting
    /// overrides that of [`client`](Self::client), and is overridden by [`client_for`](Self::client_for) and by
    /// `maxMessage` in a file. See [`ClientBuilder::max_message`].
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

    /// Sets the maximum length of each list of each server. The default is 10,000 items and 32 MiB; `None` leaves a limit as it is. If a list is longer,
    /// the hub reads no further and keeps the elements that it has read; the [status](Hub::status) of the server says
    /// so. A long list of one server does not shorten the lists of other servers. This setting overrides that of
    /// [`client`](Self::client), and is overridden by [`client_for`](Self::client_for) and by `maxListItems` and
    /// `maxListBytes` in a file. See [`ClientBuilder::max_list`].
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
    /// # #[tool] fn sub(a: f64, b: f64) -> f64 { a - b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").tools(tools![add, sub]).build()?;
    /// let hub = Hub::builder().max_list(1, None).build()?;
    /// hub.connect("calc", &server).await?;
    /// assert_eq!(
    ///     hub.status()[0].to_string(),
    ///     "calc: ready, 1 tool; it has more than 1 tools: the rest is left out (raise `max_list`)"
    /// );
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn max_list(mut self, items: impl Into<Option<usize>>, bytes: impl Into<Option<usize>>) -> Self {
        self.0.max_list = (items.into(), bytes.into());
        self
    }

    /// Sets the rules for joined names. The default is `server__tool` with at most 64 characters.
    pub fn names(mut self, rules: NameRules) -> Self {
        self.0.names = rules;
        self
    }

    /// Sets how long the start waits for slow servers. The default is 30 seconds. Slower servers are added when they
    /// are ready.
    pub fn start_timeout(mut self, limit: Duration) -> Self {
        self.0.start_timeout = limit;
        self
    }

    /// Sets how many times the hub tries to connect to a server within a period. After that many attempts, the hub
    /// waits ten to twenty seconds before the next one. The default is five attempts in a minute.
    pub fn attempts(mut self, number: usize, within: Duration) -> Self {
        self.0.attempts = AttemptLimit { number: number.max(1), within };
        self
    }

    /// Sets the values for `${…}` in a file. The default is the environment.
    pub fn variables(mut self, variables: Variables) -> Self {
        self.0.variables = variables;
        self
    }

    /// Creates a hub without servers.
    ///
    /// # Errors
    ///
    /// Returns an error if the rules for names are invalid; see [`NameRules`].
    pub fn build(self) -> Result<Hub> {
        let first = HubSnapshot::new(Names::new(self.0.names.clone())?, Uris::default());
        Ok(Hub(Arc::new(HubGuard(Arc::new(Shared::new(self.0, first))))))
    }

    /// Connects to all servers in a configuration file; see [`Hub::from_file`].
    pub async fn from_file(self, path: impl AsRef<Path>) -> Result<Hub> {
        self.from_config(Config::from_file(path)?).await
    }

    /// Connects to all servers of a configuration; see [`Hub::from_file`].
    pub async fn from_config(self, config: Config) -> Result<Hub> {
        let hub = self.build()?;
        let shared = &hub.0.0;
        let members: Vec<_> =
            config.servers.iter().map(|server| shared.start_configured(server)).collect::<Result<_>>()?;
        // Slower servers become available later.
        let _ = timeout(shared.settings.start_timeout, shared.wait_for_first_attempts(&members)).await;
        Ok(hub)
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
