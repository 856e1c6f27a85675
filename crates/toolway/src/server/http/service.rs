//! How does a request find its era? And how is the door described?

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{Method as HttpMethod, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::Body;
use tokio::sync::Semaphore;
use toolway_protocol::era::{Claim, Door, classify_in};
use toolway_protocol::jsonrpc::{Incoming, Rejected, parse};

use super::door::body::HttpBody;
use super::door::endpoint::{BoxError, Endpoint, headers, mirrored_headers};
use super::door::guard::{Hosts, Origins};
use super::door::reply::{failed, request_id};
use super::handshake::visit::{Handshake, Visit, session_id};
use super::handshake::{batch, requests};
use super::seen::Seen;
use super::stateless;
use crate::ground::error::Result;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::call::scope::Arrival;
use crate::server::observe::hooks::{Disconnected, Parting};

/// How long a server that stops waits for the hooks that still run.
const PATIENCE: Duration = Duration::from_secs(5);

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
            inner: Arc::new(Inner { endpoint: Endpoint::new(self), handshake: Handshake::new(self) }),
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
    pub(super) inner: Arc<Inner>,
}

#[derive(Clone)]
pub(super) struct Inner {
    endpoint: Endpoint,
    pub(super) handshake: Handshake,
}

impl HttpService {
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// Answers one request, in the task of the caller.
    ///
    /// A web application that has values for the handlers of this request puts an
    /// [`Extensions`](crate::Extensions) into the extensions of the request; handlers get them as
    /// [`Extension<T>`](crate::Extension).
    pub async fn handle<B>(&self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let seen = Seen::begin(request.method());
        let response = self.answer(request).await;
        if let Some(seen) = seen {
            seen.end(&response);
        }
        response
    }

    async fn answer<B>(&self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let Inner { endpoint, handshake: era } = &*self.inner;
        let (parts, body) = request.into_parts();
        if let Some(refusal) = endpoint.refusal(&parts) {
            return refusal;
        }
        let pipe = era.pipe_named(&parts);
        let method = parts.method.clone();
        let arrival = match endpoint.admit(parts, session_id).await {
            Ok(arrival) => arrival,
            Err(refusal) => return refusal,
        };
        // Told when the reply is over, or when this future is dropped before there is one.
        let parting = endpoint.server.hears_disconnect().then(|| {
            let disconnected = Disconnected::new(Some(&method));
            Box::new(Parting::new(&endpoint.server, arrival.clone(), Some(disconnected)))
        });
        let response = match method {
            HttpMethod::POST => match endpoint.read(headers(&arrival), body).await {
                Ok(frame) => self.post(arrival, pipe, frame).await,
                Err(refusal) => refusal,
            },
            // Boxed, as are the rarer ways below: what is not on the way of a call shall not make its future larger.
            method => Box::pin(requests::answer(Visit { endpoint, era, arrival }, &method)).await,
        };
        match parting {
            Some(parting) => response.map(|body| body.watched(parting)),
            None => response,
        }
    }

    /// Answers what was posted, in the era that it is of.
    async fn post(&self, arrival: Box<Arrival>, pipe: Option<String>, frame: Bytes) -> Response<HttpBody> {
        let Inner { endpoint, handshake: era } = &*self.inner;
        let server = &endpoint.server;
        if let Some(pipe) = pipe {
            return Box::pin(requests::post_to_pipe(Visit { endpoint, era, arrival }, &pipe, &frame)).await;
        }
        let message = match parse(&frame, server.inner.limits) {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(messages)) => {
                return Box::pin(batch::post(Visit { endpoint, era, arrival }, messages)).await;
            }
            Err(Rejected { id, error }) => return failed(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        match classify_in(server.inner.era, &message, Door::Http(&mirrored_headers(&arrival))) {
            Ok(Claim::Stateless(envelope)) => stateless::post(endpoint, arrival, message, envelope).await,
            Ok(Claim::Handshake(version)) => {
                Box::pin(requests::post(Visit { endpoint, era, arrival }, message, version)).await
            }
            Err(error) => failed(StatusCode::BAD_REQUEST, request_id(&message), &error),
        }
    }
}

impl HttpService {
    /// The names by which the server may be reached, besides the loopback names.
    pub fn hosts(mut self, hosts: impl Into<Hosts>) -> Self {
        self.edit().endpoint.hosts = hosts.into();
        self
    }

    /// The origins of web pages that may talk to the server, besides those of loopback names.
    pub fn origins(mut self, origins: impl Into<Origins>) -> Self {
        self.edit().endpoint.origins = origins.into();
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
        self.edit().endpoint.limits.body = bytes;
        self
    }

