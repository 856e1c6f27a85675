//! How does a program pass messages on to a server over HTTP, as they are?
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | What does such a program send and get? |
//! | `stateless.rs` | How is a request of the stateless era passed on? |
//! | `handshake.rs` | How is a message passed on that belongs to a conversation? |
//! | `arguments.rs` | Which arguments of a tool call are sent in headers too? |

mod arguments;
mod handshake;
pub(crate) mod link;
mod stateless;
