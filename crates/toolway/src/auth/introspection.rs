//! How is an authorization server asked if a token is valid? RFC 7662.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::HeaderValue;
use serde_json::Value;
use tokio::sync::{OnceCell, Semaphore};
use toolway_protocol::oauth::{ClaimRules, HttpUrl, IntrospectionReply, form};

use crate::auth::discover::{fetcher, metadata_of};
use crate::auth::issuer::{caller, rejected};
use crate::auth::verifier::{Rejected, Verified, Verifier};
use crate::client::oauth::clock::now;
use crate::client::oauth::fetch::{Fetcher, Post};
use crate::client::oauth::secret::Secret;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Asks an authorization server about each token, for tokens that are not signed, or that can be revoked.
///
/// ```
/// use toolway::auth::{Auth, Introspection};
///
/// # let secret = "";
/// let verifier = Introspection::new("https://id.example", "notes-server", secret).audience("https://notes.example/mcp");
/// let auth = Auth::resource("https://notes.example/mcp").verifier(verifier);
/// ```
///
/// What it says is kept for up to 30 seconds, or 5 seconds if it refuses a token.
pub struct Introspection {
    issuer: String,
    endpoint: OnceCell<String>,
    client_id: String,
    secret: Secret,
    audiences: Vec<String>,
    accepts_any_audience: bool,
    scope_claims: Vec<String>,
    fetcher: Result<Fetcher>,
    /// Limits the requests that run: strangers can cause them.
    requests: Arc<Semaphore>,
}

impl Introspection {
    /// Asks the authorization server with this URL, as a client that it knows. Its metadata says where to ask.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>, secret: impl Into<String>) -> Self {
        let issuer = issuer.into();
        let fetcher = fetcher(&issuer, false);
        Self {
            issuer,
            endpoint: OnceCell::new(),
            client_id: client_id.into(),
            secret: Secret::new(secret),
            audiences: Vec::new(),
            accepts_any_audience: false,
            scope_claims: Vec::new(),
            fetcher,
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    /// Sets the URL at which tokens are asked about, if the metadata of the server does not have it.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = OnceCell::new_with(Some(url.into()));
        self
    }

    /// Accepts tokens whose `aud` has this name. One is needed, unless any audience is accepted.
    pub fn audience(mut self, name: impl Into<String>) -> Self {
        self.audiences.push(name.into());
        self
    }

    /// Accepts tokens that were made for any server, for authorization servers whose answers have no `aud`. **A server that
    /// one of the users has called can then act as this user here.**
    pub fn dangerously_any_audience(mut self) -> Self {
        self.accepts_any_audience = true;
        self
    }

    /// Also takes scopes from this claim, besides `scope` and `scp`.
    pub fn scope_claim(mut self, path: impl Into<String>) -> Self {
        self.scope_claims.push(path.into());
        self
    }

    async fn ask(&self, token: &str) -> Result<IntrospectionReply> {
        // A server with such a mistake is not built.
        let fetcher =
            self.fetcher.as_ref().map_err(|error| Error::new(ErrorKind::Misuse, error.to_string()))?;
        let endpoint = self.endpoint.get_or_try_init(|| self.find_endpoint(fetcher)).await?;
        let body = form::encode([("token", token), ("token_type_hint", "access_token")]);
        let credentials = form::encode_text(&self.client_id) + ":" + &form::encode_text(self.secret.reveal());
        let credentials = base64_simd::STANDARD.encode_to_string(credentials);
        let mut authorization =
            HeaderValue::from_str(&format!("Basic {credentials}")).expect("Base64 is a valid header");
        authorization.set_sensitive(true);
        let reply = fetcher
            .post(Post {
                url: endpoint,
                content_type: "application/x-www-form-urlencoded",
                body,
                authorization: Some(authorization),
                proof: None,
            })
            .await?;
        let status = reply.status.as_u16();
        let read =
            Some(&reply.body).filter(|_| status == 200).and_then(|body| IntrospectionReply::read(body));
        read.ok_or_else(|| {
            let text = format!("{} gives no answer about a token (status {status})", self.issuer);
            Error::new(ErrorKind::PeerMisbehaved, text)
        })
    }

    async fn find_endpoint(&self, fetcher: &Fetcher) -> Result<String> {
        let metadata = metadata_of(&self.issuer, fetcher).await?;
        metadata.introspection_endpoint.ok_or_else(|| {
            let text = format!(
                "{} does not say where to ask about tokens: set it with `Introspection::endpoint`",
                self.issuer
            );
            Error::new(ErrorKind::PeerMisbehaved, text)
        })
    }
}

impl Verifier for Introspection {
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verified, Rejected>> {
        Box::pin(async move {
            let permit = tokio::time::timeout(MAX_WAIT, self.requests.acquire()).await;
            let _permit = permit.map_err(|_| Rejected::unavailable("too many tokens are asked about"))?;
            let claims = match self.ask(token).await.map_err(Rejected::unavailable)? {
                IntrospectionReply::Active(claims) => claims,
                IntrospectionReply::Inactive => return Err(Rejected::invalid("the token is not active")),
            };
            #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
            let now = now() as f64 / 1000.0;
            let rules = ClaimRules {
                issuer: &self.issuer,
                audiences: &self.audiences,
                client_ids: &[],
                accepts_any_audience: self.accepts_any_audience,
                now,
                leeway: 0.0,
            };
            // An authorization server may also know refresh tokens, and say that they are active.
            rules.check_use(|name| claims.get(name)).map_err(rejected)?;
            rules.check_audience(claims.get("aud"), None).map_err(rejected)?;
            let is_issuer = claims.get("iss").is_none_or(|issuer| issuer.as_str() == Some(&self.issuer));
            if !is_issuer {
                return Err(Rejected::invalid("the issuer of the token is not trusted"));
            }
            match claims.get("exp").map(Value::as_f64) {
                Some(None) => return Err(Rejected::invalid("the token does not say when it expires")),
                Some(Some(time)) if time <= now => return Err(Rejected::invalid("the token has expired")),
                _ => {}
            }
            let caller = caller(claims, &self.issuer, &self.scope_claims, Duration::ZERO);
            if caller.subject().is_empty() {
                return Err(Rejected::invalid("the token names neither a user nor a client"));
            }
            Ok(caller)
        })
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.issuer)
    }

    fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        mistakes.extend(self.fetcher.as_ref().err().map(ToString::to_string));
        let endpoint = self.endpoint.get().filter(|url| HttpUrl::parse(url).is_none());
        mistakes.extend(endpoint.map(|url| format!("the endpoint {url:?} of `Introspection` is not a URL")));
        if self.audiences.is_empty() && !self.accepts_any_audience {
            mistakes.push(
                "`Introspection` accepts no token: name this server with `audience`, as it is in the `aud` of tokens".to_owned(),
            );
        }
        mistakes
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// The largest number of tokens that are asked about at the same time.
const MAX_REQUESTS: usize = 64;
/// How long a token waits until it may be asked about.
const MAX_WAIT: Duration = Duration::from_secs(2);
