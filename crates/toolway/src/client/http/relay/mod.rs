//! How does a program pass messages on to a server over HTTP, as they are?
//!
//! | file | question |
//! |---|---|
//! | `link.rs` | What does such a program send and get? |
//! | `stateless.rs` | How is a request of the stateless era passed on? |
//! | `arguments.rs` | Which arguments of a tool call are sent in headers too? |

mod arguments;
pub(crate) mod link;
mod stateless;
