//! What do the macros make of functions, structs and `impl` blocks, and what do they say about mistakes?
//!
//! These tests are here and not in `toolway-macros`: Cargo would build this library once more for tests of a crate of macros.

mod form;
mod macro_rules;
mod prompt;
mod resource;
mod service;
mod support;
mod tool;
mod ui;
