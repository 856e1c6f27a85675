//! Clients: the other end.
//!
//! A [`Client`] speaks with one server. How the conversation is opened is found out when it connects; from
//! then on every call looks the same.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | What may be asked of a server? |
//! | `connect.rs` | How is a conversation opened, and in which era? |
//! | `handshake.rs`, `stateless.rs` | How does each era dress a request? |
//! | `transport.rs` | What must something do to carry messages? |
//! | `duplex.rs`, `http/` | How do messages travel over a pipe and over HTTP? |

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

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::request::{CallTool, Page};
use toolway_protocol::types::{CallToolResult, Implementation, Tool};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request};

pub use connect::ClientBuilder;
pub use transport::{Carried, Outgoing, Transport};

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

    /// Every tool of the server, page by page.
    pub async fn tools(&self) -> Result<Vec<Tool>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Listed {
            tools: Vec<Tool>,
            next_cursor: Option<String>,
        }
        let mut tools = Vec::new();
        let mut page = Page::new();
        // A server whose pages never end, or repeat, is not followed for ever.
        for _ in 0..MAX_PAGES {
            let listed: Listed = self.ask(Request::ListTools(page.clone())).await?;
            tools.extend(listed.tools);
            if listed.next_cursor.is_none() {
                return Ok(tools);
            }
            if listed.next_cursor == page.cursor {
                break;
            }
            page.cursor = listed.next_cursor;
        }
        Err(Error::new(ErrorKind::PeerMisbehaved, "the server's list of tools does not end"))
    }

    /// Calls a tool. A failure that the tool itself reports is a result with `is_error`.
    pub async fn call(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<RawJson>,
    ) -> Result<CallToolResult> {
        self.ask(Request::CallTool(CallTool::new(tool, Some(arguments.into())))).await
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

    async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T> {
        let id = self.shared.next_id();
        let result = match &self.shared.era {
            Dress::Handshake(link) => self.shared.send(link.request(id, &request)).await?,
            Dress::Stateless(link) => {
                let result = self.shared.send(link.request(id, &request)).await?;
                stateless::complete(&result)?;
                result
            }
        };
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
}

/// Most pages of one list that are read.
const MAX_PAGES: usize = 1000;

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
