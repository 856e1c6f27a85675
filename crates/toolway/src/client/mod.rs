//! Clients: the other end.
//!
//! A [`Client`] speaks with one server. How the conversation is opened is found out when it connects; from
//! then on every call looks the same, and goes on when the server is started again.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | What is a client? |
//! | `calls.rs`, `pages.rs` | What may be asked of a server? |
//! | `exchange.rs` | What can be said about one request, and what comes of it? |
//! | `repeat.rs` | When is a request sent again? |
//! | `connection.rs` | How does one request go over one connection: in time, and told if it is given up? |
//! | `result.rs` | What did a tool give back? |
//! | `tools.rs` | Which tools has the server, as far as we know? |
//! | `watch.rs`, `changes.rs` | What has changed at the server? |
//! | `remote.rs` | How are a server's tools used by a model? |
//! | `ears.rs`, `news.rs` | Who hears what the server says? |
//! | `target.rs` | Where is a server, and how does one get there? |
//! | `connect/` | How is a conversation opened, in which era, and opened again? |
//! | `handshake.rs`, `stateless/` | How does each era dress a request? |
//! | `answer.rs` | What does the application answer when a server asks? |
//! | `asked.rs` | Which requests of the server are being answered? |
//! | `behalf.rs` | How is a request made for somebody else? |
//! | `transport.rs` | What must something do to carry messages? |
//! | `duplex/`, `http/` | How do messages travel over a pipe and over HTTP? |
//! | `process/` | How is a server started, watched over and ended that is a program? |

mod answer;
pub(crate) mod calls;
mod connect;
mod handshake;
#[cfg(feature = "http")]
mod http;
mod notifications;
mod pipe;
mod process;
mod stateless;
pub(crate) mod wire;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::types::{Implementation, LogLevel};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson};

pub use answer::answers::{Answer, Elicitation, Unanswered};
pub use calls::exchange::{Exchange, Running};
pub use calls::pages::Pages;
pub use calls::remote::RemoteTool;
pub use calls::requests::PromptArguments;
pub use calls::result::ToolResult;
pub use calls::tools::Tools;
pub use calls::watch::{Change, Watch};
pub use connect::{ClientBuilder, EraCache};
#[cfg(feature = "http")]
pub use http::{Http, HttpBody, HttpClient, Sending};
pub use notifications::news::News;
pub use process::Command;
pub use wire::target::{Connector, IntoTarget, Reaching, Target};
pub use wire::transport::{Answering, Carried, Closing, Inbox, Lasting, Outgoing, Transport};

use calls::tools;
use connect::Way;
use connect::connection::{self, Connection};
use notifications::listeners::Ears;

use crate::error::{Error, ErrorKind, Result};

/// A connected client. Cloning it is cheap; all clones share the connection, which ends with the last one.
///
/// ```
/// # use toolway::prelude::*;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// let client = Client::connect(&server).await?;
/// for tool in client.tools().await? {
///     println!("{}: {}", tool.name, tool.description());
/// }
/// let sum = client.call("add", serde_json::json!({"a": 2, "b": 3})).await?;
/// assert_eq!(sum.text()?, "5");
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
///
/// A server that is started again is connected to again, by the next call or by one that is under way. A call is sent a
/// second time only when the server has not begun it, or when it is [safe](Exchange::safe_to_repeat).
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

/// What all clones share, whichever connection they are at.
struct Shared {
    way: Arc<Way>,
    current: RwLock<Arc<Connection>>,
    closed: AtomicBool,
    next_id: Arc<AtomicI64>,
    ears: Arc<Ears>,
    tools: tools::Known,
    wishes: Mutex<Wishes>,
}

/// What a new connection is told that an old one knew.
#[derive(Debug, Clone, Default)]
struct Wishes {
    log_level: Option<LogLevel>,
    /// The resources whose changes are to be told.
    resources: std::collections::BTreeSet<String>,
    /// Those that somebody watches, and how many do. They are asked for again by whoever keeps watching.
    watched: std::collections::HashMap<String, usize>,
}

