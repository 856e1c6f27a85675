//! What is a verifier?

use std::borrow::Cow;
use std::fmt;

use crate::ground::error::Chain;
use crate::ground::future::BoxFuture;
use crate::server::BoxError;
pub use crate::server::call::verified::Verified;

/// Decides whom a token stands for.
///
/// A function is a verifier: it takes the token, and returns the caller or the reason why the token is refused.
///
/// ```
/// use toolway::auth::{Auth, Rejected, Verified};
///
/// let auth = Auth::resource("https://notes.example/mcp").verifier(async |token: String| match token.as_str() {
///     "secret of ann" => Ok(Verified::new("ann").with_scopes(["notes:read"])),
///     _ => Err(Rejected::invalid("the token is not known")),
/// });
/// ```
///
/// A verifier must check that the token is meant for this server, and that it has not expired. What it accepts is kept for up
/// to 30 seconds, what it refuses for 5 seconds.
pub trait Verifier: Send + Sync + 'static {
    /// Verifies a token. The text is what the caller sent, so it proves nothing by itself.
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verified, Rejected>>;

    /// Returns the URL of the authorization server at which clients get these tokens. Clients are told about it.
    fn issuer(&self) -> Option<&str> {
        None
    }

    /// Returns mistakes in the settings, in sentences for the author of the server. Called when the server is built.
    fn mistakes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<F, Fut> Verifier for F
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Verified, Rejected>> + Send + 'static,
{
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verified, Rejected>> {
        Box::pin(self(token.to_owned()))
    }
}

/// The reason why a token is refused.
#[derive(Clone)]
pub struct Rejected(pub(crate) Rejection);

/// The kinds of reasons.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Rejection {
    Invalid(Cow<'static, str>),
    /// It could not be decided. The text is for the log.
    Unavailable(String),
}

impl Rejected {
    /// The token is not valid. The caller gets the text, in a challenge with the status 401: its client renews the token, or
    /// its user signs in again. Characters that cannot be in a header are encoded.
    pub fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self(Rejection::Invalid(text.into()))
    }

    /// The token could not be checked: a server does not answer. The caller gets the status 503 and tries again; the cause
    /// is logged.
    pub fn unavailable(cause: impl Into<BoxError>) -> Self {
        Self(Rejection::Unavailable(Chain(&*cause.into()).to_string()))
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rejection::Invalid(text) => f.write_str(text),
            Rejection::Unavailable(cause) => write!(f, "the token could not be checked: {cause}"),
        }
    }
}

impl fmt::Debug for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rejected({self})")
    }
}

impl std::error::Error for Rejected {}
