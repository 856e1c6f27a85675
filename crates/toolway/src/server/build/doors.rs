//! Can a door give the handlers what they take?
//!
//! A door of the server's own, without a hook or a layer that could give values to calls, cannot: a handler that takes such a
//! value fails every call. That is told when the door is opened.

use crate::ground::error::Result;
use crate::ground::mistakes::mistaken;
use crate::server::Server;
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
        let mut mistakes = Vec::new();
        let snapshot = inner.registry.load();
        let elements = snapshot.elements();
        // A layer may insert any value, but it cannot name the caller.
        let absent =
            |has_layers: bool| Absent { principal: true, extensions: !has_layers && inner.layers.is_empty() };
        for tool in &elements.tools {
            tool.check(&inner.states, absent(!tool.layers.is_empty()), &mut mistakes);
        }
        for resource in &elements.resources {
            resource.check(&inner.states, absent(!resource.layers.is_empty()), &mut mistakes);
        }
        for prompt in &elements.prompts {
            prompt.check(&inner.states, absent(!prompt.layers.is_empty()), &mut mistakes);
        }
        for reader in &inner.readers {
            reader.check("the handler of `read_resource`", &inner.states, absent(false), &mut mistakes);
        }
        for lister in &inner.listers {
            lister.check("the handler of `list_resources`", &inner.states, absent(false), &mut mistakes);
        }
        let mut methods: Vec<_> = inner.methods.iter().collect();
        methods.sort_by_key(|(name, _)| *name);
        for (name, method) in methods {
            let absent = absent(!method.layers.is_empty());
            method.check(&format!("method `{name}`"), &inner.states, absent, &mut mistakes);
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(mistaken(&format!("the server {:?} cannot be served {door}", inner.info.name), &mistakes))
    }
}
