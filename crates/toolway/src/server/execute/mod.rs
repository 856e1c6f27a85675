//! Execution: which part of the server answers a request, and how often does its handler run?
//!
//! | file | question |
//! |---|---|
//! | `run.rs` | How does a call pass through its layers, and how often does its handler run? |
//! | `router.rs` | Which entry answers which request? |
//! | `size.rs` | How long may a message be, and what happens to a longer one? |

pub(crate) mod router;
pub(crate) mod run;
pub(crate) mod size;
