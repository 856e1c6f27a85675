//! What does a session of the handshake era add to HTTP requests, and what runs beside them?
//!
//! | file | question |
//! |---|---|
//! | `transport.rs` | How do messages travel over HTTP, if the server may be of either era? |
//! | `carry.rs` | How is a message of a conversation sent? |
//! | `conversation.rs` | What is the state of a conversation, and how does it end? |
//! | `session.rs` | How does the server identify the conversation? |
//! | `cursor.rs` | Where did a stream break off, and when may it be requested again? |
//! | `resume.rs` | How is a reply resumed that broke off? |
//! | `pending.rs` | What if a reply arrives on another stream than its own? |
//! | `listen.rs` | How does the client receive what the server sends on its own? |
//! | `gate.rs` | May a request be sent before that stream is open? |
//! | `answers.rs` | How are the server's questions answered? |
//! | `legacy_sse.rs` | What if the server speaks the first HTTP transport, which has two URLs? |

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
