//! A boxed error type, and one error that reports several mistakes of an author.

use std::fmt::Write as _;

use crate::ground::error::{Error, ErrorKind};

/// Any error, boxed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Creates one error that lists several mistakes.
pub(crate) fn mistaken(what: &str, mistakes: &[String]) -> Error {
    let mut message = what.to_owned();
    for mistake in mistakes {
        write!(message, "\n  - {mistake}").expect("writing to a string cannot fail");
    }
    Error::new(ErrorKind::Misuse, message)
}
