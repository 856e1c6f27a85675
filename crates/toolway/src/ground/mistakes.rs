//! A boxed error type, and an error that reports several mistakes of the programmer at once.

use std::fmt::Write as _;

use crate::ground::error::{Error, ErrorKind};

/// Any error, boxed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Creates one error that lists several mistakes.
pub(crate) fn misuse_error(what: &str, mistakes: &[String]) -> Error {
    let mut message = what.to_owned();
    for mistake in mistakes {
        write!(message, "\n  - {mistake}").expect("writing to a string cannot fail");
    }
    Error::new(ErrorKind::Misuse, message)
}
