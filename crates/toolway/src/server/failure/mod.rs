//! Failures of handlers: what does the caller read, and what goes only to the log?
//!
//! | file | question |
//! |---|---|
//! | `errors.rs` | Which errors may a handler return, and what is the client told about each? |
//! | `ask.rs` | Why does a question have no answer? |

pub(crate) mod ask;
pub(crate) mod errors;
