//! What may a caller see? Everything, unless the admission hook limits it.
//!
//! A hidden element is treated as if it did not exist: lists leave it out, and a request for it gets the same answer as
//! for an unknown name. A URI belongs to the one element that would answer it, and only that element decides: a hidden
//! resource or template cannot be read through another template that matches the same URI.

use std::collections::HashSet;

use toolway_protocol::types::Resource;

/// The elements that a caller may see, by kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    pub(crate) tools: Only,
    pub(crate) prompts: Only,
    pub(crate) resources: Only,
    pub(crate) templates: Only,
}

/// A set of names, or everything.
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

    /// Returns whether a resource is visible, by its URI or its name.
    pub(crate) fn resource(&self, resource: &Resource) -> bool {
        self.resources.lets(&resource.uri) || self.resources.lets(&resource.name)
    }

    /// Returns whether a resource template is visible.
    pub(crate) fn template(&self, template: &str, name: &str) -> bool {
        self.templates.lets(template) || self.templates.lets(name)
    }
}
