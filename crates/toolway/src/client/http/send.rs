//! What sends an HTTP request and brings the reply? Ours, unless the application has its own.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{Request, Response, Uri};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::{Connect, HttpConnector, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use tower_service::Service;

use crate::client::http::tls::advice;
use crate::client::http::watched::{Watched, gone};
use crate::error::{Error, ErrorKind, Result};

/// The longest head of a reply: its status and all its headers.
const MAX_HEAD: usize = 64 << 10;

/// How many headers a reply may have.
const MAX_HEADERS: usize = 100;

/// How many connections are kept that nobody uses.
const MAX_IDLE: usize = 32;

/// For how long. Many servers close theirs after half a minute or a minute; a request is not to meet that moment.
const IDLE: Duration = Duration::from_secs(20);

/// How often the other side of a silent connection is asked whether it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// How often it may fail to answer.
const MAX_UNANSWERED: u32 = 3;

/// After how long without a reply a request looks for its connection.
const A_MOMENT: Duration = Duration::from_secs(1);

/// A request that is under way.
pub type Sending<'c> = Pin<Box<dyn Future<Output = Result<Response<HttpBody>>> + Send + 'c>>;

/// Sends HTTP requests: one that is given to [`Http::with_client`](crate::client::Http::with_client) takes the place of the built-in
/// one, for its own ways to connect, its proxies, certificates or measurements.
///
/// It gives back the reply as soon as its head is there, because the body may be a stream that does not end; it neither
/// follows redirects nor unpacks anything, and puts no limit on how long a body may take. Dropping the future gives the
/// request up.
///
/// An error that is [`unsent`](Error::unsent) says that the server has seen nothing of the request, so that it can be sent
/// again; of any other it is taken that the server may have done what it was asked.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use hyper_util::client::legacy::Client as Hyper;
/// use hyper_util::client::legacy::connect::HttpConnector;
/// use hyper_util::rt::TokioExecutor;
/// use toolway::client::{Http, HttpBody, HttpClient, Sending};
/// use toolway::prelude::*;
/// use toolway::{Error, ErrorKind};
///
/// /// Counts what goes out.
/// struct Counting {
///     inner: Hyper<HttpConnector, Full<Bytes>>,
///     sent: AtomicUsize,
/// }
///
/// impl HttpClient for Counting {
///     fn send(&self, request: http::Request<Bytes>) -> Sending<'_> {
///         self.sent.fetch_add(1, Ordering::Relaxed);
///         Box::pin(async move {
///             let response = self.inner.request(request.map(Full::new)).await.map_err(|error| {
///                 let is_unsent = error.is_connect();
///                 let error = Error::new(ErrorKind::Transport, "the request failed").caused_by(error);
///                 if is_unsent { error.unsent() } else { error }
///             })?;
///             Ok(response.map(HttpBody::new))
///         })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let url = format!("http://{}/mcp", listener.local_addr()?);
/// # let server = Server::new("calculator", "1.0.0").build()?;
/// # tokio::spawn(async move { server.http().serve(listener).await });
/// let inner = Hyper::builder(TokioExecutor::new()).build_http();
/// let counting = Counting { inner, sent: AtomicUsize::new(0) };
/// let client = Client::connect_http(Http::new(url).with_client(counting)).await?;
/// client.ping().await?;
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
pub trait HttpClient: Send + Sync + 'static {
    /// Sends a request and waits for the head of the reply.
    fn send(&self, request: Request<Bytes>) -> Sending<'_>;
}

/// One client for several servers.
impl<C: HttpClient + ?Sized> HttpClient for Arc<C> {
    fn send(&self, request: Request<Bytes>) -> Sending<'_> {
        (**self).send(request)
    }
}

/// Whatever a body fails with.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a reply, wherever it comes from.
pub struct HttpBody(UnsyncBoxBody<Bytes, BoxError>);

impl HttpBody {
    /// Takes a body as an HTTP library has it.
    ///
    /// ```
    /// use http_body_util::Full;
    /// use toolway::client::HttpBody;
    ///
    /// let body = HttpBody::new(Full::new(bytes::Bytes::from("{}")));
    /// ```
    pub fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(body.map_err(Into::into).boxed_unsync())
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").finish_non_exhaustive()
    }
}

/// Says if connections are kept for later requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reuse {
    Allowed,
    Never,
}

/// The built-in one: connections are kept and used again, unless that is not wanted.
pub(super) struct BuiltIn<C> {
    client: HyperClient<InTime<C>, Full<Bytes>>,
    connect_timeout: Duration,
}

/// What connects over TCP.
pub(super) fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    // A stream may be silent for hours; whether its server is still there is found out below.
    connector.set_keepalive(Some(KEEP_ALIVE));
    connector.set_keepalive_interval(Some(KEEP_ALIVE));
    connector.set_keepalive_retries(Some(MAX_UNANSWERED));
    connector
}

impl<C> BuiltIn<C>
where
    InTime<C>: Connect + Clone,
{
    pub(super) fn new(connector: C, connect_timeout: Duration, reuse: Reuse) -> Self {
        let max_idle = match reuse {
            Reuse::Allowed => MAX_IDLE,
            Reuse::Never => 0,
        };
        let client = HyperClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(max_idle)
            .http1_max_buf_size(MAX_HEAD)
            .http1_max_headers(MAX_HEADERS)
            .build(InTime { connector, limit: connect_timeout });
        Self { client, connect_timeout }
    }
}

impl<C> HttpClient for BuiltIn<C>
where
    InTime<C>: Connect + Clone + Send + Sync + 'static,
    C: Send + Sync + 'static,
{
    fn send(&self, request: Request<Bytes>) -> Sending<'_> {
        Box::pin(async {
            let mut request = request.map(Full::new);
            let connection = capture_connection(&mut request);
            let mut sending = std::pin::pin!(self.client.request(request));
            let sent = match timeout(A_MOMENT, &mut sending).await {
                Ok(sent) => sent,
                Err(_) => tokio::select! {
                    biased;
                    sent = &mut sending => sent,
                    // Another connection may be under way until then.
                    () = gone(connection, self.connect_timeout + A_MOMENT) => {
                        let message = "the connection ended before the request was sent";
                        return Err(Error::new(ErrorKind::Transport, message).unsent());
                    }
                },
            };
            let response = sent.map_err(|error| {
                if !error.is_connect() {
                    return Error::new(ErrorKind::Transport, "the connection failed")
                        .broken_off()
                        .caused_by(error);
                }
                let what = advice(&error).unwrap_or_else(|| "there is no connection".to_owned());
                Error::new(ErrorKind::Transport, what).unsent().caused_by(error)
            })?;
            Ok(response.map(HttpBody::new))
        })
    }
}

/// Connects within a time, whatever that takes: to find the address, to reach it, to agree upon keys.
#[derive(Clone)]
pub(super) struct InTime<C> {
    connector: C,
    limit: Duration,
}

impl<C> Service<Uri> for InTime<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static>,
{
    type Response = Watched<C::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let limit = self.limit;
        let connecting = self.connector.call(uri);
        Box::pin(async move {
            match timeout(limit, connecting).await {
                Ok(connected) => connected.map(Watched::new).map_err(Into::into),
                Err(_) => Err(format!("nothing answered within {limit:?}").into()),
            }
        })
    }
}
