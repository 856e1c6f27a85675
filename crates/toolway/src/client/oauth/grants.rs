//! Which ways to get a token are there?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::client::oauth::secret::Secret;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// The ways to get a token.
#[derive(Clone)]
pub(super) enum Grant {
    /// A user signs in on this machine.
    Browser(Browser),
    /// A user signs in on another device.
    Device(Arc<ShowCode>),
    /// The client is known to the authorization server.
    ClientCredentials,
    /// A token of the platform says what the client is.
    Workload(Arc<PlatformToken>),
    /// The identity provider of a company vouches for the user.
    Enterprise(Arc<Enterprise>),
    /// The application has its own way.
    Source(Arc<dyn TokenSource>),
}

impl Grant {
    /// Returns whether a person must act.
    pub(super) fn needs_user(&self) -> bool {
        matches!(self, Self::Browser(_) | Self::Device(_))
    }

    /// Returns the kind of program that signs in; `None` for a user.
    pub(super) fn program(&self) -> Option<&'static str> {
        (!self.needs_user()).then(|| self.name())
    }

    /// Returns the extension of the protocol that describes this way, if there is one.
    pub(super) fn extension(&self) -> Option<&'static str> {
        match self {
            Self::ClientCredentials => Some("io.modelcontextprotocol/oauth-client-credentials"),
            Self::Workload(_) => Some("io.modelcontextprotocol/auth/wif"),
            Self::Enterprise(_) => Some("io.modelcontextprotocol/enterprise-managed-authorization"),
            Self::Browser(_) | Self::Device(_) | Self::Source(_) => None,
        }
    }

    /// Returns a name for logs.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Browser(_) => "browser",
            Self::Device(_) => "device",
            Self::ClientCredentials => "client credentials",
            Self::Workload(_) => "workload",
            Self::Enterprise(_) => "enterprise",
            Self::Source(_) => "source",
        }
    }
}

/// A browser on this machine.
#[derive(Clone)]
pub(super) struct Browser {
    pub(super) open: Arc<Opener>,
    pub(super) redirect: Option<String>,
    pub(super) paste: Option<Arc<Paster>>,
}

/// Shows a URL to the user.
pub(super) type Opener = dyn Fn(String) -> BoxFuture<'static, Result<()>> + Send + Sync;

/// Returns a URL that the user has pasted; `None` if no more will come.
pub(super) type Paster = dyn Fn() -> BoxFuture<'static, Option<String>> + Send + Sync;

/// Shows a code to the user.
pub(super) type ShowCode = dyn Fn(DeviceCode) -> BoxFuture<'static, ()> + Send + Sync;

/// Returns a token of the platform for a target.
pub(super) type PlatformToken = dyn Fn(WorkloadTarget) -> BoxFuture<'static, Result<String>> + Send + Sync;

/// The identity provider of a company, and a user of it.
pub(super) struct Enterprise {
    pub(super) idp: Idp,
    pub(super) identity_token: Box<IdentityToken>,
}

/// Returns the identity token of the user.
pub(super) type IdentityToken = dyn Fn() -> BoxFuture<'static, Result<String>> + Send + Sync;

/// A code that the user enters on another device. Its text says what to do.
///
/// ```
/// use toolway::client::OAuth;
///
/// let oauth = OAuth::device(async |code| println!("{code}"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceCode {
    /// The code.
    pub user_code: String,
    /// The page on which the user enters the code.
    pub page: String,
    /// The same page with the code in it, for a link or a picture.
    pub page_with_code: Option<String>,
}

impl fmt::Display for DeviceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "To sign in, open {} and enter the code {}", self.page, self.user_code)
    }
}

/// The authorization server that a token of the platform is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkloadTarget {
    /// Its name.
    pub issuer: String,
    /// The URL at which it makes tokens.
    pub token_endpoint: String,
}

/// The identity provider of a company, and the client that the application is there.
///
/// ```
/// use toolway::client::Idp;
///
/// let idp = Idp::new("https://sso.example", "my-app", "s3cret");
/// ```
#[derive(Debug, Clone)]
pub struct Idp {
    pub(super) issuer: String,
    pub(super) client_id: String,
    pub(super) secret: Option<Secret>,
}

impl Idp {
    /// The identity provider with this name, and the id and secret of the application there.
    pub fn new(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
    ) -> Self {
        Self { secret: Some(Secret::new(client_secret)), ..Self::public(issuer, client_id) }
    }

    /// An identity provider at which the application has no secret.
    pub fn public(issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), client_id: client_id.into(), secret: None }
    }
}

/// Decides whether tokens are bound to a key of the client (DPoP). A bound token is worthless to a thief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Dpop {
    /// Tokens are bound if the server asks for it.
    #[default]
    Auto,
    /// Only bound tokens are used.
    Always,
    /// No token is bound.
    Never,
}

/// Gets tokens in a way of the application's own.
///
/// ```
/// use toolway::client::{AccessToken, OAuth, TokenRequest, TokenSource};
///
/// struct Broker;
///
/// impl TokenSource for Broker {
///     fn token(&self, request: TokenRequest) -> toolway::BoxFuture<'_, toolway::Result<AccessToken>> {
///         Box::pin(async move {
///             println!("a token for {}", request.server);
///             Ok(AccessToken::new("s3cret"))
///         })
///     }
/// }
///
/// let oauth = OAuth::tokens(Broker);
/// ```
pub trait TokenSource: Send + Sync + 'static {
    /// Returns a token. It is asked for when there is none, when it expires, and when the server refuses it.
    fn token(&self, request: TokenRequest) -> BoxFuture<'_, Result<AccessToken>>;
}

/// The reason why a token is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenRequest {
    /// The URL of the MCP server, without its query.
    pub server: String,
    /// The scopes that the server asks for, separated by spaces.
    pub scope: Option<String>,
    /// `true` if the server has refused the last token.
    pub was_refused: bool,
}

/// A token of the application's own.
#[derive(Debug, Clone)]
pub struct AccessToken {
    pub(super) token: Secret,
    pub(super) life: Option<Duration>,
}

impl AccessToken {
    /// A token that is used until the server refuses it.
    pub fn new(token: impl Into<String>) -> Self {
        Self { token: Secret::new(token), life: None }
    }

    /// Sets how long the token is used.
    #[must_use]
    pub fn expires_in(mut self, life: Duration) -> Self {
        self.life = Some(life);
        self
    }
}
