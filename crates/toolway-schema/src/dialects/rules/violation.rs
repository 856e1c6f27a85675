//! Which rules does a schema break?

use std::fmt;

use crate::terms::refs::escaped;

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

#[derive(Debug, Default)]
pub(crate) struct Found(pub(crate) Vec<Violation>);

impl Found {
    pub(crate) fn add(&mut self, pointer: &str, rule: impl Into<String>) {
        self.0.push(Violation { pointer: pointer.to_owned(), rule: rule.into() });
    }
}

/// A step down.
pub(crate) fn step(at: &str, name: &str) -> String {
    format!("{at}/{}", escaped(name))
}

/// How deep a schema is read. No provider takes more, and a checker needs an end.
pub(crate) const MAX_DEPTH: usize = 100;
