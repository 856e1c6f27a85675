//! What did the author write? Everything as plain values, before any code is made from it.
//!
//! | file | question |
//! |---|---|
//! | `element.rs`, `kind.rs` | What is there to know about a function, and what can it be? |
//! | `options.rs` | What does `#[tool(…)]`, `#[resource(…)]` or `#[prompt(…)]` say? |
//! | `signature.rs` | Which parameters are there, and what comes back? |
//! | `arg.rs`, `fit.rs` | What does `#[arg(…)]` say, and does it fit the type? |
//! | `shape.rs`, `types.rs` | What is a value of a type in JSON, and what stands inside of a type? |
//! | `owned.rs` | Which type is the same without anything borrowed? |
//! | `conditional.rs` | Which functions are there when parameters are there only sometimes? |

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

pub(crate) use arg::{Arg, Said};
pub(crate) use element::{Definition, Element, conditions};
pub(crate) use kind::Kind;
pub(crate) use options::Options;
pub(crate) use owned::borrowed;
pub(crate) use signature::{Function, Parameter, Receiver};
pub(crate) use types::{inside, ungrouped};
