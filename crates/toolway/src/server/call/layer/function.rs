//! How does a closure become a layer?

use std::fmt;
use std::sync::Arc;

use crate::ground::future::BoxFuture;
use crate::server::call::layer::call::Call;
use crate::server::call::layer::reply::{CallError, CallReply};
use crate::server::call::layer::service::{Next, Service};

/// Makes a layer from an async function or a closure that takes the call and the next service.
///
/// ```
/// use std::time::Instant;
/// use toolway::prelude::*;
/// use toolway::server::layer::layer_fn;
///
/// let timed = layer_fn(|call, next| async move {
///     let (method, begun) = (call.method(), Instant::now());
///     let answer = next.run(call).await;
///     eprintln!("{method} took {:?}", begun.elapsed());
///     answer
/// });
/// let server = Server::new("app", "1.0.0").layer(timed).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
pub fn layer_fn<F, Fut>(function: F) -> FnLayer<F>
where
    F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<CallReply, CallError>> + Send + 'static,
{
    FnLayer(Arc::new(function))
}

/// A closure as a layer. Made by [`layer_fn`].
pub struct FnLayer<F>(Arc<F>);

impl<F> Clone for FnLayer<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F> FnLayer<F> {
    pub(crate) fn wrap(&self, next: Next) -> FnService<F> {
        FnService { function: self.0.clone(), next }
    }
}

/// A closure and the next service.
pub struct FnService<F> {
    function: Arc<F>,
    next: Next,
}

impl<F, Fut> Service for FnService<F>
where
    F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<CallReply, CallError>> + Send + 'static,
{
    fn call(&self, call: Call) -> BoxFuture<'static, Result<CallReply, CallError>> {
        Box::pin((self.function)(call, self.next.clone()))
    }
}

impl<F> fmt::Debug for FnLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a layer")
    }
}

impl<F> fmt::Debug for FnService<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a service")
    }
}
