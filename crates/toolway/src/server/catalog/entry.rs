//! What do tools, resources and prompts have in common as entries of a server?

use std::sync::Arc;

use crate::server::call::layer::stack::LayerStack;
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::call::state::{States, UnavailableValues};

/// A tool, a resource or a prompt of a server.
pub(crate) trait Entry {
    /// The name of this kind of element.
    const KIND: &'static str;

    /// Returns the name, or the URI or template of a resource. It is unique among entries of the same kind.
    fn key(&self) -> &str;

    /// Returns the origin of the entry.
    fn origin(&self) -> &Origin;

    /// Returns all mistakes in the entry, in sentences for its author.
    fn mistakes(&self, states: &States) -> Vec<String>;
}

/// The origin of an entry, the state and layers that its handler gets from there, and the scopes that its callers need.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) owner: EntryOwner,
    /// The state values of the server that the entry was added to, if that server was merged into another.
    pub(crate) states: Option<Arc<States>>,
    pub(crate) layers: LayerStack,
    /// The scopes that a caller needs.
    pub(crate) scopes: RequiredScopes,
}

/// The owner of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EntryOwner {
    /// The author of this server.
    #[default]
    Author,
    /// Another server. Its elements are not checked here. `is_from_source` is `true` if a source offers the element and
    /// may remove it again, and `false` if the author of this server added it permanently.
    Other { is_from_source: bool },
}

impl Origin {
    /// Returns the origin of an element of the author of this server, which needs these scopes.
    pub(crate) fn requiring(scopes: &[&str]) -> Self {
        let mut origin = Self::default();
        origin.scopes.add(scopes.iter().copied());
        origin
    }

    /// Returns the origin of an element of another server that the author of this server has added.
    pub(crate) fn foreign() -> Self {
        Self { owner: EntryOwner::Other { is_from_source: false }, ..Self::default() }
    }
}

/// Adds the mistakes in the author's entries, for calls that lack the values in `absent`.
pub(crate) fn check<E: Entry>(
    entries: &[E],
    states: &States,
    absent: impl Fn(&LayerStack) -> UnavailableValues,
    mistakes: &mut Vec<String>,
) {
    for entry in entries.iter().filter(|entry| entry.origin().owner == EntryOwner::Author) {
        let Origin { states: own, layers, scopes, .. } = entry.origin();
        let mut found = entry.mistakes(&own.as_deref().unwrap_or(states).with_unavailable(absent(layers)));
        found.extend(scopes.mistake());
        let (kind, key) = (E::KIND, entry.key());
        mistakes.extend(found.into_iter().map(|mistake| format!("{kind} `{key}`: {mistake}")));
    }
}
