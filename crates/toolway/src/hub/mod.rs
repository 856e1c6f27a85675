//! Many servers: which ones there are, what they have together, and who looks after them.
//!
//! A [`Hub`] connects to all servers of a file, or to those that it is told, and makes one list of what they have. Names are
//! `server__tool`; each leads back to the server it came from, and nothing collides. A server that cannot be reached takes
//! nothing with it: its calls fail, the others go on, and it comes back by itself.
//!
//! ```
//! use serde_json::json;
//! use toolway::agent::{FailureKind, ToolCall};
//! use toolway::prelude::*;
//!
//! # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
//! # #[tool] fn today() -> &'static str { "2026-01-01" }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let calculator = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
//! # let calendar = Server::new("calendar", "1.0.0").tools(tools![today]).build()?;
//! let hub = Hub::new();
//! hub.connect("calc", &calculator).await?.connect("dates", &calendar).await?;
//!
//! let tools = hub.tools();
//! let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
//! assert_eq!(names, ["calc__add", "dates__today"]);
//!
//! // What a model wants to be called, at the same time. Nothing fails as a whole.
//! let answers = hub.call_all([
//!     ToolCall::new("1", "calc__add", json!({"a": 2, "b": 3})),
//!     ToolCall::new("2", "dates__today", json!({})),
//!     ToolCall::new("3", "dates__tomorrow", json!({})),
//! ]).await;
//! assert_eq!(answers[0].result.as_ref().unwrap().text(), "5");
//! assert_eq!(answers[1].result.as_ref().unwrap().text(), "2026-01-01");
//! assert_eq!(answers[2].result.as_ref().unwrap_err().kind(), FailureKind::Unknown);
//! # Ok::<(), toolway::Error>(()) }).unwrap();
//! ```
//!
//! From the file that Claude, Cursor, VS Code, Windsurf or the Gemini CLI already use:
//!
//! ```no_run
//! use toolway::prelude::*;
//!
//! # async fn example() -> toolway::Result<()> {
//! let hub = Hub::from_file("mcp.json").await?;
//! for server in hub.status() {
//!     eprintln!("{server}");
//! }
//! # Ok(()) }
//! ```
//!
//! # When a server is gone
//!
//! What it has stays in the lists, so that a model that knows a tool need not be told twice; calls of it fail as
//! [unavailable](crate::agent::FailureKind::Unavailable). Each server has a task that looks after it: it tries the server again,
//! the second time at once, then after random waits that grow to five seconds. After five attempts in a minute it is left
//! alone for ten to twenty seconds, and its calls fail at once meanwhile. [`Hub::refresh`] tries at once. When the server is back,
//! its lists are read again.
//!
//! Lists are read again when a server says that they have changed. Where it does not tell, but says how long a list is true,
//! they are read when that time is over, though not more often than every 30 seconds.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | What is a hub? |
//! | `builder.rs` | What can be said about one? |
//! | `calls.rs` | What may be asked of the servers, and who answers? |
//! | `snapshot.rs` | What do all servers have together, and whose is what? |
//! | `watch.rs` | What has changed? |
//! | `member.rs`, `status.rs` | How is one server? |
//! | `follower.rs` | Who looks after it? |
//! | `breaker.rs` | How often may it be tried? |
//! | `lists.rs` | What does it have, and how long is that true? |
//! | `names.rs` | What are the tools of several servers called in one list, and whose is a name? |
//! | `tags.rs` | What stands for a server in the names of its elements? |
//! | `uris.rs` | How are resources of several servers told apart, and whose is a URI? |
//! | `config/` | Which servers does a file name, and how are they reached? |
//! | `target.rs` | How does what a file says become a way to a server? |

mod breaker;
mod builder;
mod calls;
pub mod config;
mod follower;
mod lists;
mod member;
mod names;
#[cfg(feature = "http")]
mod over_http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod over_http;
mod snapshot;
mod status;
mod tags;
mod target;
#[cfg(test)]
mod tests;
mod uris;
mod watch;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch as channel};

pub use builder::HubBuilder;
pub use config::{Config, ConfigError, ServerConfig, ServerKind};
pub use names::{NameRules, Names};
pub use status::{ServerState, ServerStatus};
pub use uris::Uris;
pub use watch::{HubChange, HubWatch};

