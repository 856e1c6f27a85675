//! Does a schema keep to a provider's rules?
//!
//! Written from what the providers document and from what their services answer, and from nothing else here: this is what
//! [`convert`](super::convert) is tested by.

mod form;
mod gemini;
mod json;
mod strict;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use super::provider::Provider;

/// A rule that a schema breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The place in the schema, as a JSON pointer.
    pub pointer: String,
    /// The rule, and how it is broken.
    pub rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at `#{}`: {}", self.pointer, self.rule)
    }
}

/// Every rule that the schema of a tool's arguments breaks. Without one, the provider takes it.
pub fn check(provider: Provider, schema: &Value) -> Vec<Violation> {
    let mut found = Found::default();
    match provider {
        Provider::OpenAi => json::openai(schema, &mut found),
        Provider::Anthropic => json::anthropic(schema, &mut found),
        Provider::OpenAiStrict => strict::check(schema, &mut found),
        Provider::Gemini => gemini::check(schema, &mut found),
    }
    found.0
}

#[derive(Debug, Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, pointer: &str, rule: impl Into<String>) {
        self.0.push(Violation { pointer: pointer.to_owned(), rule: rule.into() });
    }
}

/// A step down.
fn step(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// How deep a schema is looked into. Nobody takes more, and a checker needs an end.
const MAX_DEPTH: usize = 100;
