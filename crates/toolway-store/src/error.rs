//! Why did a visit to the store fail, and may it be repeated?

use std::error::Error;
use std::fmt;

/// The result of a visit to a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A failed visit to a store.
#[derive(Debug)]
pub struct StoreError {
    failure: StoreFailure,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The ways in which a visit can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFailure {
    /// Nothing was done: the store could not be reached, or refused the work. It may be repeated.
    NotDone,
    /// The work may be done or not, because the reply was lost. A [repeatable](crate::Step::is_repeatable) step may be
    /// repeated.
    Unknown,
    /// The store has data that it cannot read, or was used wrongly. Repeating does not help.
    Broken,
}

impl StoreError {
    /// An error that says what happened, in a sentence without a full stop. It must contain no credentials.
    pub fn new(failure: StoreFailure, message: impl Into<String>) -> Self {
        Self { failure, message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns how it failed.
    pub fn failure(&self) -> StoreFailure {
        self.failure
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
