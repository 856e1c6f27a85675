//! Which server does a client connect to over HTTP, and which settings apply to all requests?

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::client::http::handshake::transport::HttpTransport;
use crate::client::http::request::built_in::{BuiltInClient, ConnectionReuse, connector};
use crate::client::http::request::client::{HttpClient, RequestSigner};
use crate::client::http::request::endpoint::{HttpEndpoint, RedirectPolicy};
use crate::client::http::request::headers::check_header;
use crate::client::http::request::recorded::RecordedClient;
use crate::client::http::request::tls::{self, TlsSettings};
use crate::client::http::request::url::{Url, display_url, secret_parts};
use crate::client::http::stateless::transport::StatelessTransport;
use crate::client::record::Recorder;
use crate::client::wire::target::{Connector, IntoTarget, Target};
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::transport::frame::message_limit;

/// The default time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that is reached over HTTP: its URL, and the headers and settings of all requests to it.
///
/// ```no_run
/// use toolway::client::Http;
/// use toolway::prelude::*;
///
/// # async fn connect(token: &str) -> toolway::Result<()> {
/// let server = Http::new("http://localhost:8000/mcp").bearer(token).header("x-tenant", "blue");
/// let client = Client::connect_http(server).await?;
/// # Ok(())
/// # }
/// ```
///
/// URLs that begin with `https://` need the feature `tls`, or an HTTP client that supports TLS, passed to
/// [`with_client`](Http::with_client). Connections to such URLs go through the proxy that the environment variable
/// `HTTPS_PROXY` (or `ALL_PROXY`) names, unless `NO_PROXY` names the host or it is this machine.
///
/// Invalid settings, such as a malformed URL or a header that cannot be sent, are reported when the client connects.
/// [`Debug`] and errors hide everything that may be secret: the values of headers, and the user, the query and key-like
/// path segments of the URL.
#[derive(Clone)]
pub struct Http {
    url: String,
    headers: HeaderMap,
    /// A description of the first invalid setting.
    mistake: Option<String>,
    pub(crate) connect_timeout: Duration,
    redirects: RedirectPolicy,
    connection_reuse: ConnectionReuse,
    pub(super) max_message: Option<usize>,
    pub(crate) tls: TlsSettings,
    pub(crate) client: Option<Arc<dyn HttpClient>>,
    /// Signs in, if the server asks for it.
    pub(crate) sign_in: Option<Arc<dyn SignIn>>,
    pub(crate) recorder: Option<Recorder>,
    /// The built-in client, used if `client` is `None`. It is created for the first connection, and then reused.
    built_in: Arc<OnceLock<Arc<dyn HttpClient>>>,
    wrap: Option<WrapClient>,
}

/// Puts a client around the one that sends the requests.
type WrapClient = Arc<dyn Fn(Arc<dyn HttpClient>) -> Arc<dyn HttpClient> + Send + Sync>;

/// Signs in to servers that ask for it.
pub(crate) trait SignIn: Any + Send + Sync {
    /// Returns what signs the requests to a server.
    fn signer(&self, server: &Http, url: &Url) -> Arc<dyn RequestSigner>;

    /// Returns for how long users have signed in.
    fn user_time(&self) -> Duration;

    /// Names the extensions of the protocol that signing in uses.
    fn extensions(&self) -> Vec<&'static str>;
}

