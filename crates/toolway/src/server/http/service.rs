//! How is the door described, and what does it keep while it is open?

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::request::Parts;
use ::http::{Request, Response, StatusCode};
use http_body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolway_protocol::RpcError;

use super::handshake::{Pipes, Sessions};
use super::limits::Limits;
use super::{BoxError, Hosts, HttpBody, Origins, guard, refused};
use crate::ground::error::Result;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::failure::errors::busy;

impl Server {
    /// This server as a tower service, to mount at any path of a web application, or to
    /// [`serve`](HttpService::serve) on a socket of its own.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # let server = Server::new("app", "1.0.0").build()?;
    /// let service = server.http().hosts(["app.example"]).origins(["https://app.example"]);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn http(&self) -> HttpService {
        HttpService {
            settings: Arc::new(Settings {
                server: self.clone(),
                hosts: Hosts::default(),
                origins: Origins::default(),
                limits: Limits::new(self.max_message(), self.inner.places_of_one),
                is_sessionless: false,
                has_legacy_sse: false,
                state: OnceLock::new(),
            }),
        }
    }
}

impl ServerBuilder {
    /// Builds the server and makes it a tower service: see [`Server::http`].
    pub fn http(self) -> Result<HttpService> {
        Ok(self.build()?.http())
    }
}

/// A server that answers HTTP requests.
///
/// By default it answers only requests that come to this machine by a loopback name (`localhost`,
/// `127.0.0.1`, `[::1]`) and, if a browser sends them, from a page of such a name: any web page can make a
/// browser send requests to servers on the user's machine, and this is what stops them.
///
/// Clones are the same door: they share its sessions and its limits.
#[derive(Clone)]
pub struct HttpService {
    pub(super) settings: Arc<Settings>,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) server: Server,
    pub(super) hosts: Hosts,
    pub(super) origins: Origins,
    pub(super) limits: Limits,
    pub(super) is_sessionless: bool,
    pub(super) has_legacy_sse: bool,
    state: OnceLock<Arc<State>>,
}

/// What is kept while the door is open.
pub(super) struct State {
    /// Places for requests that run.
    running: Arc<Semaphore>,
    /// Places for streams of news.
    pub(super) streams: Arc<Semaphore>,
    pub(super) sessions: Sessions,
    pub(super) pipes: Pipes,
    /// Trips when the server is told to stop.
    pub(super) closing: Arc<CancellationToken>,
}

impl State {
    fn new(settings: &Settings) -> Self {
        let Settings { server, limits, .. } = settings;
        Self {
            running: Arc::new(Semaphore::new(limits.in_flight)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            sessions: Sessions::new(server, limits),
            pipes: Pipes::default(),
            closing: Arc::default(),
        }
    }

    /// A place for a request that is about to run.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, RpcError> {
        self.running.clone().try_acquire_owned().map_err(|_| busy("too many requests are running"))
    }
}

impl Settings {
    pub(super) fn state(&self) -> &State {
        self.state.get_or_init(|| Arc::new(State::new(self)))
    }

    /// The one place that every request passes, whatever its route and method: what is said to one that may not come in.
    pub(super) fn refusal(&self, parts: &Parts) -> Option<Response<HttpBody>> {
        let refusal = guard::check(parts, &self.hosts, &self.origins).err()?;
        Some(refused(StatusCode::FORBIDDEN, &RpcError::invalid_request(refusal)))
    }
}

impl HttpService {
    /// The names by which the server may be reached, besides the loopback names.
    pub fn hosts(mut self, hosts: impl Into<Hosts>) -> Self {
        self.edit().hosts = hosts.into();
        self
    }

    /// The origins of web pages that may talk to the server, besides those of loopback names.
    pub fn origins(mut self, origins: impl Into<Origins>) -> Self {
        self.edit().origins = origins.into();
        self
    }

    /// Whether the `Origin` of a request is looked at. Off means [`Origins::Any`].
    pub fn validate_origin(self, is_on: bool) -> Self {
        if is_on { self } else { self.origins(Origins::Any) }
    }

    /// Whether the `Host` of a request is looked at. Off means [`Hosts::Any`].
    pub fn validate_host(self, is_on: bool) -> Self {
        if is_on { self } else { self.hosts(Hosts::Any) }
    }

