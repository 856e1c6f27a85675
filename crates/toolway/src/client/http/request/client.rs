//! What must an HTTP client do?

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{HeaderMap, Request, Response};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// Sends HTTP requests. An implementation passed to [`Http::with_client`](crate::client::Http::with_client) replaces
/// the built-in client, for example to use other connections, proxies, certificates or metrics.
///
/// An implementation returns the reply as soon as the head has arrived, because the body may be a stream without an
/// end. It must not follow redirects, decompress bodies, or limit how long a body may take. When its future is dropped,
/// it cancels the request.
///
/// Mark an error as [`unsent`](crate::Error::unsent) only if the server has seen nothing of the request. The request
/// can then be sent again. After any other error, the server may have executed the request.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use hyper_util::client::legacy::Client as Hyper;
/// use hyper_util::client::legacy::connect::HttpConnector;
/// use hyper_util::rt::TokioExecutor;
/// use toolway::client::{Http, HttpBody, HttpClient};
/// use toolway::prelude::*;
/// use toolway::{BoxFuture, Error, ErrorKind, Result};
///
/// /// Counts the requests that are sent.
/// struct Counting {
///     inner: Hyper<HttpConnector, Full<Bytes>>,
///     sent: AtomicUsize,
/// }
///
/// impl HttpClient for Counting {
///     fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<HttpBody>>> {
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
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<HttpBody>>>;

    /// Returns for how long this client has waited for a user so far, such as one who signs in. This time does not count as
    /// time of the requests.
    fn user_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// Adds tokens to the requests to a server, and gets them when the server asks for it.
pub(crate) trait RequestSigner: Send + Sync {
    /// Adds the token to a request, if there is one that can be used for a while. Returns whether there is.
    fn sign(&self, request: &mut Request<Bytes>) -> Result<bool>;

    /// Adds the token to a request, after looking for it and renewing it. Without one, the request stays as it is.
    fn prepare<'a>(&'a self, request: &'a mut Request<Bytes>) -> BoxFuture<'a, Result<()>>;

    /// Takes note of a reply that is not a refusal.
    fn note(&self, request: &Request<Bytes>, headers: &HeaderMap);

    /// Does what a server asks for that has refused a request, and sends the request again.
    fn sign_in<'a>(
        &'a self,
        client: &'a dyn HttpClient,
        request: &'a mut Request<Bytes>,
        refusal: Response<HttpBody>,
    ) -> BoxFuture<'a, Result<Response<HttpBody>>>;

    /// Returns for how long users have signed in so far.
    fn user_time(&self) -> Duration;
}

/// Allows several servers to share one client.
impl<C: HttpClient + ?Sized> HttpClient for Arc<C> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<HttpBody>>> {
        (**self).send(request)
    }

    fn user_time(&self) -> Duration {
        (**self).user_time()
    }
}

/// The error of an [`HttpBody`], from any HTTP library.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a reply, from any HTTP library.
pub struct HttpBody(UnsyncBoxBody<Bytes, BoxError>);

impl HttpBody {
    /// Wraps a body of an HTTP library.
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