impl Http {
    /// The server at a URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: HeaderMap::new(),
            mistake: None,
            connect_timeout: CONNECT_TIMEOUT,
            redirects: RedirectPolicy::Allowed,
            connection_reuse: ConnectionReuse::Allowed,
            max_message: None,
            tls: TlsSettings::default(),
            client: None,
            sign_in: None,
            recorder: None,
            built_in: Arc::default(),
            wrap: None,
        }
    }

    /// Sends a header with every request: with each POST, with each GET that opens a stream, and with the DELETE that
    /// ends the session. A second value for the same name replaces the first.
    ///
    /// Headers that the client sets itself are invalid here, such as `Content-Type`, `Accept`, `Host` and `Mcp-…`.
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// let server = Http::new("http://localhost:8000/mcp").header("X-Api-Key", "s3cret");
    /// assert_eq!(format!("{server:?}"), r#"Http { url: http://localhost:8000/mcp, headers: ["x-api-key"], .. }"#);
    /// ```
    pub fn header(self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let header = check_header(name.as_ref(), value.as_ref());
        self.with_header(header)
    }

    /// Sends a bearer token with every request: `Authorization: Bearer …`.
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// let server = Http::new("http://localhost:8000/mcp").bearer("s3cret");
    /// ```
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        let header = bearer_value(token.as_ref()).map(|value| (AUTHORIZATION, value));
        self.with_header(header)
    }

    fn with_header(mut self, header: Result<(HeaderName, HeaderValue)>) -> Self {
        match header {
            Ok((name, value)) => {
                self.headers.insert(name, value);
            }
            Err(error) => return self.with_mistake(error.to_string()),
        }
        self
    }

    pub(crate) fn with_mistake(mut self, mistake: String) -> Self {
        self.mistake.get_or_insert(mistake);
        self
    }

    /// Drops the built-in client. Called when a setting of that client changes.
    pub(super) fn reset_client(&mut self) {
        self.built_in = Arc::default();
    }

    /// Sends requests with an HTTP client that the application provides: see [`HttpClient`]. Such a client opens its
    /// own connections, so [`connect_timeout`](Http::connect_timeout), [`reuse_connections`](Http::reuse_connections),
    /// `root_certificate` and proxies have no effect.
    pub fn with_client(mut self, client: impl HttpClient) -> Self {
        self.client = Some(Arc::new(client));
        self
    }

    /// Puts a client of the application around the one that sends the requests: around the built-in client, with its
    /// certificates and proxies, or around the one of [`with_client`](Http::with_client). It sees all requests, also those that are
    /// sent again, and can count, delay or break them. A second call replaces the first one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// use bytes::Bytes;
    /// use toolway::client::{Http, HttpBody, HttpClient};
    /// use toolway::{BoxFuture, Result};
    ///
    /// struct Counting(Arc<dyn HttpClient>, AtomicUsize);
    ///
    /// impl HttpClient for Counting {
    ///     fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<HttpBody>>> {
    ///         self.1.fetch_add(1, Ordering::Relaxed);
    ///         self.0.send(request)
    ///     }
    /// }
    ///
    /// let server = Http::new("https://example.com/mcp").wrap_client(|inner| Arc::new(Counting(inner, AtomicUsize::new(0))));
    /// ```
    pub fn wrap_client(
        mut self,
        wrap: impl Fn(Arc<dyn HttpClient>) -> Arc<dyn HttpClient> + Send + Sync + 'static,
    ) -> Self {
        self.wrap = Some(Arc::new(wrap));
        self
    }

    /// Sets the time limit for opening a connection; by default ten seconds. The limit covers name lookup, TCP and TLS
    /// together.
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self.reset_client();
        self
    }

    /// Sets the maximum length in bytes of a message to or from this server. This limit overrides the limit of [the
    /// client](crate::client::ClientBuilder::max_message).
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// let server = Http::new("http://localhost:8000/mcp").max_message(64 << 20);
    /// ```
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = Some(message_limit(bytes));
        self
    }

    /// Sets whether redirects are followed; by default they are. A redirect is a reply with status 301, 302, 303, 307
    /// or 308 and a `Location` header.
    ///
    /// A redirect is followed only if the new URL has the same scheme, host and port, and the status allows the request
    /// to be sent again unchanged (307 and 308, for GET also 301, 302 and 303). So headers and tokens only reach the
    /// server that the application named. Any other redirect is an error, and so is the sixth redirect of one request.
    /// The error names the new URL, with two exceptions: there were too many redirects, or `Location` is not an HTTP
    /// URL.
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// let server = Http::new("http://localhost:8000/mcp").allow_redirects(false);
    /// ```
    pub fn allow_redirects(mut self, allow: bool) -> Self {
        self.redirects = if allow { RedirectPolicy::Allowed } else { RedirectPolicy::Refused };
        self
    }

    /// Sets whether connections are reused for later requests; by default they are.
    ///
    /// With `false`, every request opens a new connection. A load balancer may then send each request to a different
    /// server. This is a way to test whether all servers behind the load balancer share their sessions. The setting has
    /// no effect if the application provides its own client ([`with_client`](Http::with_client)).
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// let server = Http::new("http://localhost:8000/mcp").reuse_connections(false);
    /// ```
    pub fn reuse_connections(mut self, reuse: bool) -> Self {
        self.connection_reuse = if reuse { ConnectionReuse::Allowed } else { ConnectionReuse::Never };
        self.reset_client();
        self
    }

    /// Returns the host and the port of the proxy through which the client connects to this server, if there is one.
    pub fn proxy_address(&self) -> Option<String> {
        let url = self.check().ok()?;
        self.tls.proxy_for(url.uri()).filter(|_| self.client.is_none())
    }

    /// Checks the settings. Returns the parsed URL if all are valid.
    pub(crate) fn check(&self) -> Result<Url> {
        if let Some(mistake) = &self.mistake {
            return Err(Error::new(ErrorKind::Misuse, mistake.clone()));
        }
        let url = Url::parse(&self.url)?;
        if url.is_encrypted() && self.client.is_none() {
            tls::check(&url)?;
        }
        Ok(url)
    }

    /// Records every request to this server, and hides its credentials from the recording. A client with a
    /// [recorder](crate::client::ClientBuilder::recorder) does this by itself.
    ///
    /// ```
    /// use toolway::client::Http;
    /// use toolway::client::record::Recorder;
    ///
    /// let recorder = Recorder::new();
    /// let server = Http::new("http://localhost:8000/mcp").bearer("never recorded").recorder(&recorder);
    /// ```
    pub fn recorder(mut self, recorder: &Recorder) -> Self {
        recorder.set_transport("http");
        for part in secret_parts(&self.url) {
            recorder.hide(part);
        }
        for (name, value) in &self.headers {
            recorder.hide_header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
        }
        self.recorder = Some(recorder.clone());
        self
    }

    async fn open_transport(&self) -> Result<HttpTransport> {
        let endpoint = self.open_endpoint().await?;
        Ok(HttpTransport::new(StatelessTransport::new(endpoint, self.max_message)))
    }

    /// Returns what sends requests to this server.
    pub(super) async fn open_endpoint(&self) -> Result<HttpEndpoint> {
        let url = self.check()?;
        let client = self.http_client(&url).await?;
        let client = match &self.wrap {
            Some(wrap) => wrap(client),
            None => client,
        };
        let client = match &self.recorder {
            Some(recorder) => Arc::new(RecordedClient::new(client, recorder.clone())),
            None => client,
        };
        let signer = self.sign_in.as_ref().map(|sign_in| sign_in.signer(self, &url));
        Ok(HttpEndpoint::new(url, self.headers.clone(), client, self.redirects).with_signer(signer))
    }

    /// Returns the client that sends the requests: the application's client if there is one, or else the built-in
    /// client.
    async fn http_client(&self, url: &Url) -> Result<Arc<dyn HttpClient>> {
        if let Some(client) = self.client.as_ref().or(self.built_in.get()) {
            return Ok(client.clone());
        }
        let made = self.make_client(url).await?;
        Ok(self.built_in.get_or_init(|| made).clone())
    }

    async fn make_client(&self, url: &Url) -> Result<Arc<dyn HttpClient>> {
        let limit = self.connect_timeout;
        if !url.is_encrypted() {
            return Ok(Arc::new(BuiltInClient::new(connector(), limit, self.connection_reuse, |_| None)));
        }
        let (settings, reuse) = (self.tls.clone(), self.connection_reuse);
        // Loading the certificates reads files, which blocks.
        let made =
            tokio::task::spawn_blocking(move || tls::client(connector(), &settings, limit, reuse)).await;
        made.map_err(|error| Error::new(ErrorKind::Transport, "TLS could not be set up").caused_by(error))?
    }
}

