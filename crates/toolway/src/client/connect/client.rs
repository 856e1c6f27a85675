//! What is a client?

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolway_protocol::ProtocolVersion;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::types::Implementation;

use crate::client::connect::shared::Shared;
use crate::client::notifications::news::News;
use crate::ground::error::Result;

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
/// second time only when the server has not begun it, or when it is [safe](crate::client::Exchange::safe_to_repeat).
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

impl Client {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// The revision that is spoken.
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.shared.current().era.version()
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
        self.shared.reconnector.name()
    }

    /// Whether there is a connection now, as far as this side knows. Without one, the next call opens another.
    pub fn is_connected(&self) -> bool {
        !self.shared.closed.load(Ordering::Acquire) && self.shared.current().is_usable()
    }

    /// What the server tells from now on: progress, log messages, changes.
    pub fn news(&self) -> News {
        self.shared.notifications.listen()
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
        self.shared.reconnector.stop();
        let connection = self.shared.current();
        connection.taken_back().await;
        connection.transport.close().await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = self.shared.current();
        f.debug_struct("Client")
            .field("target", &self.target())
            .field("server", &connection.server.info)
            .field("protocol_version", &connection.era.version())
            .finish_non_exhaustive()
    }
}
