//! What can a server list, and how is a whole list read?

use toolway::client::Pages;
use toolway::types::{Prompt, Resource, ResourceTemplate, Tool};
use toolway::{Code, Result};

/// The lists of a server; `None` for a list that was not read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lists {
    pub(crate) tools: Option<Vec<Tool>>,
    pub(crate) resources: Option<Vec<Resource>>,
    pub(crate) templates: Option<Vec<ResourceTemplate>>,
    pub(crate) prompts: Option<Vec<Prompt>>,
}

impl Lists {
    /// Returns whether no list was read.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a summary such as `3 tools, 1 prompt`.
    pub(crate) fn summary(&self) -> String {
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
        if all.is_empty() { "the server offers nothing".to_owned() } else { all.join(", ") }
    }
}

/// Reads all pages of a list. If the server does not know the method, the list is empty: not every server with
/// resources has resource templates.
pub(crate) async fn read_all<T>(pages: Pages<T>) -> Result<Vec<T>> {
    match pages.all().await {
        Err(error) if error.code() == Some(Code::METHOD_NOT_FOUND) => Ok(Vec::new()),
        outcome => outcome,
    }
}
