//! Which rules does a schema break?

use std::fmt;

use crate::terms::refs::escape_step;

/// A rule that a schema breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The position in the schema, as a JSON pointer.
    pub pointer: String,
    /// The rule, and how the schema breaks it.
    pub rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at `#{}`: {}", self.pointer, self.rule)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Violations(pub(crate) Vec<Violation>);

impl Violations {
    pub(crate) fn add(&mut self, pointer: &str, rule: impl Into<String>) {
        self.0.push(Violation { pointer: pointer.to_owned(), rule: rule.into() });
    }
}

/// Appends a step to a JSON pointer.
pub(crate) fn append_step(at: &str, name: &str) -> String {
    format!("{at}/{}", escape_step(name))
}

/// The maximum depth of a schema. No provider accepts deeper ones, and the checker needs a limit.
pub(crate) const MAX_DEPTH: usize = 100;
