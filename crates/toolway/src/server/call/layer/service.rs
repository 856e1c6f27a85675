//! What is a layer, and what is the rest of the way to it?

use std::task::{Context, Poll};

use crate::ground::future::BoxFuture;
use crate::server::call::layer::answer::{Answer, CallError};
use crate::server::call::layer::call::Call;
use crate::server::call::layer::stages::Kind;

/// Something that answers calls. A [`Layer`](tower_layer::Layer) makes one that stands around [`Next`].
///
/// Most layers are closures: see [`layer_fn`](crate::server::layer_fn). This is for those that are types, and
/// [`tower()`](crate::server::tower()) for those of the tower crates.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
/// use toolway::prelude::*;
/// use toolway::BoxFuture;
/// use toolway::server::{Answer, Call, CallError, Next, Service};
/// use toolway::testing::connect;
/// use tower_layer::Layer;
///
/// #[derive(Clone, Default)]
/// struct Count(Arc<AtomicU64>);
///
/// struct Counting {
///     count: Count,
///     next: Next,
/// }
///
/// impl Layer<Next> for Count {
///     type Service = Counting;
///
///     fn layer(&self, next: Next) -> Counting {
///         Counting { count: self.clone(), next }
///     }
/// }
///
/// impl Service for Counting {
///     fn call(&self, call: Call) -> BoxFuture<'static, Result<Answer, CallError>> {
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
    note = "if this is a layer of tower, wrap it in `toolway::server::tower(…)`",
    note = "a closure becomes a layer with `toolway::server::layer_fn(…)`"
)]
pub trait Service: Send + Sync + 'static {
    /// Answers a call, or has it answered by whoever is next.
    fn call(&self, call: Call) -> BoxFuture<'static, Result<Answer, CallError>>;
}

/// Whoever is next: the layers further inside, and at last the handler.
///
/// It is a [`Service`] of ours and one of tower's, which is always ready.
#[derive(Debug, Clone)]
pub struct Next(());

impl Next {
    /// The rest of whichever call comes: the call itself knows which layer is next.
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Has a call answered.
    pub fn run(&self, mut call: Call) -> BoxFuture<'static, Result<Answer, CallError>> {
        // Which layer that is, the call knows: so a layer is made once, and can stand around a tool that is cloned, renamed or
        // given to another server.
        match call.path.step(Kind::of(&call.request)) {
            Some(layer) => layer.call(call),
            None => (call.path.end)(call),
        }
    }
}

impl Service for Next {
    fn call(&self, call: Call) -> BoxFuture<'static, Result<Answer, CallError>> {
        self.run(call)
    }
}

impl tower_service::Service<Call> for Next {
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.run(call)
    }
}
