//! How is a server protected? Only callers whose credentials a verifier accepts reach it over HTTP.
//!
//! This file knows what a protected server demands and publishes. How credentials are verified is the business of
//! [`auth`](crate::auth), which uses clients.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use crate::ground::future::BoxFuture;
use crate::server::admission::admit::Refuse;
use crate::server::admission::connect_request::ConnectRequest;
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::call::verified::Verified;
use crate::store::Store;

/// Decides who sends a request.
pub(crate) trait Authenticator: Send + Sync {
    fn authenticate<'a>(
        &'a self,
        request: &'a ConnectRequest,
    ) -> BoxFuture<'a, Result<Arc<Verified>, Refuse>>;

    /// Returns the caller whose credentials these headers have, if they were verified a moment ago and nothing else has to
    /// be checked.
    fn recall(&self, headers: &HeaderMap) -> Option<Arc<Verified>>;

    /// Adds the scopes that those of a caller stand for.
    fn with_implied(&self, caller: Verified) -> Verified;

    /// Returns the refusal of a caller whose credentials lack one of these scopes.
    fn insufficient(&self, scopes: &[&str]) -> Refuse;
}

/// The settings of the author, from which the protection is made when the server is built.
pub(crate) trait MakeProtection: Send + Sync {
    fn make(self: Box<Self>, store: Arc<dyn Store>, server: &str, mistakes: &mut Vec<String>) -> Protection;
}

impl fmt::Debug for dyn MakeProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeProtection")
    }
}

/// The settings of a server that is not built yet.
pub(crate) type ProtectionSettings = Box<dyn MakeProtection>;

/// The protection of a server.
pub(crate) struct Protection {
    pub(crate) authenticator: Arc<dyn Authenticator>,
    /// The scopes that every request needs.
    pub(crate) required: RequiredScopes,
    /// `true` if a caller does not see elements whose scopes it lacks.
    pub(crate) hides_unscoped: bool,
    /// The extension of the protocol that clients are told about in the capabilities.
    pub(crate) extension: Option<&'static str>,
    pub(crate) document: MetadataDocument,
}

/// The document that tells clients where to sign in (RFC 9728).
pub(crate) struct MetadataDocument {
    pub(crate) json: Bytes,
    /// The path for this resource, and the path for the whole host.
    pub(crate) paths: [String; 2],
}

impl Protection {
    pub(crate) async fn authenticate(&self, request: &ConnectRequest) -> Result<Arc<Verified>, Refuse> {
        self.authenticator.authenticate(request).await
    }

    /// Accepts a caller that the application has verified, if it has the scopes that every request needs.
    pub(crate) fn accept(&self, caller: &Verified) -> Result<Arc<Verified>, Refuse> {
        let caller = self.authenticator.with_implied(caller.clone());
        if self.lacks_required(&caller) { Err(self.insufficient([])) } else { Ok(Arc::new(caller)) }
    }

    /// Returns whether a caller lacks scopes that every request needs.
    pub(crate) fn lacks_required(&self, caller: &Verified) -> bool {
        !caller.has_all(&self.required)
    }

    /// Returns the refusal of a caller that lacks scopes of an operation: those of every request, and `more`.
    pub(crate) fn insufficient<'s>(&'s self, more: impl IntoIterator<Item = &'s str>) -> Refuse {
        let mut scopes: Vec<&str> = Vec::new();
        for scope in self.required.iter().chain(more) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        self.authenticator.insufficient(&scopes)
    }
}
