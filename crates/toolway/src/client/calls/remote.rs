//! How are a server's tools used by a model, and how does somebody who looks after many clients look at one?

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_protocol::RawJson;
use toolway_protocol::types::{Tool, ToolAnnotations};

use crate::agent::{AgentTool, ToolFailure, ToolOutput, ToolSet};
use crate::client::calls::result::ToolResult;
use crate::client::connect::client::Client;
use crate::ground::error::{Error, Result};
use crate::ground::future::BoxFuture;

/// A tool of a server, for a model. Made by [`Client::as_tools`].
///
/// Calling it never fails as a whole: a server that is gone, an error of the protocol and a tool that says that it failed are each
/// a [`ToolFailure`] with a text for the model.
#[derive(Clone)]
pub struct RemoteTool {
    client: Client,
    tool: Tool,
}

impl Client {
    /// The tools of the server, for a model: to be put into one list with those of this program and of other servers.
    ///
    /// They are those of now. A [`Hub`](crate::Hub) keeps them up to date.
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
    /// A tool of the server that a client speaks with.
    pub fn new(client: &Client, tool: Tool) -> Self {
        Self { client: client.clone(), tool }
    }

    /// What the server says of it.
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
        Box::pin(async move { outcome(self.client.call(&self.tool.name, arguments).await, &self.tool.name) })
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

/// What a call came to, for a model that knows the tool by this name.
pub(crate) fn outcome(called: Result<ToolResult>, tool: &str) -> Result<ToolOutput, ToolFailure> {
    let outcome = match called {
        Ok(result) => ToolOutput::try_from(result.into_inner()),
        // A client that was closed has no server any more; nobody gave up this very call.
        Err(error) if error.is_session_ended() => Err(ToolFailure::unavailable(tool).caused_by(error)),
        Err(error) => Err(error.into()),
    };
    outcome.map_err(|failure| failure.of_tool(tool))
}

/// For those who look after many clients.
impl Client {
    /// Asks once whether the server is there.
    pub(crate) async fn probe(&self, limit: Duration) -> Result<()> {
        self.shared.connection().await?.probe(limit).await
    }

    /// Waits until the connection of now is gone. Some are never known to be.
    pub(crate) async fn lost(&self) {
        let connection = self.shared.current();
        if connection.is_usable() {
            connection.transport.lost().await;
        }
    }

    /// Tells when the conversation is opened again.
    pub(crate) fn openings(&self) -> watch::Receiver<u64> {
        self.shared.notifications.openings()
    }

    /// Why the connection of now is gone.
    pub(crate) fn loss(&self) -> Error {
        let connection = self.shared.current();
        let lost =
            Error::new(crate::ErrorKind::Transport, format!("the connection to {} was lost", self.target()));
        match connection.transport.diagnosis() {
            Some(diagnosis) => lost.explained(diagnosis),
            None => lost,
        }
    }

    /// Has the next list of tools read from the server, whatever is known.
    pub(crate) fn forget_tools(&self) {
        self.shared.notifications.tools_changed();
    }

    /// When the list of tools stops being true by itself, if the server said so.
    pub(crate) fn tools_until(&self) -> Option<Instant> {
        self.shared.tools.until()
    }

    /// Whether somebody has closed it.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }
}
