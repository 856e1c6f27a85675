//! Schemas of Rust types: what a tool's types say about its arguments. The crate `toolway-schema` interprets any
//! schema.
//!
//! | file | question |
//! |---|---|
//! | `generate.rs`, `fields.rs` | How does a function's signature become a schema? |
//! | `typed.rs` | Does decoding into the types enforce everything in their schema? |
//! | `described.rs` | Which values and which texts does a type accept? |

mod described;
mod fields;
mod generate;
mod typed;

pub(crate) use described::{expected_text, expected_texts, listed, variants};
pub use generate::{Arg, Generator, Input, InputSchema, input_schema_of};
pub(crate) use generate::{object_by_default, output_schema};
pub(crate) use toolway_schema::{
    Checker, Examined, MOST_PROBLEMS, Problem, cut, examine, not_among, output_text, shown_with_kind, whole,
};

#[cfg(test)]
mod generate_tests;
