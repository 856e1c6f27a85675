//! What may a caller see? Everything, unless the admission hook or its scopes limit it.
//!
//! A hidden element is treated as if it did not exist: lists leave it out, and a request for it gets the same answer as
//! for an unknown name. A URI belongs to the one element that would answer it, and only that element decides: a hidden
//! resource or template cannot be read through another template that matches the same URI.

use std::collections::HashSet;
use std::sync::Arc;

use crate::server::call::required_scopes::RequiredScopes;
use crate::server::call::verified::Verified;

/// The elements that a caller may see, by kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visibility {
    pub(crate) tools: NameFilter,
    pub(crate) prompts: NameFilter,
    pub(crate) resources: NameFilter,
    pub(crate) templates: NameFilter,
    /// The caller whose scopes decide, if elements that need other scopes are hidden.
    pub(crate) holder: Option<Arc<Verified>>,
}

/// A set of names, or everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameFilter(Option<HashSet<String>>);

impl NameFilter {
    pub(crate) fn restrict_to(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        let mut names: HashSet<String> = names.into_iter().map(Into::into).collect();
        if let Some(kept) = &self.0 {
            names.retain(|name| kept.contains(name));
        }
        self.0 = Some(names);
    }

    pub(crate) fn allows(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(name))
    }

    pub(crate) fn is_all(&self) -> bool {
        self.0.is_none()
    }
}

impl Visibility {
    /// Returns whether an element that needs these scopes is visible.
    pub(crate) fn allows_scopes(&self, scopes: &RequiredScopes) -> bool {
        self.holder.as_ref().is_none_or(|caller| caller.has_all(scopes))
    }
}
