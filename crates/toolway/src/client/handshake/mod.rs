//! The handshake era: `initialize` opens a session, and the server may send questions to the client as requests.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How is a session opened, and how are its requests written? |
//! | `opening.rs` | How does a client find out which era a server speaks? |
//! | `era_cache.rs` | Which servers are known to require a handshake? |
//! | `subscriptions.rs` | How does a client subscribe to resources, and how are subscriptions restored on a new connection? |
//! | `forwarded.rs` | Does the server know that it may ask the callers of forwarded requests? Only with the feature `server`. |
//! | `questions.rs` | How are the server's questions answered, and which caller does each question belong to? |

pub(crate) mod era_cache;
#[cfg(feature = "server")]
mod forwarded;
mod link;
pub(crate) mod opening;
mod questions;
pub(crate) mod subscriptions;
