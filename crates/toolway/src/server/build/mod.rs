//! Building: how does what an author says become a server?
//!
//! | file | question |
//! |---|---|
//! | `builder.rs`, `limits.rs`, `revisions.rs` | What can be said about a server? |
//! | `merge.rs` | How do several become one? |
//! | `finish.rs` | What is checked before it is built? |
//! | `without_http.rs`, `without_stdio.rs` | What does the compiler say where a feature is missing? |

pub(crate) mod builder;
pub(crate) mod finish;
pub(crate) mod limits;
pub(crate) mod merge;
pub(crate) mod revisions;
