//! The caller that a verifier has recognized, and its rights.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use serde_json::{Map, Value};

use crate::ground::budget::{Account, Ledger};
use crate::ground::peer_map::PeerName;
use crate::server::call::principal::Principal;
use crate::server::call::required_scopes::RequiredScopes;

/// A caller whose credentials were verified: who it is, and what it may do.
///
/// A [`Verifier`](crate::auth::Verifier) of the application makes it. An application that has verified its callers itself
/// can attach it to a request, with [`Extensions`](crate::server::Extensions).
///
/// ```
/// use serde_json::json;
/// use toolway::auth::Verified;
///
/// let caller = Verified::new("ann")
///     .with_issuer("https://id.example")
///     .with_scopes(["notes:read"])
///     .with_claims(json!({"email": "ann@example.org"}));
/// assert_eq!(caller.principal().as_str(), "https://id.example#ann");
/// assert!(caller.has_scope("notes:read"));
/// ```
#[derive(Clone)]
pub struct Verified {
    subject: String,
    issuer: Option<String>,
    client_id: Option<String>,
    scopes: BTreeSet<String>,
    claims: Value,
    expiry: Option<SystemTime>,
    /// The thumbprint of the key that the credentials are bound to.
    pub(crate) key: Option<String>,
    principal: Principal,
    /// The account at the server that has verified the caller first, so that it need not be looked up with each request.
    account: OnceLock<Arc<Account>>,
}

impl Verified {
    /// Describes a caller. The subject is a name that the issuer never gives to another caller.
    pub fn new(subject: impl Into<String>) -> Self {
        let subject = subject.into();
        Self {
            principal: Principal::new(&*subject),
            subject,
            issuer: None,
            client_id: None,
            scopes: BTreeSet::new(),
            claims: Value::Object(Map::new()),
            expiry: None,
            key: None,
            account: OnceLock::new(),
        }
    }

    /// Sets the issuer of the credentials. It becomes part of the [principal](Self::principal), because two issuers may
    /// use the same subject.
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        let issuer = issuer.into();
        self.principal = Principal::new(format!("{issuer}#{}", self.subject));
        self.account = OnceLock::new();
        self.issuer = Some(issuer);
        self
    }

    /// Sets the client that the caller uses.
    pub fn with_client_id(mut self, client: impl Into<String>) -> Self {
        self.client_id = Some(client.into());
        self
    }

    /// Adds scopes that the caller has.
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets the claims, which handlers take as [`Claims<T>`](crate::auth::Claims).
    pub fn with_claims(mut self, claims: Value) -> Self {
        self.claims = claims;
        self
    }

    /// Sets when the credentials expire. Streams that the caller has opened end then.
    pub fn with_expiry(mut self, time: SystemTime) -> Self {
        self.expiry = Some(time);
        self
    }

    /// Says that the credentials are bound to the key with this thumbprint (RFC 7638): each request must have a proof that
    /// the caller has the key (DPoP).
    pub fn with_key(mut self, thumbprint: impl Into<String>) -> Self {
        self.key = Some(thumbprint.into());
        self
    }

    /// Returns the name of the caller at its issuer.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the issuer of the credentials.
    pub fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    /// Returns the client that the caller uses.
    pub fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }

    /// Returns the name of the caller among all callers: `ISSUER#SUBJECT`, or the subject if there is no issuer.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the scopes that the caller has, with those that they imply.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(String::as_str)
    }

    /// Returns whether the caller has a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }

    /// Returns the claims.
    pub fn claims(&self) -> &Value {
        &self.claims
    }

    /// Returns when the credentials expire.
    pub fn expiry(&self) -> Option<SystemTime> {
        self.expiry
    }

    /// Returns the account of the caller at a server.
    pub(crate) fn account(&self, ledger: &Arc<Ledger>) -> Arc<Account> {
        let look_up = || ledger.account_of(PeerName::Principal(self.principal.0.clone()));
        let known = self.account.get_or_init(look_up);
        if Arc::ptr_eq(&known.ledger, ledger) { known.clone() } else { look_up() }
    }

    pub(crate) fn has_all(&self, scopes: &RequiredScopes) -> bool {
        scopes.iter().all(|scope| self.has_scope(scope))
    }
}

/// Shows the names, and no claims: they may be personal.
impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified")
            .field("principal", &self.principal)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
