//! How is the service put behind a socket?

use std::convert::Infallible;
use std::time::Duration;

use ::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::task::JoinSet;
use toolway_protocol::RpcError;

use super::{HttpBody, HttpService, guard, refused};
use crate::error::{Error, ErrorKind, Result};
use crate::server::{Server, ServerBuilder};

/// Where the server answers, when it has a socket of its own.
const PATH: &str = "/mcp";
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

impl ServerBuilder {
    /// Builds the server and serves it over HTTP: see [`Server::serve_http`].
    pub async fn serve_http(self, address: impl ToSocketAddrs) -> Result<()> {
        self.build()?.serve_http(address).await
    }
}

impl Server {
    /// Serves over HTTP at `http://ADDRESS/mcp`, until the future is dropped.
    pub async fn serve_http(&self, address: impl ToSocketAddrs) -> Result<()> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Error::new(ErrorKind::Transport, "the address cannot be listened on").caused_by(error)
        })?;
        self.http().serve(listener).await
    }
}

impl HttpService {
    /// Serves at `/mcp` on a socket that is already bound.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes every connection.
    pub async fn serve(self, listener: TcpListener) -> Result<()> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((socket, _)) => {
                        // Answers are small and complete; waiting to fill a packet only delays them.
                        let _ = socket.set_nodelay(true);
                        connections.spawn(self.clone().connection(socket));
                    }
                    // Out of descriptors, or a client that left while it waited: neither ends the server.
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }

    async fn connection(self, socket: tokio::net::TcpStream) {
        let service = service_fn(|request| async { Ok::<_, Infallible>(self.route(request).await) });
        let outcome = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(socket), service)
            .await;
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn route(&self, request: Request<Incoming>) -> Response<HttpBody> {
        if request.uri().path() == PATH {
            return self.handle(request).await;
        }
        let (parts, _) = request.into_parts();
        match guard::check(&parts, &self.settings.hosts, &self.settings.origins) {
            Ok(()) => refused(
                StatusCode::NOT_FOUND,
                &RpcError::invalid_request("nothing is here; the endpoint is /mcp"),
            ),
            Err(refusal) => refused(StatusCode::FORBIDDEN, &RpcError::invalid_request(refusal)),
        }
    }
}
