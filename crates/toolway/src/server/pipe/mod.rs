//! Pipes: how are messages served that come one after the other, each on a line?
//!
//! | file | question |
//! |---|---|
//! | `serve.rs`, `output.rs` | How are lines read, and answers written? |
//! | `conversation.rs` | What is remembered from one message to the next? |
//! | `embed.rs` | How does a program hand over single messages? |
//! | `stdio/` | What happens to stdin and stdout? |

pub(crate) mod conversation;
pub(crate) mod embed;
pub(crate) mod output;
pub(crate) mod serve;
#[cfg(feature = "stdio")]
pub(crate) mod stdio;
