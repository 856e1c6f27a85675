//! The stateless era: every request describes itself, and is sent again with the answers when the server asks.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How does a request describe itself, and what does the server say about itself? |
//! | `opening.rs` | How is a connection opened? |
//! | `listen.rs` | How does a server tell of changes? |
//! | `rounds.rs` | How is a request answered that the server has questions about? |
//! | `forwarded.rs` | What came of a request that was made for another caller? Only with the feature `server`. |

#[cfg(feature = "server")]
mod forwarded;
mod link;
mod listen;
pub(crate) mod opening;
mod rounds;
