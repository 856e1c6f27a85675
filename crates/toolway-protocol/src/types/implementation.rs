//! Who a client or a server is.

use serde::Deserialize;

use crate::era::since;
use crate::json::{Encode, Encoder};

/// The name and version of a program, for display only: no decision may rest on it.
///
/// ```
/// use toolway_protocol::types::Implementation;
///
/// let me = Implementation::new("calculator", "1.0.0").with_title("Calculator");
/// assert_eq!(me.display_name(), "Calculator");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// Where to read more.
    #[serde(default)]
    pub website_url: Option<String>,
}

impl Implementation {
    /// A program with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), title: None, description: None, website_url: None }
    }

    /// Adds a name for people.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds what the program is for.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds where to read more.
    pub fn with_website_url(mut self, url: impl Into<String>) -> Self {
        self.website_url = Some(url.into());
        self
    }

    /// The name to show: the title if there is one.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl Encode for Implementation {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.put("name", &self.name);
            members.put("version", &self.version);
            members.since(since::TITLE, "title", self.title.as_ref());
            members.since(since::IDENTITY, "description", self.description.as_ref());
            members.since(since::IDENTITY, "websiteUrl", self.website_url.as_ref());
        });
    }
}
