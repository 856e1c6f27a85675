//! Failures of handlers: what does the caller read, and what goes to the log only?
//!
//! | file | question |
//! |---|---|
//! | `errors.rs` | Which errors may a handler return, and what does the peer learn of each? |
//! | `ask.rs` | Why does a question have no answer? |

pub(crate) mod ask;
pub(crate) mod errors;