fn bearer_value(token: &str) -> Result<HeaderValue> {
    let mistake = |reason| Error::new(ErrorKind::Misuse, format!("the bearer token {reason}"));
    if token.is_empty() {
        return Err(mistake("is empty"));
    }
    if token.contains(char::is_whitespace) {
        return Err(mistake("contains white space: remove a line break at its end with `trim`"));
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| mistake("contains a control character"))?;
    value.set_sensitive(true);
    Ok(value)
}

impl Connector for Http {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>> {
        Box::pin(async { Ok(Box::new(self.open_transport().await?) as _) })
    }

    fn name(&self) -> String {
        display_url(&self.url)
    }

    fn user_time(&self) -> Duration {
        let of_client = self.client.as_ref().map(HttpClient::user_time);
        let of_logins = self.sign_in.as_ref().map(|sign_in| sign_in.user_time());
        of_client.unwrap_or_default() + of_logins.unwrap_or_default()
    }

    fn extensions(&self) -> Vec<&'static str> {
        self.sign_in.as_ref().map(|sign_in| sign_in.extensions()).unwrap_or_default()
    }

    fn recorded(&self, recorder: &Recorder) -> Option<Target> {
        Some(Target::new(self.clone().recorder(recorder)))
    }

    fn cache_key(&self) -> Option<String> {
        Some(self.url.clone())
    }
}

impl IntoTarget for Http {
    fn into_target(self) -> Result<Target> {
        // Report invalid settings now rather than when the server is needed.
        self.check()?;
        Ok(Target::new(self))
    }
}

impl<U: AsRef<str>> From<U> for Http {
    fn from(url: U) -> Self {
        Self::new(url.as_ref())
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Http")
            .field("url", &format_args!("{}", display_url(&self.url)))
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}
