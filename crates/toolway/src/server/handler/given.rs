//! Which values must come with a call, and what if nothing gives them?
//!
//! [`Principal`](crate::server::Principal) and [`Extension<T>`](crate::server::Extension) are given to a call: by
//! [`on_connect`](crate::server::ServerBuilder::on_connect), by a layer, or by a program that hands requests over. A door of the server's
//! own with none of these can give nothing, and a handler that takes such a value fails every call. That is told when the door is
//! opened. Where it cannot be known in advance, the first call that fails tells it in the log.

use std::any::type_name;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::server::Server;
use crate::server::build::finish::mistaken;
use crate::server::call::scope::Scope;
use crate::server::handler::parameter::Parameter;

/// Values that no call can bring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) principal: bool,
    pub(crate) extensions: bool,
}

impl Server {
    /// Looks for handlers that would fail every call over a door where only `on_connect` and layers give values.
    ///
    /// # Errors
    ///
    /// One error that lists them all.
    #[allow(dead_code, reason = "only doors ask that open a socket or take stdin and stdout")]
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
            tool.check_given(&inner.states, absent(!tool.layers.is_empty()), &mut mistakes);
        }
        for resource in &elements.resources {
            resource.check_given(&inner.states, absent(!resource.layers.is_empty()), &mut mistakes);
        }
        for prompt in &elements.prompts {
            prompt.check_given(&inner.states, absent(!prompt.layers.is_empty()), &mut mistakes);
        }
        for reader in &inner.readers {
            reader.check_given("the handler of `read_resource`", &inner.states, absent(false), &mut mistakes);
        }
        for lister in &inner.listers {
            lister.check_given(
                "the handler of `list_resources`",
                &inner.states,
                absent(false),
                &mut mistakes,
            );
        }
        let mut methods: Vec<_> = inner.methods.iter().collect();
        methods.sort_by_key(|(name, _)| *name);
        for (name, method) in methods {
            let absent = absent(!method.layers.is_empty());
            method.check_given(&format!("method `{name}`"), &inner.states, absent, &mut mistakes);
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(mistaken(&format!("the server {:?} cannot be served {door}", inner.info.name), &mistakes))
    }
}

/// Remembers that the log was told that callers have no name.
#[derive(Debug, Default)]
pub(crate) struct Told(AtomicBool);

/// Returns the text for the caller where a missing `P` is the caller's affair. If the server never asks callers who they are, the
/// log says once how a call gets a `P`.
pub(crate) fn needed<P: Parameter>(scope: &Scope) -> Option<&'static str> {
    let text = P::NEEDED?;
    let inner = &scope.round.server.inner;
    if inner.admission.is_none() && !inner.told.0.swap(true, Ordering::Relaxed) {
        let (kind, given) = (type_name::<P>(), P::GIVEN_BY.unwrap_or_default());
        tracing::warn!("a call came without the `{kind}` that its handler takes{given}");
    }
    Some(text)
}

/// Describes a missing parameter for the log.
pub(crate) fn lacking<P: Parameter>() -> String {
    format!("{}{}", type_name::<P>(), P::GIVEN_BY.unwrap_or_default())
}
