//! JSON Schema for tool arguments: what a schema means, whether a value fits it, and which form each model provider
//! accepts.
//!
//! [`Checker`] compiles a schema once and reports the problems of a value, in words for a model. [`dialects::convert`]
//! writes a schema in the form that a provider accepts, and [`Schema::restore`] converts the arguments of a call back
//! to the form that the tool expects. The crate does no I/O: a reference to another document is never fetched.
//!
//! | folder | question |
//! |---|---|
//! | `terms/` | What do the keywords of a schema mean? |
//! | `texts/` | How are problems described to a model? |
//! | `model/` | What does a schema say? The one reader of JSON Schema. |
//! | `check/` | Does a value fit a schema, and how is a value of the wrong type converted? |
//! | `author/` | Is the schema that a tool's author wrote consistent, and does every client understand it? |
//! | `dialects/` | Which schema does a provider accept, what is lost, and how are arguments converted back? |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod author;
mod check;
pub mod dialects;
mod model;
mod terms;
mod texts;

pub use author::examine::{Examination, examine, merge};
pub use author::names::ArgumentNames;
pub use author::portable::{Side, drop_null, make_portable};
pub use check::{Checker, MAX_PROBLEMS, Step};
pub use model::Schema;
pub use terms::format::Format;
pub use terms::keyword::adds_only_annotations;
pub use terms::number::whole;
pub use terms::types::Types;
pub use texts::closest;
#[doc(hidden)]
pub use texts::legal_name;
pub use texts::problem::{Problem, describe_output_problems, not_one_of, preview_with_type, truncate};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
