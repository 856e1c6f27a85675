//! What do tools, resources and prompts have in common as entries of a server?

use std::sync::Arc;

use crate::server::call::layer::stages::Stages;
use crate::server::call::state::{Absent, States};

/// A tool, a resource or a prompt that a server has.
pub(crate) trait Entry {
    /// The word for one of this kind.
    const KIND: &'static str;

    /// The name, or the URI or template of a resource: no two of a kind have the same.
    fn key(&self) -> &str;

    /// Where it comes from.
    fn origin(&self) -> &Origin;

    /// Everything that is wrong with it, in sentences for its author.
    fn mistakes(&self, states: &States) -> Vec<String>;
}

/// Where an entry comes from, and what surrounds its handler because of that.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) owner: Owner,
    /// The values of the server that it was made for, if that one was merged into another.
    pub(crate) states: Option<Arc<States>>,
    pub(crate) layers: Stages,
}

/// Whose an element is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The author's of this server.
    #[default]
    Author,
    /// Another server's, added by the author of this one: nothing of it is checked here.
    /// It is `offered` by a source, which may take it back, or was added by the author for good.
    Other { is_offered: bool },
}

impl Origin {
    /// That of an element of another server, which the author of this one has added.
    pub(crate) fn foreign() -> Self {
        Self { owner: Owner::Other { is_offered: false }, ..Self::default() }
    }
}

/// Adds what is wrong with those of the author, where calls bring nothing that is `absent`.
pub(crate) fn check<E: Entry>(
    entries: &[E],
    states: &States,
    absent: impl Fn(&Stages) -> Absent,
    mistakes: &mut Vec<String>,
) {
    for entry in entries.iter().filter(|entry| entry.origin().owner == Owner::Author) {
        let Origin { states: own, layers, .. } = entry.origin();
        let found = entry.mistakes(&own.as_deref().unwrap_or(states).without(absent(layers)));
        let (kind, key) = (E::KIND, entry.key());
        mistakes.extend(found.into_iter().map(|mistake| format!("{kind} `{key}`: {mistake}")));
    }
}
