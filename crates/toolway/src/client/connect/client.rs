//! What is a client?

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolway_protocol::ProtocolVersion;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::types::Implementation;

use crate::client::connect::shared::ClientState;
use crate::client::notifications::readers::NotificationReader;
use crate::ground::error::Result;

/// A connected client. Cloning it is cheap. All clones share the connection, which ends when the last clone is dropped.
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
/// When the server restarts, the client reconnects as soon as a call needs the connection. A call that was in flight is
/// sent again only if the server has not begun to execute it, or if it is [safe to
/// repeat](crate::client::Exchange::safe_to_repeat).
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<ClientState>,
}

impl Client {
    pub(crate) fn new(shared: ClientState) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// The protocol revision of the connection.
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.shared.current().era.version()
    }

    /// The name and version that the server claims. They are for display only; do not base decisions on them.
    pub fn server_info(&self) -> Option<Implementation> {
        self.shared.current().server.info.clone()
    }

    /// The capabilities of the server.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.shared.current().server.capabilities.clone()
    }

    /// The instructions that tell a model how to use the server.
    pub fn instructions(&self) -> Option<String> {
        self.shared.current().server.instructions.clone()
    }

    /// The location of the server, for display: a URL or a command line.
    pub fn target(&self) -> String {
        self.shared.reconnector.name()
    }

    /// Returns whether the client is connected, as far as it knows. If it is not, the next call reconnects, unless the
    /// client was closed.
    pub fn is_connected(&self) -> bool {
        !self.shared.closed.load(Ordering::Acquire) && self.shared.current().is_usable()
    }

    /// Subscribes to the server's notifications, such as progress, log messages and changes. The first notification
    /// returned is the first one that arrives after this call.
    pub fn notifications(&self) -> NotificationReader {
        self.shared.notifications.add_reader()
    }

    /// Ends the connection for all clones, and waits until the server was told. Pending cancel notifications are sent
    /// first. If this client has started the server process, the process is stopped.
    ///
    /// Dropping the last clone also ends the connection, but cannot report whether the server was told. After `close`,
    /// calls of the remaining clones fail.
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
    /// When the server could not be told in time. The connection is ended nevertheless.
    pub async fn close(self) -> Result<()> {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.reconnector.stop();
        let connection = self.shared.current();
        connection.cancels_sent().await;
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
