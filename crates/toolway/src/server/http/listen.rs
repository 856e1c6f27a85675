//! How is the service bound to a socket, and how does it shut down?

use std::convert::Infallible;
use std::fmt;
use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CONNECTION, HeaderValue};
use ::http::{Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs, lookup_host};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use toolway_protocol::RpcError;

use super::endpoint::body::ResponseBody;
use super::endpoint::reply::error_reply_without_id;
use super::endpoint::request::SocketPeer;
use super::health::{HEALTH, READY};
use super::service::HttpService;
use super::signal::{ShutdownSignal, Signals};
use super::{protocol, socket};
use crate::ground::budget::Resource;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::operator::print_without_subscriber;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::build::transports::OVER_HTTP;

/// The path of the MCP endpoint, when the server has its own socket.
const PATH: &str = "/mcp";

/// The reply to a connection beyond the limit of its address.
const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

impl ServerBuilder {
    /// Builds the server and serves it over HTTP: see [`Server::serve_http`].
    pub async fn serve_http(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<()> {
        self.build()?.serve_http(address).await
    }
}

impl Server {
    /// Serves over HTTP at `http://ADDRESS/mcp` until the process receives Ctrl-C or SIGTERM. Running requests may then
    /// finish, for up to ten seconds; a second signal stops the server immediately. See
    /// [`HttpService::serve_until_signal`](crate::server::http::HttpService::serve_until_signal). `http://ADDRESS/health` and
    /// `http://ADDRESS/ready` are [health checks](crate::server::http::HttpService::health).
    ///
    /// One line in the log gives the URL and the number of tools. Without a `tracing` subscriber the line goes to
    /// stderr.
    ///
    /// To configure host names, limits, an existing socket or another shutdown signal, see [`http`](Self::http).
    ///
    /// # Errors
    ///
    /// If the address cannot be bound; the error names the address, the reason and a remedy. Also if a handler takes a
    /// [`Principal`](crate::server::Principal) or an [`Extension`](crate::server::Extension) that calls over HTTP never
    /// get.
    pub async fn serve_http(&self, address: impl ToSocketAddrs + fmt::Debug) -> Result<()> {
        self.check_transport(OVER_HTTP)?;
        let listener = bind(address).await?;
        if let Ok(address) = listener.local_addr() {
            print_without_subscriber(format_args!("{}", self.startup_message(address)));
        }
        self.http().serve_until_signal(listener).await
    }

    /// Returns the log line with the URL of the server and the number of its tools.
    fn startup_message(&self, address: SocketAddr) -> String {
        let name = &self.info().name;
        let tools = match self.inner.registry.load().elements.tools.len() {
            1 => "1 tool".to_owned(),
            number => format!("{number} tools"),
        };
        // The tools of mounted servers become known later, and may change.
        let more = if self.has_sources() { " and those of mounted servers" } else { "" };
        format!("serving {name} at http://{address}{PATH} with {tools}{more}")
    }
}

/// Binds the first usable address that `named` resolves to.
async fn bind(named: impl ToSocketAddrs + fmt::Debug) -> Result<TcpListener> {
    let name = format!("{named:?}");
    let found: Vec<_> = match lookup_host(named).await {
        Ok(found) => found.collect(),
        Err(error) => return Err(address_error(&name, &error.to_string())),
    };
    let mut failure = address_error(&name, "the name has no address");
    // If every address fails, the error of the last one is returned, as tokio does.
    for address in found {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = bind_error(address, error),
        }
    }
    Err(failure)
}

fn address_error(name: &str, why: &str) -> Error {
    let text = format!("cannot serve at {name}: {why}; write HOST:PORT, such as 127.0.0.1:8000");
    Error::new(ErrorKind::Transport, text)
}

fn bind_error(address: SocketAddr, error: std::io::Error) -> Error {
    let why = match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program listens there: stop it, or choose another port",
        std::io::ErrorKind::AddrNotAvailable => {
            "this machine does not have that address: choose 127.0.0.1, or 0.0.0.0 for all its addresses"
        }
        std::io::ErrorKind::PermissionDenied => "the system does not allow it: choose a port above 1023",
        _ => "the system refused to bind it",
    };
    let text = format!("cannot serve at {address}: {why}");
    Error::new(ErrorKind::Transport, text).caused_by(error)
}

impl HttpService {
    /// Serves at `/mcp` on a socket that is already bound.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes every connection.
    pub async fn serve(self, listener: TcpListener) -> Result<()> {
        self.serve_until(listener, std::future::pending()).await
    }

