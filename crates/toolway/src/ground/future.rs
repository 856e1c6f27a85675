//! The type of the futures that trait methods return.

use std::pin::Pin;

/// A boxed future that can be sent between threads. Dropping it cancels its work.
///
/// The methods of [`Transport`](crate::client::Transport), [`Connector`](crate::client::Connector),
/// [`HttpClient`](crate::client::HttpClient), [`AgentTool`](crate::agent::AgentTool) and [`Store`](crate::store::Store)
/// return a `BoxFuture`, so that these traits can be used as trait objects. `Box::pin(async { … })` creates one.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
