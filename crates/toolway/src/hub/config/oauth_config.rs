//! Which settings does a client have that signs in?

use std::fmt;

/// The settings with which a client signs in to a server, from the member `oauth` of an entry.
///
/// Its `Debug` output omits the secret.
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// The id of a client that was registered by hand (`clientId`).
    pub client_id: Option<String>,
    /// The secret of that client (`clientSecret`).
    pub client_secret: Option<String>,
    /// The URL of this machine to which the browser returns (`redirectUri`, or `callbackPort`).
    pub redirect: Option<String>,
    /// The scopes to ask for, instead of those that the server names (`scopes`).
    pub scopes: Option<Vec<String>>,
    /// The authorization server whose document is at `authServerMetadataUrl`.
    pub issuer: Option<String>,
}

/// Shows no secret.
impl fmt::Debug for OAuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthConfig")
            .field("client_id", &self.client_id)
            .field("has_secret", &self.client_secret.is_some())
            .field("redirect", &self.redirect)
            .field("scopes", &self.scopes)
            .field("issuer", &self.issuer)
            .finish()
    }
}
