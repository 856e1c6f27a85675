//! Does a schema keep to a provider's rules?
//!
//! Written from what the providers document and from what their services answer, and from nothing else here: this is what
//! [`convert`](super::convert) is tested by. It asks these rules how large a strict schema is.

mod form;
pub(crate) mod gemini;
pub(crate) mod json;
pub(crate) mod strict;
pub(crate) mod violation;

pub use violation::Violation;
