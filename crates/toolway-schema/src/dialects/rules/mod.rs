//! Does a schema follow a provider's rules?
//!
//! The rules come from the providers' documentation and from the responses of their services. They are independent of
//! the converter, because [`convert`](super::convert) is tested against them. The converter uses them only to measure
//! the size of a strict schema.

mod form;
pub(crate) mod gemini;
pub(crate) mod json;
pub(crate) mod strict;
pub(crate) mod violation;

pub use violation::Violation;
