//! What may a caller see? Everything, unless its admission said otherwise.
//!
//! What is hidden is not there: lists leave it out, and whatever names it is answered as if it named something that never was.
//! A URI belongs to the one element that would answer it, and that one decides: neither a resource nor a family that is
//! hidden can be read through another family that takes the same URI.

use std::collections::HashSet;

use toolway_protocol::types::Resource;

/// What a caller may see, of each kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    pub(crate) tools: Only,
    pub(crate) prompts: Only,
    pub(crate) resources: Only,
    pub(crate) templates: Only,
}

/// Names, or everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Only(Option<HashSet<String>>);

impl Only {
    pub(crate) fn keep(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        let mut names: HashSet<String> = names.into_iter().map(Into::into).collect();
        if let Some(kept) = &self.0 {
            names.retain(|name| kept.contains(name));
        }
        self.0 = Some(names);
    }

    pub(crate) fn lets(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(name))
    }

    pub(crate) fn is_all(&self) -> bool {
        self.0.is_none()
    }
}

impl Allowed {
    pub(crate) fn tool(&self, name: &str) -> bool {
        self.tools.lets(name)
    }

    pub(crate) fn prompt(&self, name: &str) -> bool {
        self.prompts.lets(name)
    }

    /// Whether a resource that is registered under this URI and name may be seen.
    pub(crate) fn resource(&self, resource: &Resource) -> bool {
        self.resources.lets(&resource.uri) || self.resources.lets(&resource.name)
    }

    /// Whether a family may be seen.
    pub(crate) fn template(&self, template: &str, name: &str) -> bool {
        self.templates.lets(template) || self.templates.lets(name)
    }
}
