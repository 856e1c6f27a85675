//! Completion: which argument is being typed, and how might it go on?

use std::collections::BTreeMap;

use serde::de::{self, Deserialize, Deserializer};

use crate::capability::Settings;
use crate::json::{Encode, Encoder, RawJson};
use crate::wire::{tag, wire};

wire! {
    /// A request for suggestions.
    ///
    /// ```
    /// use toolway_protocol::types::{Complete, CompleteArgument, PromptReference, Reference};
    ///
    /// let asked = Complete::new(
    ///     Reference::Prompt(PromptReference::new("review")),
    ///     CompleteArgument::new("style", "ca"),
    /// );
    /// assert_eq!(asked.argument.value, "ca");
    /// ```
    pub struct Complete {
        /// What the argument belongs to.
        reference: Reference = "ref";
        /// The argument so far.
        argument: CompleteArgument = "argument";
        /// What is known already.
        context (with_context): Option<CompleteContext> = "context", since COMPLETION_CONTEXT;
    }

    /// An argument that is being typed.
    ///
    /// ```
    /// use toolway_protocol::types::CompleteArgument;
    ///
    /// assert_eq!(CompleteArgument::new("style", "ca").name, "style");
    /// ```
    pub struct CompleteArgument {
        /// Its name.
        name: String = "name";
        /// What was typed so far.
        value: String = "value";
    }

    /// What is known already when an argument is typed.
    ///
    /// ```
    /// use toolway_protocol::types::CompleteContext;
    ///
    /// let known = std::collections::BTreeMap::from([("lang".to_owned(), "rust".to_owned())]);
    /// assert!(CompleteContext::new().with_arguments(known).arguments.is_some());
    /// ```
    pub struct CompleteContext {
        /// Arguments that were filled in before.
        arguments (with_arguments): Option<BTreeMap<String, String>> = "arguments";
    }

    /// A prompt by name.
    ///
    /// ```
    /// use toolway_protocol::types::PromptReference;
    ///
    /// assert_eq!(PromptReference::new("review").name, "review");
    /// ```
    pub struct PromptReference {
        "type": "ref/prompt";
        /// Its name.
        name: String = "name";
        /// A name for people.
        title (with_title): Option<String> = "title", since TITLE;
    }

    /// A resource or a template by its URI.
    ///
    /// ```
    /// use toolway_protocol::types::ResourceReference;
    ///
    /// assert_eq!(ResourceReference::new("notes://{id}").uri, "notes://{id}");
    /// ```
    pub struct ResourceReference {
        "type": "ref/resource";
        /// The URI or the template.
        uri: String = "uri";
    }
}

/// What an argument belongs to.
///
/// ```
/// use toolway_protocol::types::Reference;
/// use toolway_protocol::RawJson;
///
/// let text = RawJson::parse(r#"{"type":"ref/resource","uri":"notes://{id}"}"#)?;
/// assert!(matches!(text.decode()?, Reference::Resource(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A prompt.
    Prompt(PromptReference),
    /// A resource template.
    Resource(ResourceReference),
}

impl Encode for Reference {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Prompt(reference) => reference.encode(to),
            Self::Resource(reference) => reference.encode(to),
        }
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RawJson::deserialize(deserializer)?;
        match tag(&text, "type").map_err(de::Error::custom)?.as_deref() {
            Some("ref/prompt") => text.decode().map(Self::Prompt).map_err(de::Error::custom),
            Some("ref/resource") => text.decode().map(Self::Resource).map_err(de::Error::custom),
            Some(other) => Err(de::Error::unknown_variant(other, &["ref/prompt", "ref/resource"])),
            None => Err(de::Error::missing_field("type")),
        }
    }
}

wire! {
    /// Suggestions, the best first.
    ///
    /// ```
    /// use toolway_protocol::types::Completion;
    ///
    /// let completion = Completion::new(vec!["casual".to_owned()]).with_has_more(false);
    /// assert_eq!(completion.values, ["casual"]);
    /// ```
    pub struct Completion {
        /// At most a hundred of them.
        values: Vec<String> = "values";
        /// How many there are in all.
        total (with_total): Option<i64> = "total";
        /// Whether there are more than those here.
        has_more (with_has_more): Option<bool> = "hasMore";
    }

    /// The answer to a request for suggestions.
    ///
    /// ```
    /// use toolway_protocol::types::{CompleteResult, Completion};
    ///
    /// let result = CompleteResult::new(Completion::new(vec!["casual".to_owned()]));
    /// assert_eq!(result.completion.values.len(), 1);
    /// ```
    pub struct CompleteResult {
        /// The suggestions.
        completion: Completion = "completion";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
        frame "resultType";
    }
}
