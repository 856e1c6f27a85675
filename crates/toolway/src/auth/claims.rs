//! How does a handler take the claims of its caller?

use std::fmt;
use std::ops::Deref;

use serde::de::DeserializeOwned;

use crate::auth::verifier::Verified;
use crate::server::Ctx;
use crate::server::parameter::{Missing, Parameter, Scope, States};

/// The claims of the caller's token, as a parameter of a handler. A call without a verified caller fails, and so does one
/// whose claims do not fit `T`.
///
/// ```
/// use toolway::auth::Claims;
/// use toolway::prelude::*;
///
/// #[derive(serde::Deserialize)]
/// struct User {
///     sub: String,
///     email: Option<String>,
/// }
///
/// /// Say who calls.
/// #[tool]
/// fn whoami(user: Claims<User>) -> String {
///     user.email.clone().unwrap_or_else(|| user.sub.clone())
/// }
/// ```
///
/// A token has the claims that its issuer gives it. To look at all of them, take `Claims<serde_json::Value>`.
pub struct Claims<T>(T);

impl<T> Claims<T> {
    /// Creates claims without a call, to call a handler directly as a function.
    pub fn new(claims: T) -> Self {
        Self(claims)
    }

    /// Returns the claims, for use after the call.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Claims<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Shows no claims: they may be personal.
impl<T> fmt::Debug for Claims<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claims(..)")
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> Parameter for Claims<T> {
    const MISSING_TEXT: Option<&'static str> =
        Some("this is only for callers whose token has the necessary claims");

    const GIVEN_BY: Option<&'static str> =
        Some(": the token of the caller gives it, if the server has `auth` and is called over HTTP");

    fn check(states: &States) -> Option<String> {
        states.unavailable().principal.then(|| {
            "it takes `Claims`, but callers are not verified here: protect the server with `auth`, and serve it over HTTP"
                .to_owned()
        })
    }

    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        let claims = scope.arrival().caller.as_deref().ok_or(Missing)?.claims();
        // The error is not logged: it may quote claims.
        T::deserialize(claims).map(Self).map_err(|_| {
            tracing::warn!("the claims of a caller do not fit `Claims<{}>`", std::any::type_name::<T>());
            Missing
        })
    }
}

impl Ctx {
    /// Returns the verified caller: over HTTP if the server has [`Auth`](crate::auth::Auth), otherwise if the application
    /// has attached one to the request.
    pub fn verified(&self) -> Option<&Verified> {
        self.scope().arrival().caller.as_deref()
    }
}
