//! Completion: which argument is being completed, and which values are suggested?

use std::collections::BTreeMap;

use serde::de::{self, Deserialize, Deserializer};

use crate::capability::JsonObject;
use crate::json::{Encode, Encoder, RawJson};
use crate::wire::wire;

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
        /// The prompt or resource template that the argument belongs to.
        reference: Reference = "ref";
        /// The argument to complete.
        argument: CompleteArgument = "argument";
        /// The arguments that are already known.
        context (with_context): Option<CompleteContext> = "context", since COMPLETION_CONTEXT;
    }

    /// An argument to complete.
    ///
    /// ```
    /// use toolway_protocol::types::CompleteArgument;
    ///
    /// assert_eq!(CompleteArgument::new("style", "ca").name, "style");
    /// ```
    pub struct CompleteArgument {
        /// The name of the argument.
        name: String = "name";
        /// The text that was entered so far.
        value: String = "value";
    }

    /// The arguments that are already known when another one is completed.
    ///
    /// ```
    /// use toolway_protocol::types::CompleteContext;
    ///
    /// let known = std::collections::BTreeMap::from([("lang".to_owned(), "rust".to_owned())]);
    /// assert!(CompleteContext::new().with_arguments(known).arguments.is_some());
    /// ```
    pub struct CompleteContext {
        /// The values of arguments that were entered before.
        arguments (with_arguments): Option<BTreeMap<String, String>> = "arguments";
    }

    /// A reference to a prompt, by its name.
    ///
    /// ```
    /// use toolway_protocol::types::PromptReference;
    ///
    /// assert_eq!(PromptReference::new("review").name, "review");
    /// ```
    pub struct PromptReference {
        "type": "ref/prompt";
        /// The name of the prompt.
        name: String = "name";
        /// The display name.
        title (with_title): Option<String> = "title", since TITLE;
    }

    /// A reference to a resource or a resource template, by its URI.
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

/// The prompt or resource template that an argument belongs to.
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
        match text.tag("type").map_err(de::Error::custom)?.as_deref() {
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
        /// The values, at most 100.
        values: Vec<String> = "values";
        /// The total number of suggestions.
        total (with_total): Option<i64> = "total";
        /// `true` if there are more suggestions than these.
        has_more (with_has_more): Option<bool> = "hasMore";
    }

    /// The result of a request for suggestions.
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
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
        frame "resultType";
    }
}
