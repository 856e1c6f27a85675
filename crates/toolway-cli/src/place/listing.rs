//! What can a server list, and how is a list read to its end?

use toolway::client::Pages;
use toolway::types::{Prompt, Resource, ResourceTemplate, Tool};
use toolway::{Code, Result};

/// What a server has, as far as it was asked.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lists {
    pub(crate) tools: Option<Vec<Tool>>,
    pub(crate) resources: Option<Vec<Resource>>,
    pub(crate) templates: Option<Vec<ResourceTemplate>>,
    pub(crate) prompts: Option<Vec<Prompt>>,
}

impl Lists {
    /// Whether nothing was listed.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// `3 tools, 1 prompt`.
    pub(crate) fn words(&self) -> String {
        fn count<T>(list: Option<&Vec<T>>, noun: &str) -> Option<String> {
            let number = list?.len();
            Some(format!("{number} {noun}{}", if number == 1 { "" } else { "s" }))
        }
        let all = [
            count(self.tools.as_ref(), "tool"),
            count(self.resources.as_ref(), "resource"),
            count(self.templates.as_ref(), "resource template"),
            count(self.prompts.as_ref(), "prompt"),
        ];
        let all: Vec<_> = all.into_iter().flatten().collect();
        if all.is_empty() { "it offers nothing".to_owned() } else { all.join(", ") }
    }
}

/// Everything that a server lists. What it does not know the question for, it has nothing of: not every server that has
/// resources has families of them.
pub(crate) async fn all<T>(pages: Pages<T>) -> Result<Vec<T>> {
    match pages.all().await {
        Err(error) if error.code() == Some(Code::METHOD_NOT_FOUND) => Ok(Vec::new()),
        outcome => outcome,
    }
}
