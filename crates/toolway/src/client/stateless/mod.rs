//! The stateless era: every request describes itself. When the server asks, the request is sent again with the answers.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How does a request describe itself, and what does the server say about itself? |
//! | `opening.rs` | How is a connection opened? |
//! | `listen.rs` | How does a server report changes? |
//! | `rounds.rs` | How does a request continue when the server has questions about it? |
//! | `forwarded.rs` | What does a request return that was forwarded for another caller? Only with the feature `server`. |

#[cfg(feature = "server")]
mod forwarded;
mod link;
mod listen;
pub(crate) mod opening;
mod rounds;
