//! JSON Schema for tools of models: what a schema says, whether a value fits it, and how each provider takes it.
//!
//! [`Checker`] reads a schema once and tells what is wrong with a value, in words for a model. [`dialects::convert`] writes a
//! schema as a provider takes it, and [`Schema::restore`] turns the arguments of a call back. No I/O: nothing is ever fetched.
//!
//! | folder | question |
//! |---|---|
//! | `terms/` | What do the words of a schema mean? |
//! | `texts/` | How is a model told what is wrong? |
//! | `model/` | What does a schema say? The one reader of JSON Schema. |
//! | `check/` | Does a value fit a schema, and what did a caller mean who sent the right thing in the wrong type? |
//! | `author/` | What does an author say about a tool's arguments, and does it make sense? |
//! | `dialects/` | Which schema does a provider take, what is lost, and how are the arguments of a call turned back? |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod author;
mod check;
pub mod dialects;
mod model;
mod terms;
mod texts;

pub use author::examine::{Examined, examine, merge};
pub use author::names::Names;
pub use author::portable::{Side, drop_null, make_portable};
pub use check::{Checker, MOST_PROBLEMS};
pub use model::Schema;
pub use terms::format::Format;
pub use terms::keyword::adds_remarks_only;
pub use terms::number::whole;
pub use terms::types::Types;
pub use texts::closest;
#[doc(hidden)]
pub use texts::legal_name;
pub use texts::problem::{Problem, cut, not_among, output_text, shown_with_kind};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
