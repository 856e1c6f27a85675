//! Can a door give the handlers what they take?
//!
//! A door of the server's own, without a hook or a layer that could give values to calls, cannot: a handler that takes such a
//! value fails every call. That is told when the door is opened.

use crate::ground::error::Result;
use crate::ground::mistakes::mistaken;
use crate::server::Server;
use crate::server::call::layer::stages::Stages;
use crate::server::call::state::Absent;

impl Server {
    /// Looks for handlers that would fail every call over a door where only `on_connect` and layers give values.
    ///
    /// # Errors
    ///
    /// One error that lists them all.
    pub(crate) fn check_door(&self, door: &str) -> Result<()> {
        let inner = &self.inner;
        if inner.admission.is_some() {
            return Ok(());
        }
        // A layer may insert any value, but it cannot name the caller.
        let absent = |layers: &Stages| Absent {
            principal: true,
            extensions: layers.is_empty() && inner.layers.is_empty(),
        };
        let states = &inner.states;
        let mut mistakes = inner.registry.load().elements.check(states, absent);
        for reader in &inner.readers {
            reader.check("the handler of `read_resource`", states, absent(&reader.layers), &mut mistakes);
        }
        for lister in &inner.listers {
            lister.check("the handler of `list_resources`", states, absent(&lister.layers), &mut mistakes);
        }
        let mut methods: Vec<_> = inner.methods.iter().collect();
        methods.sort_by_key(|(name, _)| *name);
        for (name, method) in methods {
            method.check(&format!("method `{name}`"), states, absent(&method.layers), &mut mistakes);
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(mistaken(&format!("the server {:?} cannot be served {door}", inner.info.name), &mistakes))
    }
}
