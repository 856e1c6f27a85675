//! What may stand between a request and its handler? Layers: each gets the [`Call`], and what the rest made of it.
//!
//! | file | question |
//! |---|---|
//! | `path.rs` | Which layers does a call pass, and in which order? |
//! | `answer.rs` | What comes back through them? |
//! | `function.rs`, `tower.rs` | How does a closure become a layer, and how a layer of tower? |

mod answer;
mod function;
mod path;
mod tower;

use std::task::{Context, Poll};

use tower_layer::Layer;

pub use answer::{Answer, CallError};
pub use function::{FnLayer, FnService, layer_fn};
pub use path::Kind;
pub(super) use path::{Path, Stages};
pub use tower::{ForEachCall, Tower, TowerService, tower};

use super::builder::ServerBuilder;
use super::call::{Answered, Call};
use super::failure::{Face, Subject, Trouble};
use super::handler::Running;
use super::prompt::PromptEntry;
use super::resource::ResourceEntry;
use super::rounds::run;
use super::scope::Scope;
use super::tool::ToolEntry;
use crate::panic::catch;

/// Something that answers calls. A [`Layer`] makes one that stands around [`Next`].
///
/// Most layers are closures: see [`layer_fn`]. This is for those that are types, and [`tower()`] for those of the
/// tower crates.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
/// use toolway::prelude::*;
/// use toolway::server::{Answer, Call, CallError, Next, Running, Service};
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
///     fn call(&self, call: Call) -> Running<Result<Answer, CallError>> {
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
    fn call(&self, call: Call) -> Running<Result<Answer, CallError>>;
}

/// Whoever is next: the layers further inside, and at last the handler.
///
/// It is a [`Service`] of ours and one of tower's, which is always ready.
#[derive(Debug, Clone)]
pub struct Next(());

impl Next {
    /// Has a call answered.
    pub fn run(&self, mut call: Call) -> Running<Result<Answer, CallError>> {
        // Which layer that is, the call knows: so a layer is made once, and can stand around a tool that is cloned, renamed or
        // given to another server.
        match call.path.step(Kind::of(&call.request)) {
            Some(layer) => layer.call(call),
            None => Box::pin(async move { Ok(Answer(run(Box::new(call)).await.map_err(CallError::told)?)) }),
        }
    }
}

impl Service for Next {
    fn call(&self, call: Call) -> Running<Result<Answer, CallError>> {
        self.run(call)
    }
}

impl tower_service::Service<Call> for Next {
    type Response = Answer;
    type Error = CallError;
    type Future = Running<Result<Answer, CallError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.run(call)
    }
}

impl ServerBuilder {
    /// Puts a layer around every call. The first that is added is the outermost; layers of single kinds
    /// ([`layer_for`](Self::layer_for)) stand among them, those of single elements ([`ToolEntry::layer`]) inside of all.
    ///
    /// A call is what asks for a tool, a resource, a prompt, a completion, a list or a method of your own. What only keeps a
    /// conversation going is none: the handshake, pings, subscriptions, the level of the log.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::layer_fn;
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
    pub fn layer<L: Layer<Next>>(mut self, layer: L) -> Self
    where
        L::Service: Service,
    {
        self.layers.push(None, layer.layer(Next(())));
        self
    }

    /// Puts a layer around the calls of one kind.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{Kind, layer_fn};
    ///
    /// let slow = layer_fn(|call, next| async move {
    ///     tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    ///     next.run(call).await
    /// });
    /// let server = Server::new("app", "1.0.0").layer_for(Kind::Completion, slow).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn layer_for<L: Layer<Next>>(mut self, kind: Kind, layer: L) -> Self
    where
        L::Service: Service,
    {
        self.layers.push(Some(kind), layer.layer(Next(())));
        self
    }
}

macro_rules! elements {
    ($($(#[$doc:meta])* $entry:ident, $kind:ident;)*) => {$(
        impl $entry {
            $(#[$doc])*
            pub fn layer<L: Layer<Next>>(mut self, layer: L) -> Self
            where
                L::Service: Service,
            {
                self.layers.push(Some(Kind::$kind), layer.layer(Next(())));
                self
            }
        }
    )*};
}
elements! {
    /// Puts a layer around the calls of this tool, inside of those of the server. The first that is added is the outermost.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::tower;
    /// use ::tower::limit::ConcurrencyLimitLayer;
    ///
    /// // One at a time.
    /// let print = ToolEntry::from_fn("print", || async { "printed" }).layer(tower(ConcurrencyLimitLayer::new(1)));
    /// let server = Server::new("printer", "1.0.0").tool(print).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    ToolEntry, Tool;
    /// Puts a layer around the reading of this resource, inside of those of the server, when a peer reads it. The first that
    /// is added is the outermost.
    ResourceEntry, Resource;
    /// Puts a layer around the filling in of this prompt, inside of those of the server. The first that is added is the
    /// outermost.
    PromptEntry, Prompt;
}

/// Sends a call through its layers to its handler.
pub(super) async fn through(call: Call) -> Result<Answered, Trouble> {
    let (server, facts, arrival) = (call.server.clone(), call.facts.clone(), call.arrival.for_hooks());
    let method = call.request.method();
    let cause = match catch(|| Next(()).run(call)).await {
        Ok(Ok(Answer(answered))) if Kind::is_answered_by(&method, &answered.outcome) => return Ok(answered),
        Ok(Ok(_)) => format!("a layer answered {} with a result of another kind", method.name()).into(),
        Ok(Err(error)) => match error.into_trouble() {
            Ok(trouble) => return Err(trouble),
            Err(cause) => cause,
        },
        Err(panic) => panic.into(),
    };
    let (_, ending) = Scope::begin(server.clone(), facts, arrival);
    let subject = Subject { method: method.name(), kind: "layer around", name: method.name() };
    Err(server.failed(ending.round(), subject, Face::Hidden(cause)).await)
}
