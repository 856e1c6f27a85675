//! Pipes: how does a server answer messages that arrive one after the other, each on a line?
//!
//! | file | question |
//! |---|---|
//! | `serve.rs`, `output.rs` | How are lines read, and responses written? |
//! | `conversation.rs` | What does the server remember from one message to the next? |
//! | `embed.rs` | How does a host pass in single messages? |
//! | `stdio/` | How does the server take over stdin and stdout? |

pub(crate) mod conversation;
pub(crate) mod embed;
pub(crate) mod output;
pub(crate) mod serve;
#[cfg(feature = "stdio")]
pub(crate) mod stdio;
