//! Which layers wrap calls?

use crate::server::build::builder::ServerBuilder;
use crate::server::call::layer::service::{Layer, Next, Service};
use crate::server::call::layer::stack::CallKind;

impl ServerBuilder {
    /// Wraps every call in a layer. The first layer that is added is the outermost. Layers for one kind of call
    /// ([`layer_for`](Self::layer_for)) are in the same order; layers of single elements
    /// ([`ToolEntry::layer`](crate::server::ToolEntry::layer)) are inside all layers of the server.
    ///
    /// A call is a request for a tool, a resource, a prompt, a completion, a list or a custom method. Requests that
    /// only maintain the connection are not calls: the handshake, pings, subscriptions, the log level.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::ToolEntry;
    /// use toolway::server::layer::layer_fn;
    /// use toolway::testing::connect;
    /// use toolway::{Code, RpcError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let members_only = layer_fn(|call, next| async move {
    ///     if call.principal().is_none() {
    ///         return Err(RpcError::invalid_request("members only").into());
    ///     }
    ///     next.run(call).await
    /// });
    /// let tool = ToolEntry::from_fn("hello", || async { "hello" });
    /// let server = Server::new("app", "1.0.0").tool(tool).layer(members_only).build()?;
    /// let refused = connect(&server).await.call("hello", serde_json::json!({})).await.unwrap_err();
    /// assert_eq!(refused.code(), Some(Code::INVALID_REQUEST));
    /// # Ok(())
    /// # }
    /// ```
    pub fn layer<L: Layer>(mut self, layer: L) -> Self
    where
        L::Service: Service,
    {
        self.layers.push(None, layer.layer(Next::new()));
        self
    }

    /// Wraps the calls of one kind in a layer.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::layer::{CallKind, layer_fn};
    ///
    /// let slow = layer_fn(|call, next| async move {
    ///     tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    ///     next.run(call).await
    /// });
    /// let server = Server::new("app", "1.0.0").layer_for(CallKind::Completion, slow).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn layer_for<L: Layer>(mut self, kind: CallKind, layer: L) -> Self
    where
        L::Service: Service,
    {
        self.layers.push(Some(kind), layer.layer(Next::new()));
        self
    }
}
