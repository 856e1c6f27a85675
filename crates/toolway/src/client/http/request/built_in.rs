//! How does the built-in client send HTTP requests?

use std::error::Error as StdError;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{Request, Response, Uri};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::{Connect, HttpConnector, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use tower_service::Service;

use crate::client::http::request::client::{BoxError, HttpBody, HttpClient};
use crate::client::http::request::observed_connection::{ObservedConnection, connection_ended};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// The maximum length in bytes of the head of a reply: its status and all headers.
const MAX_HEAD: usize = 64 << 10;

/// The maximum number of headers of a reply.
const MAX_HEADERS: usize = 100;

/// The maximum number of idle connections to one host that are kept.
const MAX_IDLE: usize = 32;

/// How long an idle connection is kept. Servers close idle connections, those on Node.js and uvicorn after five seconds. A
/// shorter time avoids sending a request at the moment when the server closes the connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// The interval of TCP keep-alive probes on a silent connection.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The number of unanswered keep-alive probes after which a connection counts as dead.
const MAX_UNANSWERED: u32 = 3;

/// How long a request waits for a reply before it checks whether its connection still exists.
const CONNECTION_CHECK_DELAY: Duration = Duration::from_secs(1);

/// The setting of whether connections are kept for later requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionReuse {
    Allowed,
    Never,
}

/// The built-in HTTP client.
pub(crate) struct BuiltInClient<C> {
    client: HyperClient<TimedConnector<C>, Full<Bytes>>,
    connect_timeout: Duration,
    advice: Advice,
}

/// A function that explains how to fix the cause of a failed connection, if it knows the cause.
pub(crate) type Advice = fn(&(dyn StdError + 'static)) -> Option<String>;

/// Makes a connector for TCP, which TLS may use.
pub(crate) fn connector() -> HttpConnector {
    with_keep_alive(HttpConnector::new())
}

/// Sets what every connection has.
pub(crate) fn with_keep_alive<R>(mut connector: HttpConnector<R>) -> HttpConnector<R> {
    connector.enforce_http(false);
    connector.set_nodelay(true);
    // A stream may be silent for hours. Keep-alive probes detect that the server is gone.
    connector.set_keepalive(Some(KEEP_ALIVE));
    connector.set_keepalive_interval(Some(KEEP_ALIVE));
    connector.set_keepalive_retries(Some(MAX_UNANSWERED));
    connector
}

impl<C> BuiltInClient<C>
where
    TimedConnector<C>: Connect + Clone,
{
    pub(crate) fn new(
        connector: C,
        connect_timeout: Duration,
        reuse: ConnectionReuse,
        advice: Advice,
    ) -> Self {
        let max_idle = match reuse {
            ConnectionReuse::Allowed => MAX_IDLE,
            ConnectionReuse::Never => 0,
        };
        let client = HyperClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(max_idle)
            .http1_max_buf_size(MAX_HEAD)
            .http1_max_headers(MAX_HEADERS)
            .build(TimedConnector { connector, limit: connect_timeout });
        Self { client, connect_timeout, advice }
    }
}

impl<C> HttpClient for BuiltInClient<C>
where
    TimedConnector<C>: Connect + Clone + Send + Sync + 'static,
    C: Send + Sync + 'static,
{
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<HttpBody>>> {
        Box::pin(async {
            let mut request = request.map(Full::new);
            let connection = capture_connection(&mut request);
            let mut sending = std::pin::pin!(self.client.request(request));
            let sent = match timeout(CONNECTION_CHECK_DELAY, &mut sending).await {
                Ok(sent) => sent,
                Err(_) => tokio::select! {
                    biased;
                    sent = &mut sending => sent,
                    // Hyper may open another connection for the request, which takes up to the connect timeout.
                    () = connection_ended(connection, self.connect_timeout + CONNECTION_CHECK_DELAY) => {
                        let message = "the connection ended before the request was sent";
                        return Err(Error::new(ErrorKind::Transport, message).unsent());
                    }
                },
            };
            let response = sent.map_err(|error| {
                if !error.is_connect() {
                    return Error::new(ErrorKind::Transport, "the connection failed")
                        .reply_lost()
                        .caused_by(error);
                }
                let what =
                    (self.advice)(&error).unwrap_or_else(|| "the connection could not be opened".to_owned());
                Error::new(ErrorKind::Transport, what).unsent().caused_by(error)
            })?;
            Ok(response.map(HttpBody::new))
        })
    }
}

/// Applies a time limit to connecting as a whole: name lookup, TCP and TLS.
#[derive(Clone)]
pub(crate) struct TimedConnector<C> {
    connector: C,
    limit: Duration,
}

impl<C> Service<Uri> for TimedConnector<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static>,
{
    type Response = ObservedConnection<C::Response>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let limit = self.limit;
        let connecting = self.connector.call(uri);
        Box::pin(async move {
            match timeout(limit, connecting).await {
                Ok(connected) => connected.map(ObservedConnection::new).map_err(Into::into),
                Err(_) => Err(format!("no connection was established within {limit:?}").into()),
            }
        })
    }
}
