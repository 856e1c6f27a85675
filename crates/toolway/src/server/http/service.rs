//! Which era answers a request? And how is the HTTP service configured?

use std::convert::Infallible;
use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{Method as HttpMethod, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::Body;
use tokio::sync::Semaphore;
use toolway_protocol::era::{Claim, Delivery, classify_in};
use toolway_protocol::jsonrpc::{ParsedFrame, Rejection, parse};
use toolway_protocol::{Message, Request as ProtocolRequest};

use super::endpoint::body::ResponseBody;
use super::endpoint::client_address::Network;
use super::endpoint::guard::{Hosts, Origins};
use super::endpoint::reply::{UNREAD, error_reply, refusal_reply, request_id, unavailable};
use super::endpoint::request::{Admission, BoxError, Endpoint, mirrored_headers};
use super::events::RequestLogGuard;
use super::handler::{self, HttpHandler};
use super::handshake::context::{AdmittedRequest, HandshakeEndpoint, session_id};
use super::handshake::{batch, requests};
use super::stateless;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::server::observe::hooks::{DisconnectEvent, DisconnectGuard};

/// How long a server that shuts down waits for running hooks.
const HOOK_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

impl Server {
    /// Returns this server as a tower service, to mount at any path of a web application, or to
    /// [`serve`](HttpService::serve) on its own socket.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # let server = Server::new("app", "1.0.0").build()?;
    /// let service = server.http().hosts(["app.example"]).origins(["https://app.example"]);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn http(&self) -> HttpService {
        HttpService {
            inner: Arc::new(Inner {
                endpoint: Endpoint::new(self),
                handshake: HandshakeEndpoint::new(self),
                handler: None,
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
/// By default it accepts only requests whose `Host` is a loopback name (`localhost`, `127.0.0.1`, `[::1]`). If the
/// request has an `Origin` header, as requests from web pages do, its host must be a loopback name too. Any web page
/// can make a browser send requests to servers on the user's machine; these two checks stop such requests.
///
/// Clones share their sessions and limits, until one of them is configured again.
#[derive(Clone)]
pub struct HttpService {
    pub(super) inner: Arc<Inner>,
}

#[derive(Clone)]
pub(super) struct Inner {
    endpoint: Endpoint,
    pub(super) handshake: HandshakeEndpoint,
    /// Answers the requests in place of the server.
    handler: Option<Arc<dyn HttpHandler>>,
}

/// The facts about a request before its body is read.
pub(super) struct RequestHead<'s> {
    log: Option<RequestLogGuard>,
    method: HttpMethod,
    /// The pipe of 2024-11-05 that the request belongs to.
    pipe: Option<String>,
    admission: Admission<'s>,
}

impl HttpService {
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// Answers one request in the task of the caller.
    ///
    /// A web application can pass values to the handlers of this request: it puts an
    /// [`Extensions`](crate::ground::extensions::Extensions) into the extensions of the request, and handlers take the
    /// values as [`Extension<T>`](crate::server::Extension).
    pub async fn handle<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (head, body) = self.read_head(request);
        self.answer(head, body).await
    }

    /// Checks the head of a request as far as possible without waiting. Not part of a future, which would hold the head
    /// until the request is answered.
    pub(super) fn read_head<B>(&self, request: Request<B>) -> (RequestHead<'_>, B) {
        let Inner { endpoint, handshake: era, .. } = &*self.inner;
        let log = RequestLogGuard::begin(request.method());
        let (parts, body) = request.into_parts();
        let method = parts.method.clone();
        let head = match endpoint.refusal(&parts) {
            Some(refusal) => {
                RequestHead { log, method, pipe: None, admission: Admission::Refused(Box::new(refusal)) }
            }
            None => {
                let pipe = era.pipe_query(&parts);
                RequestHead { log, method, pipe, admission: endpoint.admit(parts, session_id) }
            }
        };
        (head, body)
    }

    pub(super) async fn answer<B>(&self, head: RequestHead<'_>, body: B) -> Response<ResponseBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let RequestHead { log, method, pipe, admission } = head;
        let admitted = match admission {
            Admission::Known(arrival) => Ok(arrival),
            Admission::Refused(refusal) => Err(*refusal),
            Admission::Checking(checking) => checking.await,
        };
        let response = match admitted {
            Ok(arrival) => self.answer_admitted(method, pipe, arrival, body).await,
            Err(refusal) => refusal,
        };
        if let Some(log) = log {
            log.end(&response);
        }
        response
    }

    async fn answer_admitted<B>(
        &self,
        method: HttpMethod,
        pipe: Option<String>,
        arrival: Box<Arrival>,
        body: B,
    ) -> Response<ResponseBody>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let Inner { endpoint, handshake: era, handler } = &*self.inner;
        if let Some(handler) = handler {
            // In a box, because requests to servers would carry room for it.
            return Box::pin(handler::answer(endpoint, &**handler, method, arrival, body)).await;
        }
        if method != HttpMethod::POST
            && let Some(refuse) = endpoint.server.refuse_unscoped(&arrival, None::<ProtocolRequest>)
        {
            return refusal_reply(None, &refuse);
        }
        // Runs the `on_disconnect` hooks when the reply has ended, or when this future is dropped before there is a
        // reply.
        let parting = endpoint.server.has_disconnect_hooks().then(|| {
            let disconnected = DisconnectEvent::new(Some(&method));
            Box::new(DisconnectGuard::new(&endpoint.server, arrival.clone(), Some(disconnected)))
        });
        let account = arrival.account.clone();
        let mut response = match method {
            HttpMethod::POST => match endpoint.read_body(&arrival, body).await {
                Ok(frame) => self.post(arrival, pipe, frame).await,
                Err(refusal) => refusal,
            },
            method => {
                let request = AdmittedRequest { endpoint, handshake: era, arrival };
                Box::pin(async move { requests::answer(request, &method).await }).await
            }
        };
        if let Some(account) = &account
            && response.body_mut().charge(account).is_err()
        {
            response = unavailable(None, &busy(UNREAD));
        }
        match parting {
            Some(parting) => response.map(|body| body.with_hooks(parting)),
            None => response,
        }
    }

    /// Answers the body of a POST, in the era of its message. Each branch is boxed on its own.
    fn post(
        &self,
        arrival: Box<Arrival>,
        pipe: Option<String>,
        frame: Bytes,
    ) -> BoxFuture<'_, Response<ResponseBody>> {
        let Inner { endpoint, handshake: era, .. } = &*self.inner;
        let server = &endpoint.server;
        if let Some(pipe) = pipe {
            if let Some(refusal) = self.scope_refusal(&arrival, &parse(&frame, server.inner.limits)) {
                return Box::pin(ready(refusal));
            }
            let request = AdmittedRequest { endpoint, handshake: era, arrival };
            return Box::pin(async move { requests::post_to_pipe(request, &pipe, &frame).await });
        }
        let parsed = parse(&frame, server.inner.limits);
        if let Some(refusal) = self.scope_refusal(&arrival, &parsed) {
            return Box::pin(ready(refusal));
        }
        let message = match parsed {
            Ok(ParsedFrame::One(message)) => message,
            Ok(ParsedFrame::Batch(messages)) => {
                let request = AdmittedRequest { endpoint, handshake: era, arrival };
                return Box::pin(batch::post(request, messages));
            }
            Err(Rejection { id, error }) => {
                return Box::pin(ready(error_reply(StatusCode::BAD_REQUEST, id.as_ref(), &error)));
            }
        };
        match classify_in(server.inner.era, &message, Delivery::Http(&mirrored_headers(&arrival))) {
            Ok(Claim::Stateless(envelope)) => stateless::post(endpoint, arrival, message, envelope),
            Ok(Claim::Handshake(version)) => {
                let request = AdmittedRequest { endpoint, handshake: era, arrival };
                requests::post(request, message, version)
            }
            Err(error) => Box::pin(ready(error_reply(StatusCode::BAD_REQUEST, request_id(&message), &error))),
        }
    }

    /// Refuses a caller that lacks scopes, before anything of its message runs. The scopes of a batch are demanded together.
    fn scope_refusal(
        &self,
        arrival: &Arrival,
        parsed: &Result<ParsedFrame, Rejection>,
    ) -> Option<Response<ResponseBody>> {
        let server = &self.inner.endpoint.server;
        if !server.may_lack_scopes(arrival) {
            return None;
        }
        let request = |message: &Message| match message {
            Message::Request { method, params, .. } => ProtocolRequest::decode(method, params).ok().flatten(),
            Message::Notification { .. } | Message::Response { .. } => None,
        };
        let (id, requests): (_, Vec<_>) = match parsed {
            Ok(ParsedFrame::One(message)) => (request_id(message), request(message).into_iter().collect()),
            Ok(ParsedFrame::Batch(messages)) => {
                (None, messages.iter().flatten().filter_map(request).collect())
            }
            Err(_) => (None, Vec::new()),
        };
        let requests = requests.into_iter().map(|request| server.canonical_request(request));
        Some(refusal_reply(id, &server.refuse_unscoped(arrival, requests)?))
    }
}

impl HttpService {
    /// Creates a service whose requests are answered by `handler`: see [`HttpHandler`].
    pub fn answered_by(handler: impl HttpHandler) -> Self {
        let server = Server::new("proxy", env!("CARGO_PKG_VERSION"))
            .build()
            .expect("a server without elements has no mistakes");
        let mut service = server.http();
        service.edit().handler = Some(Arc::new(handler));
        service
    }

    /// Sets the host names by which the server may be reached, besides the loopback names.
    pub fn hosts(mut self, hosts: impl Into<Hosts>) -> Self {
        self.edit().endpoint.hosts = hosts.into();
        self
    }

    /// Sets the origins of web pages that may call the server, besides loopback origins.
    pub fn origins(mut self, origins: impl Into<Origins>) -> Self {
        self.edit().endpoint.origins = origins.into();
        self
    }

    /// Sets whether the `Origin` of a request is checked. Off means [`Origins::Any`].
    pub fn validate_origin(self, is_on: bool) -> Self {
        if is_on { self } else { self.origins(Origins::Any) }
    }

    /// Sets whether the `Host` of a request is checked. Off means [`Hosts::Any`].
    pub fn validate_host(self, is_on: bool) -> Self {
        if is_on { self } else { self.hosts(Hosts::Any) }
    }

    /// Sets the longest accepted body, in bytes.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.edit().endpoint.limits.body = bytes;
        self
    }

    /// Sets how long the head of a request may take to arrive, and how long a connection may be idle between two
    /// requests. Applies only to [`serve`](Self::serve); a web application that mounts the service has its own
    /// timeouts.
    pub fn head_timeout(mut self, time: Duration) -> Self {
        self.edit().endpoint.limits.head_timeout = time;
        self
    }

    /// Sets how long the body of a request may take to arrive.
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.edit().endpoint.limits.body_timeout = time;
        self
    }

    /// Sets how many headers a request may have, and how long its head may be in bytes (at least 8 KiB). Applies only
    /// to [`serve`](Self::serve).
    pub fn max_head(mut self, headers: usize, bytes: usize) -> Self {
        let limits = &mut self.edit().endpoint.limits;
        (limits.headers, limits.head) = (headers, bytes.max(8 << 10));
        self
    }

    /// Sets how many connections may be open in total, and from one IP address (IPv6: one /64 network). In total,
    /// further connections wait until one closes; from one address, they are closed. Applies only to
    /// [`serve`](Self::serve).
    pub fn max_connections(mut self, total: usize, from_one_address: usize) -> Self {
        let limits = &mut self.edit().endpoint.limits;
        limits.connections = total.min(Semaphore::MAX_PERMITS);
        limits.connections_per_peer = from_one_address;
        self
    }

    /// Sets how many requests, notification streams included, may be open at the same time on one HTTP/2 connection.
    /// Further requests are refused, and the client may retry them. Applies only to [`serve`](Self::serve) with the
    /// feature `h2c`: an HTTP/1.1 connection has one request at a time.
    pub fn max_h2_streams(mut self, number: usize) -> Self {
        self.edit().endpoint.limits.h2_streams = number.max(1);
        self
    }

    /// Sets how many notification streams may be open at the same time in total, and of one peer. A peer is the same as
    /// for [`max_in_flight`](ServerBuilder::max_in_flight).
    pub fn max_streams(mut self, total: usize, of_one_peer: usize) -> Self {
        let limits = &mut self.edit().endpoint.limits;
        (limits.streams, limits.streams_per_peer) = (total, of_one_peer);
        self
    }

    /// Sets the proxies through which clients reach the server. The limits for one peer then apply to the address that
    /// a proxy names in `Forwarded` or `X-Forwarded-For`, and [`ConnectRequest`](crate::server::ConnectRequest) shows
    /// this address. Without this setting, all clients behind a proxy count as one peer, unless they have principals.
    ///
    /// The client is the last address in the header that is not a trusted proxy itself; what a client writes into the
    /// header is before that, and has no effect. Each proxy must append to the header, and must remove the other header
    /// if it does not set it: if the two headers name different clients, neither is believed.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::http::Network;
    ///
    /// let server = Server::new("app", "1.0.0").build()?;
    /// let service = server.http().hosts(["app.example"]).trusted_proxies(["10.0.0.0/8".parse::<Network>()?]);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn trusted_proxies<N: Into<Network>>(mut self, networks: impl IntoIterator<Item = N>) -> Self {
        self.edit().endpoint.trusted_proxies.0 = networks.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how many sessions may be open in total, and for one peer. A peer is a principal, or an IP address if the
    /// caller has no principal. An open stream of the transport of 2024-11-05 counts as a session.
    pub fn max_sessions(mut self, total: usize, by_one_peer: usize) -> Self {
        let limits = &mut self.edit().handshake.limits;
        (limits.sessions, limits.sessions_per_peer) = (total, by_one_peer);
        self
    }

    /// Sets how long a session may be idle before it is removed. A session with an open stream or a running request is
    /// not idle.
    pub fn session_idle(mut self, time: Duration) -> Self {
        self.edit().handshake.limits.session_idle = time;
        self
    }

    /// Sets how much of a stream is kept for a client that reconnects: the number of notifications, their bytes, and
    /// the time since the stream was last used. The response to a request is always kept.
    pub fn kept_events(mut self, number: usize, bytes: usize, time: Duration) -> Self {
        let limits = &mut self.edit().handshake.limits;
        (limits.kept_events, limits.kept_bytes, limits.kept_for) = (number, bytes, time);
        self
    }

    /// Sets how long a client should wait before it resumes a stream that broke off; one second by default. The server
    /// sends this value at the start of every stream, in the revision that supports it (2025-11-25). A handler that
    /// closes its connection with [`Ctx::release_stream`](crate::Ctx::release_stream) sets its own value.
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

    /// Sets how long running requests may take after the server was asked to shut down.
    pub fn grace(mut self, time: Duration) -> Self {
        self.edit().endpoint.limits.grace = time;
        self
    }

    /// Sets how long the server serves on after [`announce_stop`](Self::announce_stop), so that load balancers notice
    /// that it is about to stop. The default is 5 seconds if servers share a [store](ServerBuilder::store), and zero
    /// otherwise, because a server that is alone cannot be replaced. Choose a time in which the load balancer checks
    /// `/ready` at least twice.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # use std::time::Duration;
    /// # let server = Server::new("app", "1.0.0").build()?;
    /// let service = server.http().lame_duck(Duration::from_secs(15));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn lame_duck(mut self, time: Duration) -> Self {
        self.edit().endpoint.limits.lame_duck = time;
        self
    }

    /// Disables sessions for clients of the handshake era: every request stands alone, and any server behind a load
    /// balancer can answer it. Features that need a session are then not offered: log levels, subscriptions, change
    /// notifications and resumable streams.
    pub fn sessionless(mut self) -> Self {
        self.edit().handshake.is_sessionless = true;
        self
    }

    /// Also serves the two-URL transport of 2024-11-05, for clients that support nothing newer. Such a client opens a
    /// stream with GET, and the first event of the stream contains the URL for POSTs. The protocol has deprecated this
    /// transport.
    pub fn legacy_sse(mut self) -> Self {
        self.edit().handshake.has_legacy_sse = true;
        self
    }

    /// Waits until no hook runs, for at most [`HOOK_SHUTDOWN_TIMEOUT`].
    pub(super) async fn wait_for_hooks(&self) {
        let mut running = self.endpoint().server.inner.hook_tasks.running.subscribe();
        let _ = tokio::time::timeout(HOOK_SHUTDOWN_TIMEOUT, running.wait_for(|running| *running == 0)).await;
    }

    fn edit(&mut self) -> &mut Inner {
        let inner = Arc::make_mut(&mut self.inner);
        inner.endpoint.reset();
        inner.handshake.reset();
        inner
    }

    /// Announces that the server is about to stop, and waits for the time of [`lame_duck`](Self::lame_duck). Requests
    /// are served as before, but `/ready` answers 503 ([`health`](Self::health)), and connections to the server's own
    /// socket are closed after their next reply, so that clients and load balancers turn to other servers.
    ///
    /// [`serve_until_signal`](Self::serve_until_signal) does this on SIGTERM. A web application does it before it stops:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolway::Error> {
    /// # use toolway::prelude::*;
    /// let mcp = Server::new("app", "1.0.0").http()?;
    /// // On SIGTERM:
    /// mcp.announce_stop().await;
    /// mcp.stop().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn announce_stop(&self) {
        let endpoint = self.endpoint();
        endpoint.stop_announcement().cancel();
        if !endpoint.limits.lame_duck.is_zero() {
            tracing::info!(time = ?endpoint.limits.lame_duck, "the server is about to stop");
            tokio::time::sleep(endpoint.limits.lame_duck).await;
        }
    }

    /// Shuts down: lets running requests finish for up to [`grace`](Self::grace), then ends them. Notification streams
    /// end immediately, so that a web application with open streams can shut down. New requests get the status 503.
    pub async fn stop(&self) {
        self.endpoint().close().await;
        self.inner.handshake.stop();
        self.wait_for_hooks().await;
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody>;
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
