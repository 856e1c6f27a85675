//! The handshake era: a conversation is opened by `initialize`, and the server may ask while a call waits.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How is a conversation opened, and how are its requests written? |
//! | `questions.rs` | Which requests of the server are being answered, and which caller are they for? |

pub(crate) mod link;
pub(crate) mod questions;
