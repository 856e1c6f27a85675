//! Values attached to one request: the code that receives the request inserts them, and handlers read them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Values attached to one request, at most one of each type.
///
/// ```
/// use toolway::server::Extensions;
///
/// let extensions = Extensions::new().with(7_u32);
/// assert_eq!(extensions.get::<u32>().as_deref(), Some(&7));
/// ```
///
/// Pass the values to [`Server::handle_json`](crate::Server::handle_json), or insert them into the extensions of an
/// `http::Request`. A handler reads a value with a parameter of type [`Extension<T>`](crate::server::Extension), or
/// with [`Ctx::get`](crate::Ctx::get) if the value may be missing.
///
/// ```
/// use serde_json::json;
/// use toolway::prelude::*;
/// use toolway::server::{Extension, Extensions};
///
/// struct User(&'static str);
///
/// /// Say who calls.
/// #[tool]
/// fn whoami(user: Extension<User>) -> &'static str {
///     user.0
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let server = Server::new("app", "1.0.0").tools(tools![whoami]).build()?;
/// let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami"}});
/// let answer = server.handle_json(call.to_string(), Extensions::new().with(User("Ann"))).await;
/// assert!(answer.unwrap().contains("Ann"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Option<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// Creates an empty set of values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value. It replaces a previous value of the same type.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.insert(value);
        self
    }

    /// Adds a value. It replaces a previous value of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.get_or_insert_default().insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// Adds all values of another set. They replace previous values of the same type.
    pub(crate) fn extend(&mut self, over: Self) {
        match (&mut self.0, over.0) {
            (_, None) => {}
            (Some(values), Some(over)) => values.extend(over),
            (none, over) => *none = over,
        }
    }

    /// Returns the value of this type, if there is one.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.as_ref().map_or(0, HashMap::len))
    }
}
