//! The handshake era: a conversation is opened by `initialize`, and the server may ask while a call waits.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How is a conversation opened, and how are its requests written? |
//! | `opening.rs` | In which era is a connection opened, if servers of both are welcome? |
//! | `era_cache.rs` | Which servers want a handshake, as far as we know? |
//! | `subscriptions.rs` | Of which resources does a server tell, and what is a new connection told? |
//! | `forwarded.rs` | Does the server know that it may ask the callers of forwarded requests? Only with the feature `server`. |
//! | `questions.rs` | Which requests of the server are being answered, and which caller are they for? |

pub(crate) mod era_cache;
#[cfg(feature = "server")]
mod forwarded;
mod link;
pub(crate) mod opening;
mod questions;
pub(crate) mod subscriptions;