use builder::Settings;
use lists::Lists;
use member::Member;
use snapshot::{Merged, Snapshot};

use crate::client::{Client, IntoTarget};
use crate::error::{Error, ErrorKind, Result};

/// Many servers as one. Cloning it is cheap; all clones are the same hub.
///
/// When the last clone is dropped, everything ends: connections are closed, and the programs that were started for them are
/// stopped. [`close_all`](Hub::close_all) does the same and waits for it.
///
/// ```
/// # use toolway::prelude::*;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// let hub = Hub::new();
/// hub.connect("calc", &server).await?;
/// let sum = hub.call("calc__add", serde_json::json!({"a": 2, "b": 3})).await?;
/// assert_eq!(sum.text()?, "5");
/// hub.close_all().await;
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Hub(Arc<Owner>);

/// Ends everything with the last clone. The tasks do not hold it.
struct Owner(Arc<Shared>);

/// What a hub shares with the tasks that look after its servers.
struct Shared {
    settings: Settings,
    merged: Mutex<Merged>,
    snapshot: channel::Sender<Arc<Snapshot>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl Hub {
    /// A hub without servers.
    pub fn new() -> Self {
        Self::builder().build().expect("names are joined by default as they can be")
    }

    /// Begins a hub; see the builder for everything that can be said about one.
    pub fn builder() -> HubBuilder {
        HubBuilder::default()
    }

    /// Connects to all servers that a file names, at the same time.
    ///
    /// It returns when each of them is ready or has failed once, or after the [start
    /// timeout](HubBuilder::start_timeout). Those that are not there keep being tried; [`status`](Hub::status) says how they are.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has mistakes: all of them. A server that does not start is no error.
    pub async fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().from_file(path).await
    }

    /// Connects to all servers of a configuration: see [`from_file`](Hub::from_file).
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

    /// Connects to a server, whose tools are called `name__tool` from then on.
    ///
    /// From the first time on, the hub looks after it: see the [module](self).
    ///
    /// # Errors
    ///
    /// There is a server of this name already, it cannot be reached, or somebody takes it out meanwhile. Then the hub is as it was.
    /// [`add`](Hub::add) keeps it, and goes on trying.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves the hub as it was.
    pub async fn connect(&self, name: &str, target: impl IntoTarget) -> Result<&Self> {
        let member = self.0.0.start(name, target.into_target()?)?;
        let mut unless_done = Undo(Some((self, &member)));
        self.0.0.settled(std::slice::from_ref(&member)).await;
        if let Some(error) = member.failure() {
            return Err(error);
        }
        unless_done.0 = None;
        Ok(self)
    }

    /// Adds a server without waiting for it. If it cannot be reached, it keeps being tried.
    ///
    /// # Errors
    ///
    /// There is a server of this name already.
    pub fn add(&self, name: &str, target: impl IntoTarget) -> Result<&Self> {
        self.0.0.start(name, target.into_target()?)?;
        Ok(self)
    }

    /// Takes a server out, with everything that it has, and closes the connection. One that is not there is no error.
    ///
    /// Calls of it that are under way end as unavailable.
    pub async fn disconnect(&self, name: &str) {
        let Some(member) = self.snapshot().member(name).cloned() else { return };
        let client = self.0.0.remove(&member);
        close(client).await;
    }

    /// The client of a server. It is shared with the hub: closing it makes the hub connect again.
    ///
    /// # Errors
    ///
    /// There is no such server, or it was not reached yet.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").build()?;
    /// # let hub = Hub::new();
    /// # hub.connect("calc", &server).await?;
    /// hub.client("calc")?.ping().await?;
    /// let error = hub.client("calk").unwrap_err();
    /// assert_eq!(error.to_string(), "no such server: `calk`, did you mean `calc`? (there are `calc`)");
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn client(&self, name: &str) -> Result<Client> {
        let snapshot = self.snapshot();
        snapshot.member(name).ok_or_else(|| snapshot.no_such_server(name))?.client()
    }

    /// How the servers are, in the order in which they came.
    pub fn status(&self) -> Vec<ServerStatus> {
        // Held, so that what is said to be ready is in the lists.
        let merged = self.0.0.merged();
        merged.members.iter().map(|member| member.status()).collect()
    }

