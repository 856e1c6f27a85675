//! Is the server alive, and should it get requests?

use std::convert::Infallible;
use std::fmt;
use std::task::{Context, Poll};

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use ::http::{Method, Request, Response, StatusCode};

use super::endpoint::body::ResponseBody;
use super::endpoint::reply::not_allowed;
use super::service::HttpService;
use crate::ground::future::BoxFuture;

/// The health checks of a server, for load balancers and supervisors: see [`HttpService::health`].
#[derive(Clone)]
pub struct HealthService(HttpService);

impl HttpService {
    /// Returns the health checks as a tower service, for a web application that mounts this service.
    /// [`serve`](Self::serve) and [`serve_http`](crate::Server::serve_http) have them at `/health` and `/ready`.
    ///
    /// A path that ends with `/ready` asks whether the server should get requests: 200, or 503 while the store that it
    /// shares with other servers cannot be reached, after [`announce_stop`](Self::announce_stop), and while the server
    /// shuts down. Any other path asks only whether the server is alive: 200. Neither checks the `Host` or calls
    /// `on_connect`, because load balancers use the address and have no credentials.
    ///
    /// ```
    /// use axum::Router;
    /// use toolway::prelude::*;
    ///
    /// let mcp = Server::new("app", "1.0.0").http()?;
    /// let app: Router = Router::new()
    ///     .route_service("/health", mcp.health())
    ///     .route_service("/ready", mcp.health())
    ///     .nest_service("/mcp", mcp);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn health(&self) -> HealthService {
        HealthService(self.clone())
    }

    async fn readiness(&self) -> (StatusCode, &'static str) {
        if self.endpoint().is_stopping() {
            (StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
        } else if !self.inner.handshake.is_store_reachable().await {
            (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be reached\n")
        } else {
            (StatusCode::OK, "ready\n")
        }
    }
}

impl HealthService {
    pub(super) async fn answer(&self, method: &Method, path: &str) -> Response<ResponseBody> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return not_allowed("GET, HEAD");
        }
        let asks_readiness = path.ends_with(READY);
        let (status, text) = if asks_readiness { self.0.readiness().await } else { (StatusCode::OK, "ok\n") };
        let mut response = Response::new(ResponseBody::whole(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl<B: Send + 'static> tower_service::Service<Request<B>> for HealthService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let health = self.clone();
        Box::pin(async move { Ok(health.answer(request.method(), request.uri().path()).await) })
    }
}

impl fmt::Debug for HealthService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthService").finish_non_exhaustive()
    }
}

/// The path that asks whether the server is alive.
pub(super) const HEALTH: &str = "/health";
/// The path that asks whether the server should get requests.
pub(super) const READY: &str = "/ready";
