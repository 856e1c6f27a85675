//! What does the handshake era (revisions 2024-11-05 to 2025-11-25) add to HTTP requests, and which tasks run in the
//! background?
//!
//! In this era, `initialize` opens a *conversation*: a series of requests whose state the server keeps. The server may
//! give the conversation a session id. The server may also send *questions*, which are requests that the client
//! answers.
//!
//! | file | question |
//! |---|---|
//! | `transport.rs` | How do messages travel over HTTP if the era of the server is not known in advance? |
//! | `send.rs` | How is a message of a conversation sent? |
//! | `http_session.rs` | What is the state of a conversation, and how does it end? |
//! | `session_id.rs` | How does the server identify the conversation? |
//! | `cursor.rs` | Where did a stream break off, and when may it be requested again? |
//! | `resume.rs` | How does the client resume a reply that broke off? |
//! | `pending.rs` | What if a reply arrives on a stream that does not belong to its request? |
//! | `listen.rs` | How does the client receive messages that do not belong to a request? |
//! | `gate.rs` | May a request be sent before the server's own stream (see `listen.rs`) is open? |
//! | `answers.rs` | How are the server's questions answered? |
//! | `legacy_sse.rs` | What if the server only supports the HTTP transport of 2024-11-05, which has two URLs? |

mod answers;
mod cursor;
mod gate;
pub(super) mod http_session;
mod legacy_sse;
mod listen;
mod pending;
mod resume;
mod send;
mod session_id;
#[cfg(test)]
mod tests;
pub(super) mod transport;
