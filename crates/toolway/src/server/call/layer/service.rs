//! What is a layer, and how does it call the next one?

use crate::ground::future::BoxFuture;
use crate::server::call::layer::call::Call;
use crate::server::call::layer::reply::{CallError, CallReply};
use crate::server::call::layer::stack::CallKind;

/// A service that answers calls. A [`Layer`] makes a service that wraps [`Next`].
///
/// Most layers are closures: see [`layer_fn`](crate::server::layer::layer_fn). Implement this trait for layers that are
/// types. For layers of the tower crates use `tower(…)`, with the feature `tower`.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
/// use toolway::BoxFuture;
/// use toolway::prelude::*;
/// use toolway::server::ToolEntry;
/// use toolway::server::layer::{Call, CallError, CallReply, Layer, Next, Service};
/// use toolway::testing::connect;
///
/// #[derive(Clone, Default)]
/// struct Count(Arc<AtomicU64>);
///
/// struct Counting {
///     count: Count,
///     next: Next,
/// }
///
/// impl Layer for Count {
///     type Service = Counting;
///
///     fn layer(&self, next: Next) -> Counting {
///         Counting { count: self.clone(), next }
///     }
/// }
///
/// impl Service for Counting {
///     fn call(&self, call: Call) -> BoxFuture<'static, Result<CallReply, CallError>> {
///         self.count.0.fetch_add(1, Ordering::Relaxed);
///         self.next.call(call)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let count = Count::default();
/// let tool = ToolEntry::from_fn("hello", || async { "hello" });
/// let server = Server::new("app", "1.0.0").tool(tool).layer(count.clone()).build()?;
/// let client = connect(&server).await;
/// client.call("hello", serde_json::json!({})).await?;
/// client.tools().await?;
/// assert_eq!(count.0.load(Ordering::Relaxed), 2);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer calls of toolway",
    label = "not a layer of toolway",
    note = "if this is a layer of tower, wrap it in `toolway::server::layer::tower(…)`",
    note = "a closure becomes a layer with `toolway::server::layer::layer_fn(…)`"
)]
pub trait Service: Send + Sync + 'static {
    /// Answers a call itself, or passes it to the next service.
    fn call(&self, call: Call) -> BoxFuture<'static, Result<CallReply, CallError>>;
}

/// Makes a service that wraps the next one.
///
/// With the feature `tower`, a layer of tower that makes such a service is one too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer of toolway",
    label = "not a layer of toolway",
    note = "if this is a layer of tower, switch on the feature `tower` of toolway, and wrap it in `toolway::server::layer::tower(…)`",
    note = "a closure becomes a layer with `toolway::server::layer::layer_fn(…)`"
)]
pub trait Layer {
    /// The service that is made: a [`Service`].
    type Service;

    /// Wraps the next service.
    fn layer(&self, next: Next) -> Self::Service;
}

/// The next service: the inner layers, and finally the handler.
///
/// It implements this crate's [`Service`] and, with the feature `tower`, tower's `Service`, for which it is always ready.
#[derive(Debug, Clone)]
pub struct Next(());

impl Next {
    /// Creates the next service. It is the same for all calls, because the call itself knows which layer is next.
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Passes a call to the next layer or to the handler.
    pub fn run(&self, mut call: Call) -> BoxFuture<'static, Result<CallReply, CallError>> {
        // The call knows its next layer, not the service. Therefore a layer is created once, and can wrap a tool that
        // is cloned, renamed or added to another server.
        match call.layer_path.next_layer(CallKind::of(&call.request)) {
            Some(layer) => layer.call(call),
            None => (call.layer_path.final_handler)(call),
        }
    }
}

impl Service for Next {
    fn call(&self, call: Call) -> BoxFuture<'static, Result<CallReply, CallError>> {
        self.run(call)
    }
}
