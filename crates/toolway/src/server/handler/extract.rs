//! What else can be a parameter of a handler? The headers of its request, extensions of the call, the principal, and
//! shared state.

use std::any::type_name;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use http::HeaderMap;

use crate::server::call::context::Ctx;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Scope;
use crate::server::call::state::{State, States};
use crate::server::handler::parameter::{Missing, Parameter};

/// The HTTP headers of the request, as a parameter of a handler. Empty on a pipe.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::Headers;
///
/// /// Say where the caller came from.
/// #[tool]
/// fn origin(headers: Headers) -> String {
///     headers.text("origin").unwrap_or("nowhere").to_owned()
/// }
/// ```
#[derive(Clone, Default)]
pub struct Headers(Option<Arc<HeaderMap>>);

impl Headers {
    /// Returns the first header with this name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.get(name)?.to_str().ok()
    }

    /// Returns all headers, or `None` on a pipe.
    pub fn map(&self) -> Option<&HeaderMap> {
        self.0.as_deref()
    }
}

/// Shows names only: values may be secret.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.map().into_iter().flat_map(HeaderMap::keys)).finish()
    }
}

impl Parameter for Headers {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        Ok(Self(scope.headers().cloned()))
    }
}

/// A value that is attached to the request, as a parameter of a handler: see
/// [`Extensions`](crate::ground::extensions::Extensions). A call without it fails; if the value is optional, use
/// [`Ctx::get`](crate::server::Ctx::get) instead.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::Extension;
///
/// struct User(String);
///
/// /// Say who calls.
/// #[tool]
/// fn whoami(user: Extension<User>) -> String {
///     user.0.clone()
/// }
/// ```
///
/// In a function marked with a macro the parameter can be destructured: with `Extension(user): Extension<User>`, `user`
/// is an `Arc<User>`.
pub struct Extension<T>(Arc<T>);

impl<T> Extension<T> {
    /// Creates a value without a request, to call a handler directly as a function.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Returns the value, for use after the call.
    pub fn into_inner(self) -> Arc<T> {
        self.0
    }
}

impl<T> Deref for Extension<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Extension<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Extension<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Send + Sync + 'static> Parameter for Extension<T> {
    const GIVEN_BY: Option<&'static str> = Some(
        ": `on_connect` gives it (`Admit::with`), or a layer (`Call::insert`), or the program that mounts the service or calls \
         `handle_json` (`Extensions::with`)",
    );

    fn check(states: &States) -> Option<String> {
        states.unavailable().extensions.then(|| {
            format!(
                "it takes `Extension<{}>`, which no call has here: set it in `on_connect` (`Admit::with`) or in a \
                 layer (`Call::insert`)",
                type_name::<T>()
            )
        })
    }

    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.extensions().get().map(Self).ok_or(Missing)
    }
}

impl Parameter for Principal {
    const MISSING_TEXT: Option<&'static str> = Some("this is only for authenticated callers");

    const GIVEN_BY: Option<&'static str> = Some(
        ": `on_connect` gives it (`Admit::as_principal`), or the program that mounts the service or calls `handle_json` \
         (`Extensions::with`)",
    );

    fn check(states: &States) -> Option<String> {
        states.unavailable().principal.then(|| {
            "it takes `Principal`, but callers have no principal here: set one in `on_connect` (`Admit::as_principal`)"
                .to_owned()
        })
    }

    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.principal().cloned().ok_or(Missing)
    }
}

impl<T: Send + Sync + 'static> Parameter for State<T> {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.states().get().map(Self).ok_or(Missing)
    }

    fn check(states: &States) -> Option<String> {
        states.missing_message::<T>()
    }
}

impl Parameter for Ctx {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        Ok(Self::of(scope))
    }
}
