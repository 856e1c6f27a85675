//! What the application answers when a server asks, and for which callers requests are forwarded.
//!
//! | file | question |
//! |---|---|
//! | `answers.rs` | What does the application answer when a server asks its user, its model, or for its roots? |
//! | `caller.rs` | For which caller is a request made, and which requests are under way? |
//! | `forwarded.rs` | What comes of a request that was made for another caller? Only with the feature `server`. |

pub(crate) mod answers;
pub(crate) mod caller;
#[cfg(feature = "server")]
pub(crate) mod forwarded;