    /// How long the head of a request may take to come, and how long a connection may be idle between two requests. Only
    /// for [`serve`](Self::serve); an application that mounts the service has its own.
    pub fn head_timeout(mut self, time: Duration) -> Self {
        self.edit().endpoint.limits.head_timeout = time;
        self
    }

    /// How long the body of a request may take to come.
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.edit().endpoint.limits.body_timeout = time;
        self
    }

    /// How many headers a request may have, and how long its head may be in bytes (at least 8 KiB). Only for
    /// [`serve`](Self::serve).
    pub fn max_head(mut self, headers: usize, bytes: usize) -> Self {
        let limits = &mut self.edit().endpoint.limits;
        (limits.headers, limits.head) = (headers, bytes.max(8 << 10));
        self
    }

    /// How many connections may be open; more wait until others have gone. Only for [`serve`](Self::serve).
    pub fn max_connections(mut self, number: usize) -> Self {
        self.edit().endpoint.limits.connections = number.min(Semaphore::MAX_PERMITS);
        self
    }

    /// How many requests, streams of news among them, may be open at the same time on one connection of HTTP/2; more are
    /// refused, and the client may send them again. Only for [`serve`](Self::serve) with the feature `h2c`: on HTTP/1.1 a
    /// connection has one.
    pub fn max_h2_streams(mut self, number: usize) -> Self {
        self.edit().endpoint.limits.h2_streams = number.max(1);
        self
    }

    /// How many requests may run at the same time.
    pub fn max_in_flight(mut self, number: usize) -> Self {
        self.edit().endpoint.limits.in_flight = number.min(Semaphore::MAX_PERMITS);
        self
    }

    /// How many streams of news may be open at the same time.
    pub fn max_streams(mut self, number: usize) -> Self {
        self.edit().endpoint.limits.streams = number.min(Semaphore::MAX_PERMITS);
        self
    }

    /// How many sessions may be open: in total, and by one peer. A peer is a principal, or an address if there are no
    /// principals.
    pub fn max_sessions(mut self, total: usize, by_one_peer: usize) -> Self {
        let limits = &mut self.edit().handshake.limits;
        (limits.sessions, limits.sessions_per_peer) = (total, by_one_peer);
        self
    }

    /// How long a session may be silent before it is forgotten. One with an open stream or a running request is not
    /// silent.
    pub fn session_idle(mut self, time: Duration) -> Self {
        self.edit().handshake.limits.session_idle = time;
        self
    }

    /// How much of a stream is kept for a client that comes back: so many notifications, so many bytes of them, for so
    /// long after the stream was last used. What answers a request is kept in any case.
    pub fn kept_events(mut self, number: usize, bytes: usize, time: Duration) -> Self {
        let limits = &mut self.edit().handshake.limits;
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
        self.edit().handshake.limits.retry = time;
        self
    }

    /// How long running requests may take once the server is told to stop.
    pub fn grace(mut self, time: Duration) -> Self {
        self.edit().endpoint.limits.grace = time;
        self
    }

    /// Gives clients of the handshake era no sessions: each of their requests stands alone, and any server behind a load
    /// balancer can answer it. What needs a memory is then not offered: log levels, subscriptions, news of changes, streams
    /// that can be come back to.
    pub fn sessionless(mut self) -> Self {
        self.edit().handshake.is_sessionless = true;
        self
    }

    /// Serves the two-URL transport of 2024-11-05 as well, for clients that know nothing newer: they open a stream with
    /// GET and are told on it where to POST. Deprecated by the protocol.
    pub fn legacy_sse(mut self) -> Self {
        self.edit().handshake.has_legacy_sse = true;
        self
    }

    /// Waits until no hook runs, a little.
    pub(super) async fn hooks_done(&self) {
        let mut running = self.endpoint().server.inner.hook_tasks.running.subscribe();
        let _ = tokio::time::timeout(PATIENCE, running.wait_for(|running| *running == 0)).await;
    }

    fn edit(&mut self) -> &mut Inner {
        let inner = Arc::make_mut(&mut self.inner);
        inner.endpoint.reset();
        inner.handshake.reset();
        inner
    }

    /// Lets running requests finish, for as long as [`grace`](Self::grace) says, and then ends them. Streams of news end at
    /// once, so that a web application with open ones can stop; new requests are answered with 503.
    pub async fn stop(&self) {
        self.endpoint().close().await;
        self.inner.handshake.stop();
        self.hooks_done().await;
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
        let Endpoint { server, hosts, origins, limits, .. } = self.endpoint();
        f.debug_struct("HttpService")
            .field("server", server)
            .field("hosts", hosts)
            .field("origins", origins)
            .field("limits", limits)
            .field("session_limits", &self.inner.handshake.limits)
            .finish_non_exhaustive()
    }
}
