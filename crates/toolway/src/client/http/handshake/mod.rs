//! What does an opened conversation add to its requests, and what else goes on in it?
//!
//! | file | question |
//! |---|---|
//! | `transport.rs` | How do messages travel over HTTP, if the server may be of either era? |
//! | `carry.rs` | How is a message of a conversation carried? |
//! | `conversation.rs` | What is known of a conversation, and how does it end? |
//! | `session.rs` | What does the server know the conversation by? |
//! | `cursor.rs` | Where was a stream when it ended, and when may it be asked for again? |
//! | `resume.rs` | How does a reply go on that broke off? |
//! | `pending.rs` | What if a reply comes on another stream than its own? |
//! | `listen.rs` | How is heard what the server says unasked? |
//! | `gate.rs` | May a request be sent before that stream is there? |
//! | `answers.rs` | What becomes of the server's questions, and how do the answers get there? |
//! | `legacy_sse.rs` | What if the server speaks the first of all HTTP transports, which has two URLs? |

mod answers;
mod carry;
mod conversation;
mod cursor;
mod gate;
mod legacy_sse;
mod listen;
mod pending;
mod resume;
mod session;
#[cfg(test)]
mod tests;
pub(super) mod transport;
