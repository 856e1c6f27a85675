//! How do layers wrap one entry, and which scopes does it need?

use crate::server::call::layer::service::{Layer, Next, Service};
use crate::server::call::layer::stack::CallKind;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::ToolEntry;

macro_rules! elements {
    ($($(#[$doc:meta])* $entry:ident, $kind:ident;)*) => {$(
        impl $entry {
            $(#[$doc])*
            pub fn layer<L: Layer>(mut self, layer: L) -> Self
            where
                L::Service: Service,
            {
                self.origin.layers.push(Some(CallKind::$kind), layer.layer(Next::new()));
                self
            }

            /// Requires scopes: a caller whose token lacks one is refused, over HTTP with the status 403 and a challenge
            /// that names the scopes. Over HTTP, a caller whose credentials were not verified has no scopes; on a pipe,
            /// scopes do not apply. A second call adds scopes.
            pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
                self.origin.scopes.add(scopes);
                self
            }
        }
    )*};
}
elements! {
    /// Wraps the calls of this tool in a layer, inside the layers of the server. The first layer that is added is the
    /// outermost.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::ToolEntry;
    /// use toolway::server::layer::tower;
    /// use ::tower::limit::ConcurrencyLimitLayer;
    ///
    /// // One at a time.
    /// let print = ToolEntry::from_fn("print", || async { "printed" }).layer(tower(ConcurrencyLimitLayer::new(1)));
    /// let server = Server::new("printer", "1.0.0").tool(print).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    ToolEntry, Tool;
    /// Wraps reads of this resource by clients in a layer, inside the layers of the server. The first layer that is
    /// added is the outermost.
    ResourceEntry, Resource;
    /// Wraps the calls of this prompt in a layer, inside the layers of the server. The first layer that is added is the
    /// outermost.
    PromptEntry, Prompt;
}