/// How requests are dressed, decided once when a connection is opened.
#[expect(clippy::large_enum_variant, reason = "there is one in each connection")]
enum Dress {
    Handshake(handshake::Link),
    Stateless(stateless::Link),
}

/// What the server said about itself.
struct ServerFacts {
    info: Option<Implementation>,
    capabilities: ServerCapabilities,
    instructions: Option<String>,
}

impl Client {
    /// Begins a client; see the builder for everything that can be said about one.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Connects to a server: a command line, a URL, a server in this process, or a transport.
    ///
    /// ```no_run
    /// # use toolway::prelude::*;
    /// # async fn example() -> toolway::Result<()> {
    /// let client = Client::connect("npx -y @modelcontextprotocol/server-filesystem /data").await?;
    /// let text = client.call("read_file", serde_json::json!({"path": "/data/a.txt"})).await?.text()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// "failed to connect to …", with what lies underneath.
    pub async fn connect(target: impl IntoTarget) -> Result<Self> {
        Self::builder().connect(target).await
    }

    /// The revision that is spoken.
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.shared.current().version()
    }

    /// Who the server says it is; for display, not for decisions.
    pub fn server_info(&self) -> Option<Implementation> {
        self.shared.current().server.info.clone()
    }

    /// What the server can do.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.shared.current().server.capabilities.clone()
    }

    /// How to use the server, for a model.
    pub fn instructions(&self) -> Option<String> {
        self.shared.current().server.instructions.clone()
    }

    /// Where the server is, in words.
    pub fn target(&self) -> String {
        self.shared.way.name()
    }

    /// Whether there is a connection now, as far as this side knows. Without one, the next call opens another.
    pub fn is_connected(&self) -> bool {
        !self.shared.closed.load(Ordering::Acquire) && self.shared.current().is_usable()
    }

    /// Asks whether the server is there. The stateless era has no such question; there, discovery is asked.
    pub fn ping(&self) -> Exchange<()> {
        Exchange::ping(self.shared.clone())
    }

    /// What the server tells from now on: progress, log messages, changes.
    pub fn news(&self) -> News {
        self.shared.ears.listen()
    }

    /// Ends the conversation, for all clones, and waits until the server knows: first of the calls that were given up, then of the
    /// end. A server that this client has started is stopped.
    ///
    /// Dropping the last clone ends it too, but cannot tell whether the server has heard of it. Calls of clones that
    /// are left fail.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").build()?;
    /// let client = toolway::testing::connect(&server).await;
    /// client.ping().await?;
    /// client.close().await?;
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// When the server could not be told in time; the conversation is over all the same.
    pub async fn close(self) -> Result<()> {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.way.stop();
        let connection = self.shared.current();
        connection.taken_back().await;
        connection.transport.close().await
    }

    async fn tell(&self, method: Method, params: Option<&RawJson>) -> Result<()> {
        let limit = self.shared.way.timeout();
        let telling = async {
            let connection = self.shared.connection().await?;
            let outgoing = connection.notification(method.clone(), params);
            connection.size.check(&outgoing)?;
            connection.transport.carry(outgoing).await.map(drop)
        };
        match limit {
            None => telling.await,
            Some(limit) => tokio::time::timeout(limit, telling)
                .await
                .unwrap_or_else(|_| Err(connection::timed_out(&method, limit))),
        }
    }
}

impl Shared {
    fn next_id(&self) -> Id {
        Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// The connection of now, whatever became of it.
    fn current(&self) -> Arc<Connection> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.way.stop();
        self.ears.close();
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Cancelled, "the client is closed").session_ended()
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = self.shared.current();
        f.debug_struct("Client")
            .field("target", &self.target())
            .field("server", &connection.server.info)
            .field("protocol_version", &connection.version())
            .finish_non_exhaustive()
    }
}
