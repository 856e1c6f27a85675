//! The stateless era: every request describes itself, and is sent again with the answers when the server asks.
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | How does a request describe itself, and what does the server say about itself? |
//! | `rounds.rs` | How is a request answered that the server has questions about? |
//! | `forwarded.rs` | What came of a request that was made for another caller? Only with the feature `server`. |

#[cfg(feature = "server")]
mod forwarded;
pub(crate) mod link;
pub(crate) mod rounds;
