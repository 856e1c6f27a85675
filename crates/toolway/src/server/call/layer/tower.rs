//! How can a layer of the tower crates wrap a call?

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use tower_layer::Layer;

use crate::ground::future::BoxFuture;
use crate::ground::mistakes::BoxError;
use crate::ground::mutex::Mutex;
use crate::server::call::layer::call::Call;
use crate::server::call::layer::function::{FnLayer, FnService};
use crate::server::call::layer::reply::{CallError, CallReply};
use crate::server::call::layer::service::{self, Next, Service};

/// Makes a layer of tower wrap calls: limits, timeouts, and every other layer that is generic over its request.
///
/// The layer's service is created once, when the layer is added, and cloned for each call, as is usual with tower; so a
/// limit applies to all calls together. A call waits until the service is ready. An error of the layer itself, such as
/// a timeout, is hidden from the client like every unexpected error.
///
/// ```
/// use std::time::Duration;
/// use ::tower::limit::ConcurrencyLimitLayer;
/// use ::tower::timeout::TimeoutLayer;
/// use toolway::prelude::*;
/// use toolway::server::layer::{CallKind, tower};
///
/// let server = Server::new("app", "1.0.0")
///     .layer(tower(TimeoutLayer::new(Duration::from_secs(30))))
///     .layer_for(CallKind::Tool, tower(ConcurrencyLimitLayer::new(8)))
///     .build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
///
/// A service that cannot be cloned, such as that of `RateLimitLayer`, needs a buffer in front of it that all clones
/// share: `tower(ServiceBuilder::new().buffer(64).rate_limit(10, Duration::from_secs(1)))`, with the features `buffer`
/// and `limit` of tower. The buffer runs in a task, so the server must then be built inside a runtime.
pub fn tower<L>(layer: L) -> TowerLayer<L> {
    TowerLayer(layer)
}

#[diagnostic::do_not_recommend]
impl<L: Layer<Next>> service::Layer for L {
    type Service = L::Service;

    fn layer(&self, next: Next) -> Self::Service {
        Layer::layer(self, next)
    }
}

/// A closure is a layer of tower, too, so that it is one of ours by the rule above.
impl<F> Layer<Next> for FnLayer<F> {
    type Service = FnService<F>;

    fn layer(&self, next: Next) -> FnService<F> {
        self.wrap(next)
    }
}

impl tower_service::Service<Call> for Next {
    type Response = CallReply;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<CallReply, CallError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.run(call)
    }
}

/// A layer of tower as a layer of a server. Made by [`tower`].
#[derive(Debug, Clone)]
pub struct TowerLayer<L>(L);

impl<L: Layer<Next>> Layer<Next> for TowerLayer<L> {
    type Service = TowerService<L::Service>;

    fn layer(&self, next: Next) -> Self::Service {
        TowerService(Mutex::new(self.0.layer(next)))
    }
}

/// A service of tower that can be cloned, because [`tower`] clones the service for each call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be cloned for each call",
    label = "this layer needs `.buffer(n)` first",
    note = "with the feature `buffer` of tower: `tower(ServiceBuilder::new().buffer(n).layer(…))`"
)]
pub trait CloneableService: Clone {}

#[diagnostic::do_not_recommend]
impl<S: Clone> CloneableService for S {}

/// A service of tower as a [`Service`].
///
/// The lock is held while the service is cloned, because services of tower need not be `Sync`.
pub struct TowerService<S>(Mutex<S>);

impl<S> Service for TowerService<S>
where
    S: tower_service::Service<Call, Response = CallReply, Error: Into<BoxError>, Future: Send>
        + CloneableService
        + Send
        + 'static,
{
    fn call(&self, call: Call) -> BoxFuture<'static, Result<CallReply, CallError>> {
        let mut service = self.0.lock().clone();
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await.map_err(CallError::hidden)?;
            service.call(call).await.map_err(CallError::hidden)
        })
    }
}

impl<S> fmt::Debug for TowerService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a service")
    }
}
