//! How are problems described to a model?
//!
//! | file | question |
//! |---|---|
//! | `problem.rs` | What is wrong with an argument? |
//! | `closest.rs` | Which known name did the author of a misspelled name probably mean? |
//! | `legal_name.rs` | How is a text turned into a name where only some characters and lengths are allowed? |

pub mod closest;
pub mod legal_name;
pub(crate) mod problem;