    /// The longest body that is accepted, in bytes.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.edit().limits.body = bytes;
        self
    }

    /// How long the head of a request may take to come, and how long a connection may be idle between two requests. Only
    /// for [`serve`](Self::serve); an application that mounts the service has its own.
    pub fn head_timeout(mut self, time: Duration) -> Self {
        self.edit().limits.head_timeout = time;
        self
    }

    /// How long the body of a request may take to come.
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.edit().limits.body_timeout = time;
        self
    }

    /// How many headers a request may have, and how long its head may be in bytes (at least 8 KiB). Only for
    /// [`serve`](Self::serve).
    pub fn max_head(mut self, headers: usize, bytes: usize) -> Self {
        let limits = &mut self.edit().limits;
        (limits.headers, limits.head) = (headers, bytes.max(8 << 10));
        self
    }

    /// How many connections may be open; more wait until others have gone. Only for [`serve`](Self::serve).
    pub fn max_connections(mut self, number: usize) -> Self {
        self.edit().limits.connections = number.min(Semaphore::MAX_PERMITS);
        self
    }

    /// How many requests, streams of news among them, may be open at the same time on one connection of HTTP/2; more are
    /// refused, and the client may send them again. Only for [`serve`](Self::serve) with the feature `h2c`: on HTTP/1.1 a
    /// connection has one.
    pub fn max_h2_streams(mut self, number: usize) -> Self {
        self.edit().limits.h2_streams = number.max(1);
        self
    }

    /// How many requests may run at the same time.
    pub fn max_in_flight(mut self, number: usize) -> Self {
        self.edit().limits.in_flight = number.min(Semaphore::MAX_PERMITS);
        self
    }

    /// How many streams of news may be open at the same time.
    pub fn max_streams(mut self, number: usize) -> Self {
        self.edit().limits.streams = number.min(Semaphore::MAX_PERMITS);
        self
    }

    /// How many sessions may be open: in total, and by one peer. A peer is a principal, or an address if there are no
    /// principals.
    pub fn max_sessions(mut self, total: usize, by_one_peer: usize) -> Self {
        let limits = &mut self.edit().limits;
        (limits.sessions, limits.sessions_per_peer) = (total, by_one_peer);
        self
    }

    /// How long a session may be silent before it is forgotten. One with an open stream or a running request is not
    /// silent.
    pub fn session_idle(mut self, time: Duration) -> Self {
        self.edit().limits.session_idle = time;
        self
    }

    /// How much of a stream is kept for a client that comes back: so many notifications, so many bytes of them, for so
    /// long after the stream was last used. What answers a request is kept in any case.
    pub fn kept_events(mut self, number: usize, bytes: usize, time: Duration) -> Self {
        let limits = &mut self.edit().limits;
        (limits.kept_events, limits.kept_bytes, limits.kept_for) = (number, bytes, time);
        self
    }

    /// How long a client is to wait before it comes back to a stream that broke off; a second unless said otherwise. Told
    /// at the beginning of every stream, in the revision that has such a beginning (2025-11-25). A handler that lets its
    /// connection go with [`Ctx::release_stream`](crate::Ctx::release_stream) says it for itself.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # use std::time::Duration;
    /// # let server = Server::new("app", "1.0.0").build()?;
    /// let service = server.http().retry(Duration::from_millis(200));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn retry(mut self, time: Duration) -> Self {
        self.edit().limits.retry = time;
        self
    }

    /// How long running requests may take once the server is told to stop.
    pub fn grace(mut self, time: Duration) -> Self {
        self.edit().limits.grace = time;
        self
    }

    /// Gives clients of the handshake era no sessions: each of their requests stands alone, and any server behind a load
    /// balancer can answer it. What needs a memory is then not offered: log levels, subscriptions, news of changes, streams
    /// that can be come back to.
    pub fn sessionless(mut self) -> Self {
        self.edit().is_sessionless = true;
        self
    }

    /// Serves the two-URL transport of 2024-11-05 as well, for clients that know nothing newer: they open a stream with
    /// GET and are told on it where to POST. Deprecated by the protocol.
    pub fn legacy_sse(mut self) -> Self {
        self.edit().has_legacy_sse = true;
        self
    }

    fn edit(&mut self) -> &mut Settings {
        let settings = Arc::make_mut(&mut self.settings);
        // Another description is another door.
        settings.state = OnceLock::new();
        settings
    }

    /// Lets running requests finish, for as long as [`grace`](Self::grace) says, and then ends them. Streams of news end at
    /// once, so that a web application with open ones can stop; new requests are answered with 503.
    pub async fn stop(&self) {
        let settings = &*self.settings;
        let state = settings.state();
        state.closing.cancel();
        let all = u32::try_from(settings.limits.in_flight).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(settings.limits.grace, state.running.acquire_many(all)).await;
        state.sessions.stop();
        settings.server.hooks_done().await;
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { server, hosts, origins, limits, .. } = &*self.settings;
        f.debug_struct("HttpService")
            .field("server", server)
            .field("hosts", hosts)
            .field("origins", origins)
            .field("limits", limits)
            .finish_non_exhaustive()
    }
}
