//! The name under which a caller was admitted.

use std::fmt;
use std::sync::Arc;

/// The identity of the caller, as a parameter of a handler: the principal that
/// [`on_connect`](crate::server::ServerBuilder::on_connect) has [admitted](crate::server::Admit::as_principal), or that
/// the application has attached to the request. A caller cannot send it as an argument.
///
/// A call without a principal fails; if the principal is optional, use
/// [`Ctx::principal`](crate::server::Ctx::principal) instead. `Option<Principal>` is not supported as a parameter:
/// every type that can be deserialized is an argument, and Rust cannot rule out that `Option<Principal>` becomes
/// deserializable in the future.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::Principal;
///
/// /// Say who calls.
/// #[tool]
/// fn whoami(caller: Principal) -> String {
///     format!("you are {caller}")
/// }
///
/// assert_eq!(whoami(Principal::new("ann")), "you are ann");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(pub(crate) Arc<str>);

impl Principal {
    /// Creates a principal, for [`handle_json`](crate::server::Server::handle_json) and for tests.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Returns the application's name for the principal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.as_str()).finish()
    }
}
