//! How is signing in tested without an identity provider?
//!
//! | file | question |
//! |---|---|
//! | `provider.rs` | Which reply does an authorization server give to a request? |
//! | `listen.rs` | How are requests answered on a port of this machine? |

mod listen;
mod provider;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{AUTHORIZATION, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use ::http::{Request, Response, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Collected};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower_service::Service;

use self::listen::{Answer, answer_all};
pub use self::provider::IssuerFault;
use self::provider::{Provider, reply};
use crate::client::http::request::built_in::{BuiltInClient, ConnectionReuse, connector};
use crate::client::{HttpBody, HttpClient, OAuth};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;
use crate::server::Server;

/// An authorization server on a port of this machine, for tests: clients sign in to it, and it signs the tokens that a test
/// wants. It can be told to misbehave.
///
/// Its users agree to everything, and their name is `alice`. Clients may register, or be added with
/// [`add_client`](Self::add_client). Refresh tokens are replaced when they are used, and a login ends if one is used twice.
/// The server stops when the last `Issuer` is dropped.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::testing::Issuer;
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let issuer = Issuer::start().await?;
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// let url = issuer.protect(&server).await?;
/// let client = Client::builder().oauth(issuer.user()).connect(&*url).await?;
/// let sum = client.call("add", serde_json::json!({"a": 2, "b": 3})).await?;
/// assert_eq!(sum.first_text(), Some("5"));
/// // The next call renews the token, without a user.
/// issuer.expire_tokens();
/// client.call("add", serde_json::json!({"a": 2, "b": 3})).await?;
/// assert_eq!(issuer.requests().last().unwrap(), "POST /token refresh_token");
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Issuer {
    provider: Arc<Provider>,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Issuer {
    /// Starts an authorization server.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub async fn start() -> Result<Self> {
        let (listener, origin) = listen().await?;
        let provider = Arc::new(Provider::new(origin));
        let issuer = Self { provider: provider.clone(), tasks: Arc::default() };
        issuer.spawn(
            listener,
            Arc::new(move |request| {
                let provider = provider.clone();
                Box::pin(async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
                    let query = head.uri.query().unwrap_or_default();
                    provider.reply(&head.method, head.uri.path(), query, &head.headers, &body)
                })
            }),
        );
        Ok(issuer)
    }

    fn spawn(&self, listener: TcpListener, answer: Arc<Answer>) {
        self.tasks.lock().spawn(answer_all(listener, answer));
    }

    /// Returns the URL of this issuer, which is its name.
    pub fn url(&self) -> &str {
        &self.provider.url
    }

    /// Serves an MCP server to callers that have a token of this issuer for it. Returns the URL of the server.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub async fn protect(&self, server: &Server) -> Result<String> {
        let (listener, origin) = listen().await?;
        let url = format!("{origin}/mcp");
        let (service, provider, resource) = (server.http(), self.provider.clone(), url.clone());
        self.spawn(
            listener,
            Arc::new(move |request: Request<Incoming>| {
                let (mut service, provider) = (service.clone(), provider.clone());
                let (resource, origin) = (resource.clone(), origin.clone());
                Box::pin(async move {
                    if request.uri().path() == RESOURCE_PATH {
                        let issuers = [&provider.url];
                        let document = json!({"resource": resource, "authorization_servers": issuers});
                        return reply(StatusCode::OK, &document);
                    }
                    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
                    let token = token.and_then(|token| token.strip_prefix("Bearer ")).unwrap_or_default();
                    if provider.verify(token, &resource).is_none() {
                        return challenge(&format!("{origin}{RESOURCE_PATH}"));
                    }
                    let Ok(response) = service.call(request).await;
                    response.map(HttpBody::new)
                })
            }),
        );
        Ok(url)
    }

    /// Returns a way to sign in, in which a user agrees at once. It needs no browser.
    pub fn user(&self) -> OAuth {
        OAuth::browser().open_with(async |url| {
            let reply = get(&url).await?;
            let target = reply.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            let target = target.map(str::to_owned).ok_or_else(|| {
                Error::new(ErrorKind::PeerMisbehaved, "the authorization server refused the login")
            })?;
            // The browser waits for the page that says that the login is done.
            tokio::spawn(async move { get(&target).await });
            Ok(())
        })
    }

    /// Adds a client that has a secret.
    pub fn add_client(&self, id: impl Into<String>, secret: impl Into<String>) {
        self.provider.add_client(id.into(), secret.into());
    }

    /// Forgets the clients that have registered.
    pub fn forget_clients(&self) {
        self.provider.forget_clients();
    }

    /// Sets how long the next tokens are valid; by default five minutes.
    pub fn set_token_life(&self, life: Duration) {
        self.provider.set_token_life(life);
    }

    /// Makes all tokens so far invalid. They can be renewed.
    pub fn expire_tokens(&self) {
        self.provider.expire_tokens();
    }

    /// Makes a new key, which signs tokens from now on. Tokens that the former keys have signed stay valid.
    pub fn rotate_keys(&self) {
        self.provider.rotate_keys();
    }

    /// Misbehaves in these ways from now on; with none, it behaves.
    pub fn misbehave(&self, faults: impl IntoIterator<Item = IssuerFault>) {
        self.provider.set_faults(faults.into_iter().collect());
    }

    /// Signs a token with these claims. `iss`, `iat`, `exp` and `jti` are added; `null` leaves one of them out.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use serde_json::json;
    /// use toolway::testing::Issuer;
    ///
    /// let issuer = Issuer::start().await?;
    /// let expired = issuer.sign(json!({"sub": "alice", "aud": "https://notes.example/mcp", "exp": 1}));
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn sign(&self, claims: Value) -> String {
        self.provider.sign(&json!({}), &claims)
    }

    /// Signs a token like [`sign`](Self::sign), with other members in its header, such as another `kid`.
    pub fn sign_with_header(&self, header: Value, claims: Value) -> String {
        self.provider.sign(&header, &claims)
    }

    /// Returns the public keys, as the issuer publishes them.
    pub fn key_set(&self) -> Value {
        self.provider.key_set()
    }

    /// Returns the requests so far: their method and path, and for tokens the kind of grant.
    pub fn requests(&self) -> Vec<String> {
        self.provider.requests()
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("url", &self.provider.url).finish_non_exhaustive()
    }
}

async fn listen() -> Result<(TcpListener, String)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    Ok((listener, origin))
}

/// Tells a caller where to sign in.
fn challenge(metadata: &str) -> Response<HttpBody> {
    let mut reply = reply(StatusCode::UNAUTHORIZED, &json!({}));
    let challenge = HeaderValue::from_str(&format!("Bearer resource_metadata=\"{metadata}\""));
    reply.headers_mut().insert(WWW_AUTHENTICATE, challenge.expect("a URL is a valid header"));
    reply
}

/// Gets a page, as a browser does.
async fn get(url: &str) -> Result<Response<HttpBody>> {
    let browser = BuiltInClient::new(connector(), PATIENCE, ConnectionReuse::Never, |_| None);
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() =
        url.parse().map_err(|_| Error::new(ErrorKind::PeerMisbehaved, "the browser was sent to no URL"))?;
    browser.send(request).await
}

/// The path of the document about the server.
const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
/// How long a browser waits for a connection.
const PATIENCE: Duration = Duration::from_secs(10);
