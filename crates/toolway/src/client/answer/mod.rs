//! How the application answers a server's questions, and for which callers requests are forwarded.
//!
//! | file | question |
//! |---|---|
//! | `answers.rs` | How does the application answer when a server asks its user, its model, or for its roots? |
//! | `origin.rs` | Which request is a question of the server about? |
//! | `caller.rs` | For which caller is a request made, and which requests are in flight on a connection? |
//! | `forwarded.rs` | What does a forwarded request return? Only with the feature `server`. |

pub(crate) mod answers;
pub(crate) mod caller;
#[cfg(feature = "server")]
pub(crate) mod forwarded;
pub(crate) mod origin;