    /// Reads all lists again, and tries at once the servers that are not there. It returns when that is done, as far as it
    /// can be.
    pub async fn refresh(&self) {
        let mut done = Vec::new();
        for member in &*self.snapshot().members {
            let (sender, receiver) = oneshot::channel();
            // One that nobody looks after, or not any more, has nothing to read.
            if member.orders.send(sender).await.is_ok() {
                done.push(receiver);
            }
        }
        for done in done {
            let _ = done.await;
        }
    }

    /// Takes all servers out, closes their connections and waits until they are closed. The hub can be used again.
    pub async fn close_all(&self) {
        let members = self.snapshot().members.clone();
        let closing: Vec<_> = members.iter().map(|member| self.0.0.remove(member)).collect();
        let mut closing: tokio::task::JoinSet<()> = closing.into_iter().map(close).collect();
        while closing.join_next().await.is_some() {}
    }

    /// What all servers have together, and whose it is.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.0.0.snapshot.borrow().clone()
    }
}

async fn close(client: Option<Client>) {
    if let Some(client) = client
        && let Err(error) = client.close().await
    {
        tracing::debug!(%error, "a server did not hear that it was left");
    }
}

/// Takes a server out again that nobody waits for any more.
struct Undo<'h>(Option<(&'h Hub, &'h Arc<Member>)>);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Some((hub, member)) = self.0 {
            hub.0.0.remove(member);
        }
    }
}

impl Shared {
    fn new(settings: Settings) -> Result<Self> {
        let merged = Merged::new(settings.names.clone())?;
        let snapshot = channel::Sender::new(merged.snapshot());
        Ok(Self { settings, merged: Mutex::new(merged), snapshot })
    }

    fn merged(&self) -> MutexGuard<'_, Merged> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a server, if its name is free. One that is only listed as disabled makes room.
    fn insert(&self, member: &Arc<Member>) -> Result<()> {
        let name = &*member.name;
        if name.is_empty() {
            return Err(Error::new(ErrorKind::Misuse, "a server of a hub needs a name: it has an empty one"));
        }
        let mut merged = self.merged();
        if let Some(old) = merged.members.iter().find(|old| old.name == member.name).cloned() {
            if !old.is_disabled() {
                let message =
                    format!("there is a server `{name}` already: disconnect it, or take another name");
                return Err(Error::new(ErrorKind::Misuse, message));
            }
            merged.remove(&old);
        }
        self.snapshot.send_replace(merged.insert(member.clone()));
        Ok(())
    }

    /// Takes a server out, and gives back its client to be closed.
    fn remove(&self, member: &Arc<Member>) -> Option<Client> {
        let mut merged = self.merged();
        // Before anybody hears of it: whoever waits for the server waits for nothing more.
        let client = member.leave();
        if merged.has(member) {
            self.snapshot.send_replace(merged.remove(member));
        }
        client
    }

    /// A server has a client. Whoever has the one before has to know that it is another.
    fn connected(&self, member: &Arc<Member>, client: &Client) {
        let mut merged = self.merged();
        if merged.has(member) && member.set_client(client.clone()) {
            self.snapshot.send_replace(merged.state_changed());
        }
    }

    /// A server is there, and has this.
    fn ready(&self, member: &Arc<Member>, lists: Lists) {
        let mut merged = self.merged();
        if merged.has(member) {
            self.snapshot.send_replace(merged.ready(member, lists));
        }
    }

    /// A server is not there.
    fn unavailable(&self, member: &Arc<Member>, error: Error) {
        let mut merged = self.merged();
        if merged.has(member) {
            member.set_unavailable(error);
            self.snapshot.send_replace(merged.state_changed());
        }
    }

    /// Waits until something is known of all of them.
    async fn settled(&self, members: &[Arc<Member>]) {
        let mut snapshots = self.snapshot.subscribe();
        // The sender is this very hub's.
        let _ = snapshots.wait_for(|_| members.iter().all(|member| member.is_settled())).await;
        // A member is settled a moment before the snapshot is there that has what it offers. Whoever makes it holds this.
        drop(self.merged());
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let members = std::mem::take(&mut self.0.merged().members);
        for member in members {
            member.drop_out();
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status();
        f.debug_map()
            .entries(status.iter().map(|status| (&status.name, format!("{}", status.state))))
            .finish()
    }
}
