//! How does a model use a server's tools, and how does code that manages many clients inspect a client?

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_protocol::RawJson;
use toolway_protocol::types::{Tool, ToolAnnotations};

use crate::agent::{AgentTool, ToolFailure, ToolOutput, ToolSet};
use crate::client::calls::result::ToolResult;
use crate::client::connect::client::Client;
use crate::client::connect::tool_cache::ListedTools;
use crate::ground::error::{Error, Result};
use crate::ground::future::BoxFuture;

/// A tool of a server, for a model. Made by [`Client::as_tools`].
///
/// If a call fails, the [`ToolFailure`] has a text for the model. This includes an unavailable server, a protocol
/// error, and a tool that reports an error.
#[derive(Clone)]
pub struct RemoteTool {
    client: Client,
    tool: Tool,
}

impl Client {
    /// Returns the tools of the server, for a model. The set can be combined with tools of this program and of other
    /// servers.
    ///
    /// The set does not follow later changes of the server's tool list. A [`Hub`](crate::Hub) keeps its tools up to
    /// date.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// use toolway::agent::ToolCall;
    ///
    /// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
    /// # let client = Client::connect(&server).await?;
    /// let tools = client.as_tools().await?;
    /// let answer = tools.call(ToolCall::new("1", "add", serde_json::json!({"a": 2, "b": 3}))).await;
    /// assert_eq!(answer.result.unwrap().text(), "5");
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub async fn as_tools(&self) -> Result<ToolSet> {
        let tools = self.tools().await?;
        Ok(tools.iter().map(|tool| RemoteTool::new(self, tool.clone())).collect())
    }
}

impl RemoteTool {
    /// A tool of the server that `client` is connected to.
    pub fn new(client: &Client, tool: Tool) -> Self {
        Self { client: client.clone(), tool }
    }

    /// The definition of the tool, as the server sent it.
    pub fn definition(&self) -> &Tool {
        &self.tool
    }
}

impl AgentTool for RemoteTool {
    fn name(&self) -> &str {
        &self.tool.name
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn input_schema(&self) -> &RawJson {
        &self.tool.input_schema
    }

    fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>> {
        Box::pin(
            async move { tool_outcome(self.client.call(&self.tool.name, arguments).await, &self.tool.name) },
        )
    }

    fn title(&self) -> Option<&str> {
        self.tool.title.as_deref()
    }

    fn annotations(&self) -> Option<&ToolAnnotations> {
        self.tool.annotations.as_ref()
    }

    fn output_schema(&self) -> Option<&RawJson> {
        self.tool.output_schema.as_ref()
    }
}

impl fmt::Debug for RemoteTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteTool")
            .field("name", &self.tool.name)
            .field("server", &self.client.target())
            .finish_non_exhaustive()
    }
}

/// Converts the outcome of a call for a model that knows the tool by the name `tool`.
pub(crate) fn tool_outcome(called: Result<ToolResult>, tool: &str) -> Result<ToolOutput, ToolFailure> {
    let outcome = match called {
        Ok(result) => ToolOutput::try_from(result.into_inner()),
        // A closed client also returns this error. The model should read that the tool is unavailable, not that the
        // call was cancelled.
        Err(error) if error.is_session_ended() => Err(ToolFailure::unavailable(tool).caused_by(error)),
        Err(error) => Err(error.into()),
    };
    outcome.map_err(|failure| failure.of_tool(tool))
}

/// Methods for code that manages many clients.
impl Client {
    /// Checks once whether the server responds.
    pub(crate) async fn probe(&self, limit: Duration) -> Result<()> {
        self.shared.connection().await?.probe(limit).await
    }

    /// Waits until the current connection is lost. Waits forever on transports that do not detect a lost connection.
    pub(crate) async fn disconnected(&self) {
        let connection = self.shared.current();
        if connection.is_usable() {
            connection.transport.disconnected().await;
        }
    }

    /// A receiver that is notified each time the client reconnects.
    pub(crate) fn reconnects(&self) -> watch::Receiver<u64> {
        self.shared.notifications.reconnects()
    }

    /// The error that explains why the current connection was lost.
    pub(crate) fn loss_error(&self) -> Error {
        let connection = self.shared.current();
        let lost =
            Error::new(crate::ErrorKind::Transport, format!("the connection to {} was lost", self.target()));
        match connection.transport.diagnosis() {
            Some(diagnosis) => lost.with_note(diagnosis),
            None => lost,
        }
    }

    /// Invalidates the cached tool list, so that the next call fetches it.
    pub(crate) fn invalidate_tools(&self) {
        self.shared.notifications.invalidate_tools();
    }

    /// Returns the tools of the server, or as many as the client's limit allows.
    pub(crate) async fn listed_tools(&self) -> Result<ListedTools> {
        self.shared.listed_tools().await
    }

    /// The time when the cached tool list expires, if the server stated one.
    pub(crate) fn tools_expire_at(&self) -> Option<Instant> {
        self.shared.tools.expires_at()
    }

    /// Returns whether the client was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }
}
