//! What may a caller see? Everything, unless the admission hook limits it.
//!
//! A hidden element is treated as if it did not exist: lists leave it out, and a request for it gets the same answer as
//! for an unknown name. A URI belongs to the one element that would answer it, and only that element decides: a hidden
//! resource or template cannot be read through another template that matches the same URI.

use std::collections::HashSet;

use toolway_protocol::types::Resource;

/// The elements that a caller may see, by kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visibility {
    pub(crate) tools: NameFilter,
    pub(crate) prompts: NameFilter,
    pub(crate) resources: NameFilter,
    pub(crate) templates: NameFilter,
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
    pub(crate) fn allows_tool(&self, name: &str) -> bool {
        self.tools.allows(name)
    }

    pub(crate) fn allows_prompt(&self, name: &str) -> bool {
        self.prompts.allows(name)
    }

    /// Returns whether a resource is visible, by its URI or its name.
    pub(crate) fn allows_resource(&self, resource: &Resource) -> bool {
        self.resources.allows(&resource.uri) || self.resources.allows(&resource.name)
    }

    /// Returns whether a resource template is visible.
    pub(crate) fn allows_template(&self, template: &str, name: &str) -> bool {
        self.templates.allows(template) || self.templates.allows(name)
    }
}
