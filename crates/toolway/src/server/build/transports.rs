//! Can a transport provide the parameters of all handlers?
//!
//! Only `on_connect` and layers attach values to a call, such as extensions. Without them, a built-in transport cannot
//! provide such a value, and a handler that needs one would fail every call. This is reported when the transport is
//! started.

use crate::ground::error::Result;
use crate::ground::mistakes::misuse_error;
use crate::ground::small_sort::sorted_places;
use crate::server::Server;
use crate::server::call::layer::stack::LayerStack;
use crate::server::call::state::UnavailableValues;

/// The name of the transport on which credentials are verified.
pub(crate) const OVER_HTTP: &str = "over HTTP";

impl Server {
    /// Checks for handlers that would fail every call over a transport where only `on_connect` and layers attach
    /// values.
    ///
    /// # Errors
    ///
    /// One error that lists all these handlers.
    pub(crate) fn check_transport(&self, door: &str) -> Result<()> {
        let inner = &self.inner;
        if inner.admission.is_some() {
            return Ok(());
        }
        let is_protected = inner.protection.is_some() && door == OVER_HTTP;
        // A layer may attach any value, but it cannot set the principal.
        let absent = |layers: &LayerStack| UnavailableValues {
            principal: !is_protected,
            extensions: layers.is_empty() && inner.layers.is_empty(),
        };
        let states = &inner.states;
        let mut mistakes = inner.registry.load().elements.check(states, absent);
        if door == OVER_HTTP && inner.protection.is_none() && inner.registry.has_scopes() {
            mistakes.push(
                "elements need scopes, but no caller has any: protect the server with `auth`".to_owned(),
            );
        }
        for reader in &inner.read_handlers {
            reader.check("the handler of `read_resource`", states, absent(&reader.layers), &mut mistakes);
        }
        for lister in &inner.list_handlers {
            lister.check("the handler of `list_resources`", states, absent(&lister.layers), &mut mistakes);
        }
        let methods: Vec<_> = inner.methods.iter().collect();
        for place in sorted_places(methods.len(), &|one, other| methods[one].0.cmp(methods[other].0)) {
            let (name, method) = methods[place];
            method.check(&format!("method `{name}`"), states, absent(&method.layers), &mut mistakes);
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(misuse_error(&format!("the server {:?} cannot be served {door}", inner.info.name), &mistakes))
    }
}
