//! Schemas of Rust types: what a tool's types say about its arguments. The crate `toolway-schema` interprets any
//! schema.
//!
//! | file | question |
//! |---|---|
//! | `generate.rs`, `fields.rs` | How does a function's signature become a schema? |
//! | `typed.rs` | Does decoding into the types enforce everything in their schema? |
//! | `type_description.rs` | Which values and which texts does a type accept? |

mod fields;
mod generate;
mod type_description;
mod typed;

pub use generate::{Arg, FinishedSchema, Generator, InputSchemaBuilder, input_schema_of};
pub(crate) use generate::{output_schema, with_object_type};
pub(crate) use toolway_schema::{
    Checker, Examination, MAX_PROBLEMS, Problem, Step, describe_output_problems, examine, not_one_of,
    preview_with_type, truncate, whole,
};
pub(crate) use type_description::{enum_values, expected_field_text, expected_text, text_choices};

#[cfg(test)]
mod generate_tests;
