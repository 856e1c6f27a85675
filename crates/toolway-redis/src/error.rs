//! Why could a store not be opened, and which setting must change?

use std::error::Error;
use std::fmt;

use toolway_store::{StoreError, StoreFailure};

/// A reason for which [`connect`](crate::Builder::connect) refuses to open a store. It says what to do, and never
/// contains credentials.
#[derive(Debug)]
pub struct SetupError {
    setting: &'static str,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl SetupError {
    /// Returns the setting that is wrong: `url`, `prefix`, `timeout`, `durability`, `user`, `root_certificate` and the
    /// like of this program, or the name of a setting of the server, such as `maxmemory-policy`.
    pub fn setting(&self) -> &str {
        self.setting
    }

    pub(crate) fn new(setting: &'static str, message: impl Into<String>) -> Self {
        Self { setting, message: message.into(), source: None }
    }

    pub(crate) fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.message)
    }
}

impl Error for SetupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<SetupError> for StoreError {
    fn from(error: SetupError) -> Self {
        Self::new(StoreFailure::Broken, error.to_string()).caused_by(error)
    }
}
