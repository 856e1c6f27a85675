//! Clients: the other end.
//!
//! A [`Client`] speaks with one server. How the conversation is opened is found out when it connects; from
//! then on every call looks the same.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | What is a client? |
//! | `calls.rs` | What may be asked of a server? |
//! | `connect.rs` | How is a conversation opened, and in which era? |
//! | `handshake.rs`, `stateless.rs` | How does each era dress a request? |
//! | `answer.rs` | What does the application answer when a server asks? |
//! | `asked.rs` | Which requests of the server are being answered? |
//! | `transport.rs` | What must something do to carry messages? |
//! | `duplex.rs`, `http/` | How do messages travel over a pipe and over HTTP? |

mod answer;
mod asked;
mod calls;
mod connect;
mod duplex;
mod handshake;
#[cfg(feature = "http")]
mod http;
mod stateless;
mod transport;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::de::DeserializeOwned;
use tokio::sync::broadcast;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::types::Implementation;
use toolway_protocol::{Id, Method, Notification, ProtocolVersion, RawJson, Request};

pub use answer::{Answer, Elicitation, Unanswered};
pub use connect::ClientBuilder;
pub use transport::{Answering, Carried, Closing, Inbox, Outgoing, Transport};

use crate::error::{Error, ErrorKind, Result};

/// A connected client. Cloning it is cheap; all clones share the connection, which ends with the last one.
///
/// ```
/// # use toolway::prelude::*;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// let client = toolway::testing::connect(&server).await;
/// for tool in client.tools().await? {
///     println!("{}: {}", tool.name, tool.description());
/// }
/// let result = client.call("add", serde_json::json!({"a": 2, "b": 3})).await?;
/// assert_eq!(result.first_text(), Some("5"));
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    transport: Box<dyn Transport>,
    era: Dress,
    server: ServerFacts,
    inbox: Inbox,
    next_id: AtomicI64,
}

/// How requests are dressed, decided once when the client connects.
#[expect(clippy::large_enum_variant, reason = "there is one in each client")]
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
    /// Begins a client; see the builder for where it can connect to.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// The revision that is spoken.
    pub fn protocol_version(&self) -> ProtocolVersion {
        match &self.shared.era {
            Dress::Handshake(link) => link.version(),
            Dress::Stateless(link) => link.version(),
        }
    }

    /// Who the server says it is; for display, not for decisions.
    pub fn server_info(&self) -> Option<&Implementation> {
        self.shared.server.info.as_ref()
    }

    /// What the server can do.
    pub fn server_capabilities(&self) -> &ServerCapabilities {
        &self.shared.server.capabilities
    }

    /// How to use the server, for a model.
    pub fn instructions(&self) -> Option<&str> {
        self.shared.server.instructions.as_deref()
    }

    /// Asks whether the server is there. The stateless era has no such question; there, discovery is asked.
    pub async fn ping(&self) -> Result<()> {
        let id = self.shared.next_id();
        let outgoing = match &self.shared.era {
            Dress::Handshake(link) => link.bare(id, Method::Ping),
            Dress::Stateless(link) => link.bare(id, Method::Discover),
        };
        self.shared.send(outgoing).await.map(drop)
    }

    /// What the server tells from now on: progress, log messages, changes.
    pub fn news(&self) -> News {
        News(self.shared.inbox.listen())
    }

    /// Ends the conversation, for all clones, and waits until the server knows.
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
    /// When the server could not be told within five seconds; the conversation is over all the same.
    pub async fn close(self) -> Result<()> {
        self.shared.transport.close().await
    }

    async fn tell(&self, method: Method, params: Option<&RawJson>) -> Result<()> {
        let outgoing = match &self.shared.era {
            Dress::Handshake(link) => link.notification(method, params),
            Dress::Stateless(link) => link.notification(method, params),
        };
        self.shared.transport.carry(outgoing).await.map(drop)
    }

    async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T> {
        let result = self.ask_raw(&request).await?;
        let malformed = || {
            let method = request.method();
            Error::new(
                ErrorKind::PeerMisbehaved,
                format!("the server's reply to {} is malformed", method.name()),
            )
        };
        // Derived decoders also take an array for an object; the protocol does not.
        if !result.is_object() {
            return Err(malformed());
        }
        result.decode().map_err(|error| malformed().caused_by(error))
    }

    /// Sends a request and gives back the result as it came.
    async fn ask_raw(&self, request: &Request) -> Result<RawJson> {
        // A server that knows of nobody who wants to hear of progress need not tell of any.
        let wants_progress = self.shared.inbox.has_listeners();
        match &self.shared.era {
            Dress::Handshake(link) => {
                let id = self.shared.next_id();
                self.shared.send(link.request(id, request, wants_progress)).await
            }
            Dress::Stateless(link) => stateless::ask(&self.shared, link, request, wants_progress).await,
        }
    }
}

/// What a server tells unasked, in order. Made by [`Client::news`].
///
/// Somebody who does not read misses the oldest when there are more than a thousand.
#[derive(Debug)]
pub struct News(broadcast::Receiver<Notification>);

impl News {
    /// Waits for the next one; nothing comes any more once the client is gone.
    pub async fn next(&mut self) -> Option<Notification> {
        loop {
            match self.0.recv().await {
                Ok(news) => return Some(news),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// The next one, if it is there already.
    pub fn try_next(&mut self) -> Option<Notification> {
        loop {
            match self.0.try_recv() {
                Ok(news) => return Some(news),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return None,
            }
        }
    }
}

impl Shared {
    fn next_id(&self) -> Id {
        Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    async fn send(&self, outgoing: Outgoing) -> Result<RawJson> {
        transport::exchange(&*self.transport, outgoing).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.server.info)
            .field("protocol_version", &self.protocol_version())
            .finish_non_exhaustive()
    }
}
