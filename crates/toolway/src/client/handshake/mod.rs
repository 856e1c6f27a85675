//! The handshake era: `initialize` opens a session, and the server may ask while a call waits.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How is a session opened, and how are its requests written? |
//! | `opening.rs` | In which era is a connection opened, if both are allowed? |
//! | `era_cache.rs` | Which servers are known to require a handshake? |
//! | `subscriptions.rs` | Which resources does a server report on, and how are subscriptions restored on a new connection? |
//! | `forwarded.rs` | Does the server know that it may ask the callers of forwarded requests? Only with the feature `server`. |
//! | `questions.rs` | Which requests of the server are being answered, and which caller are they for? |

pub(crate) mod era_cache;
#[cfg(feature = "server")]
mod forwarded;
mod link;
pub(crate) mod opening;
mod questions;
pub(crate) mod subscriptions;
