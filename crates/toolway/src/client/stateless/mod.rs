//! The stateless era: every request describes itself. When the server asks, the request is sent again with the answers.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How does a request describe itself, and how does the server describe itself? |
//! | `opening.rs` | How is a connection opened? |
//! | `listen.rs` | How does a server report changes? |
//! | `rounds.rs` | What happens when the server asks questions about a request? |
//! | `forwarded.rs` | What does a forwarded request return? Only with the feature `server`. |

#[cfg(feature = "server")]
mod forwarded;
mod link;
mod listen;
pub(crate) mod opening;
mod rounds;
