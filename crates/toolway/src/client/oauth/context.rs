//! What do all requests of a login need?

use ::http::StatusCode;
use toolway_protocol::oauth::{Found, Scopes, ServerMetadata, is_same_issuer};

use crate::client::oauth::dpop::Nonces;
use crate::client::oauth::fetch::{Fetcher, host_of};
use crate::client::oauth::settings::OAuth;
use crate::ground::error::{Error, ErrorKind, Result};

/// One login, which other files give its requests.
pub(super) struct Flow<'f> {
    pub(super) oauth: &'f OAuth,
    pub(super) fetcher: &'f Fetcher,
    pub(super) nonces: &'f Nonces,
    /// The URL of the MCP server.
    pub(super) server: &'f str,
}

/// The fields of a request to the token endpoint.
pub(super) type Form = Vec<(&'static str, String)>;

/// The reasons why no token was made.
pub(super) enum GrantError {
    /// The authorization server refuses. The code is that of OAuth, the status that of the reply.
    Refused {
        code: String,
        status: StatusCode,
    },
    Failed(Error),
}

impl From<Error> for GrantError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl GrantError {
    /// Returns whether a refusal says that a refresh token is worthless. Every other one may be about the request, or pass.
    pub(super) fn ends_login(&self, is_dynamic_client: bool) -> bool {
        let Self::Refused { code, status } = self else { return false };
        let is_verdict =
            matches!(*status, StatusCode::OK | StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED);
        is_verdict && (code == "invalid_grant" || (is_dynamic_client && self.is_about_client()))
    }

    /// Returns whether a refusal says that the client is not known.
    pub(super) fn is_about_client(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if matches!(&**code, "invalid_client" | "unauthorized_client"))
    }

    pub(super) fn into_error(self, issuer: &str) -> Error {
        match self {
            Self::Failed(error) => error,
            Self::Refused { code, .. } => {
                let code = if code.is_empty() { "no reason".to_owned() } else { code };
                refused(format!("the authorization server {} gives no token: {code}", host_of(issuer)))
            }
        }
    }
}

impl Flow<'_> {
    /// Checks that the credentials of the application are for this authorization server.
    pub(super) fn check_issuer(&self, server: &ServerMetadata) -> Result<()> {
        match &self.oauth.identity.issuer {
            Some(issuer) if !is_same_issuer(issuer, &server.issuer) => Err(refused(format!(
                "the server wants tokens of {}, and the credentials are for {}: nothing was sent",
                host_of(&server.issuer),
                host_of(issuer)
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the name of the MCP server that tokens are for.
    pub(super) fn resource(&self, found: &Found) -> Option<String> {
        let resource = found.resource.as_ref().map(|resource| resource.resource.clone());
        resource.filter(|_| self.oauth.sends_resource)
    }
}

/// Returns whether an error says nothing but that a server, or the way to it, is away.
pub(super) fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Transport | ErrorKind::Timeout)
}

pub(super) fn add_scopes(form: &mut Form, scopes: &Scopes) {
    if !scopes.is_empty() {
        form.push(("scope", scopes.to_string()));
    }
}

pub(super) fn token_endpoint(server: &ServerMetadata) -> Result<&str> {
    server.token_endpoint.as_deref().ok_or_else(|| lacks(server, "token_endpoint"))
}

pub(super) fn lacks(server: &ServerMetadata, member: &str) -> Error {
    refused(format!(
        "the document of the authorization server {} has no usable `{member}`",
        host_of(&server.issuer)
    ))
}

pub(super) fn refused(message: String) -> Error {
    Error::new(ErrorKind::PeerRefused, message)
}

/// The scope for tokens that live on when the user is away.
pub(super) const OFFLINE: &str = "offline_access";
