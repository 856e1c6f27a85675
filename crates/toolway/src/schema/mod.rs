//! JSON Schema: what a tool's types say about its arguments, and whether a call keeps to it.
//!
//! | file | question |
//! |---|---|
//! | `generate.rs`, `fields.rs` | How does a function's signature become a schema? |
//! | `typed.rs` | Does decoding into the types enforce all that their schema says? |
//! | `portable.rs` | How does a schema become one that every client understands? |
//! | `merge.rs`, `names.rs` | What does the author add to what the types say, and does it make sense? |
//! | `check.rs`, `walk.rs`, `compile.rs`, `node.rs`, `keyword.rs`, `pattern.rs`, `number.rs`, `format.rs` | Does a value fit a schema? |
//! | `problem.rs`, `../closest.rs` | How is a model told what is wrong? |
//! | `variants.rs` | Which values does an enum have? |
//! | `text.rs` | Which text does a type expect that is read from text? |
//! | `coerce.rs` | What did a caller mean who sent the right thing in the wrong type? |
//! | `full.rs`, `without_full.rs` | What about keywords that few schemas use? |

mod check;
mod coerce;
mod compile;
mod fields;
mod format;
#[cfg(feature = "full-schema")]
mod full;
mod generate;
mod keyword;
mod merge;
mod names;
mod node;
mod number;
mod pattern;
mod portable;
mod problem;
mod text;
mod typed;
mod variants;
mod walk;
#[cfg(not(feature = "full-schema"))]
mod without_full;

pub(crate) use check::Checker;
#[cfg(feature = "full-schema")]
pub(crate) use full::Engine;
pub use generate::{Arg, Generator, Input, InputSchema, input_schema_of};
pub(crate) use generate::{object_by_default, output_schema};
pub(crate) use merge::{Examined, examine};
pub(crate) use number::whole;
pub(crate) use problem::{Problem, cut, not_among, output_text, shown_with_kind};
pub(crate) use text::{expected_text, expected_texts};
pub(crate) use variants::{listed, variants};
pub(crate) use walk::MOST_PROBLEMS;
#[cfg(not(feature = "full-schema"))]
pub(crate) use without_full::Engine;

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod generate_tests;
#[cfg(test)]
mod tests;