    /// Serves at `/mcp` on a socket that is already bound, until the process receives a signal. Ctrl-C and SIGTERM shut
    /// the server down, as [`serve_until`](Self::serve_until) does; SIGTERM first
    /// [announces the stop](Self::announce_stop). A second signal stops the server immediately.
    ///
    /// ```no_run
    /// use toolway::prelude::*;
    ///
    /// # async fn doc() -> Result<(), Box<dyn std::error::Error>> {
    /// let service = Server::new("app", "1.0.0").http()?.hosts(["app.example"]);
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    /// service.serve_until_signal(listener).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn serve_until_signal(self, listener: TcpListener) -> Result<()> {
        let mut signals = Signals::new();
        let (tell, told) = oneshot::channel();
        let service = self.clone();
        let told = async {
            if told.await == Ok(ShutdownSignal::Terminate) {
                service.announce_stop().await;
            }
        };
        // One task waits for both signals, so that the second is not taken for the first.
        let second_signal = async {
            let _ = tell.send(signals.next().await);
            signals.next().await;
        };
        tokio::select! {
            outcome = self.serve_until(listener, told) => outcome,
            () = second_signal => Ok(()),
        }
    }

    /// Serves at `/mcp` on a socket that is already bound, until the future `told` completes. Then the server accepts
    /// no more connections, ends notification streams, and lets running requests finish for up to
    /// [`grace`](Self::grace).
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::new("app", "1.0.0").build()?;
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// let (stop, told) = tokio::sync::oneshot::channel::<()>();
    /// let serving = tokio::spawn(server.http().serve_until(listener, async { drop(told.await) }));
    /// drop(stop);
    /// serving.await??;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn serve_until(self, listener: TcpListener, told: impl Future<Output = ()>) -> Result<()> {
        if let Ok(address) = listener.local_addr() {
            tracing::info!("{}", self.endpoint().server.startup_message(address));
        }
        let mut connections = JoinSet::new();
        let places = Arc::new(Semaphore::new(self.endpoint().limits.connections));
        tokio::pin!(told);
        loop {
            tokio::select! {
                biased;
                () = &mut told => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                // `place` is always `Some`, because the semaphore is never closed.
                (place, accepted) = accept(&listener, &places) => match accepted {
                    Ok((socket, remote)) => self.start_connection(&mut connections, socket, remote, place),
                    // The process has no file descriptors left, or the client disconnected before it was accepted.
                    // Neither is a reason to stop the server.
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        drop(listener);
        self.end(connections).await;
        Ok(())
    }

    /// Waits for running requests, then ends what still runs. Boxed like the connections, so that its code exists once.
    fn end(&self, mut connections: JoinSet<()>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let all = async { while connections.join_next().await.is_some() {} };
            // `stop` also waits for requests whose client has disconnected.
            let both = async { tokio::join!(self.stop(), all) };
            let _ = tokio::time::timeout(self.endpoint().limits.grace, both).await;
            self.inner.handshake.stop();
            connections.shutdown().await;
            self.wait_for_hooks().await;
        })
    }

    /// Starts the task of a connection. An ordinary function, because the future of a connection contains all of the
    /// server: a generic one would be compiled again with every program that calls it.
    fn start_connection(
        &self,
        connections: &mut JoinSet<()>,
        socket: TcpStream,
        remote: SocketAddr,
        place: ConnectionPermit,
    ) {
        let service = self.clone();
        connections.spawn(async move {
            service.serve_socket(socket, remote).await;
            drop(place);
        });
    }

    pub(super) async fn serve_socket(&self, socket: TcpStream, remote: SocketAddr) {
        let endpoint = self.endpoint();
        // A proxy has the connections of many clients.
        let account = if endpoint.trusted_proxies.contains(remote.ip()) {
            endpoint.server.common_account()
        } else {
            endpoint.account_at(remote.ip())
        };
        let budget = endpoint.limits.connection_budget();
        let Ok(_charge) = account.charge_within(budget, Resource::Connections, 1) else {
            // A client of HTTP/1.1 learns the reason, if it can be written at once.
            let _ = socket.try_write(TOO_MANY_CONNECTIONS);
            return;
        };
        socket::prepare(&socket);
        let outcome = protocol::serve_connection(self, socket, SocketPeer { remote, account }).await;
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    /// Answers one request on the server's own socket. Boxed, so that an idle connection does not keep the memory of the
    /// future, which is freed with the response.
    pub(super) fn route<'r>(
        &'r self,
        mut request: Request<Incoming>,
        peer: &SocketPeer,
    ) -> BoxFuture<'r, Result<Response<ResponseBody>, Infallible>> {
        let version = request.version();
        // hyper enforces this limit for HTTP/1.1. For HTTP/2 it limits only the bytes of the headers.
        if request.headers().len() > self.endpoint().limits.headers {
            let error = RpcError::invalid_request("the request has too many headers");
            return reply_with(error_reply_without_id(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &error));
        }
        match request.uri().path() {
            PATH => {
                request.extensions_mut().insert(peer.clone());
                let (head, body) = self.read_head(request);
                Box::pin(async move { Ok(self.close_if_stopping(version, self.answer(head, body).await)) })
            }
            HEALTH | READY => Box::pin(async move {
                let response = self.health().answer(request.method(), request.uri().path()).await;
                Ok(self.close_if_stopping(version, response))
            }),
            path => {
                let response = self.metadata_reply(request.method(), path).unwrap_or_else(|| {
                    let (parts, _) = request.into_parts();
                    self.endpoint().refusal(&parts).unwrap_or_else(nothing_here)
                });
                reply_with(self.close_if_stopping(version, response))
            }
        }
    }

    /// Has the connection closed after this reply, before the client can use it for another request, if the server is about
    /// to stop. HTTP/2 has another way, which `h2c.rs` uses.
    fn close_if_stopping(
        &self,
        version: Version,
        mut response: Response<ResponseBody>,
    ) -> Response<ResponseBody> {
        if version < Version::HTTP_2 && self.endpoint().is_stopping() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

fn reply_with<'r>(
    response: Response<ResponseBody>,
) -> BoxFuture<'r, Result<Response<ResponseBody>, Infallible>> {
    Box::pin(ready(Ok(response)))
}

fn nothing_here() -> Response<ResponseBody> {
    let error = RpcError::invalid_request(format!("nothing is here; the endpoint is {PATH}"));
    error_reply_without_id(StatusCode::NOT_FOUND, &error)
}

type ConnectionPermit = Option<tokio::sync::OwnedSemaphorePermit>;

/// Waits for a connection permit, then accepts the next connection.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (ConnectionPermit, std::io::Result<(TcpStream, SocketAddr)>) {
    let place = places.clone().acquire_owned().await.ok();
    (place, listener.accept().await)
}
