//! What did the author write? Everything as plain values, before code is generated from it.
//!
//! | file | question |
//! |---|---|
//! | `element.rs`, `kind.rs` | What is known about a function, and which kinds of elements are there? |
//! | `options.rs` | What is in `#[tool(…)]`, `#[resource(…)]` or `#[prompt(…)]`? |
//! | `signature.rs` | Which parameters are there, and what is returned? |
//! | `arg.rs`, `fit.rs` | What is in `#[arg(…)]`, and does it fit the type? |
//! | `shape.rs`, `types.rs` | What is a value of a type in JSON, and what is inside a type? |
//! | `owned.rs` | Which owned type corresponds to a type that borrows? |
//! | `conditional.rs` | How are parameters with `#[cfg(…)]` handled? |

mod arg;
pub(crate) mod conditional;
mod element;
mod fit;
mod kind;
mod options;
mod owned;
mod shape;
mod signature;
mod types;

pub(crate) use arg::{Arg, KeywordSetting};
pub(crate) use element::{Definition, Element, conditions};
pub(crate) use kind::Kind;
pub(crate) use options::Options;
pub(crate) use owned::owned_replacement;
pub(crate) use signature::{Function, Parameter, Receiver};
pub(crate) use types::{type_argument, ungrouped};
