//! The handshake era over HTTP.
//!
//! | file | question |
//! |---|---|
//! | `requests.rs` | What do POST, GET and DELETE mean? |
//! | `visit.rs` | What does this era keep at the door, and what is one of its requests? |
//! | `call.rs`, `batch.rs` | How is a request of a conversation answered, and several together? |
//! | `elsewhere.rs` | What if an answer comes to another server than the one that asked? |
//! | `limits.rs` | How much may sessions take? |
//! | `sessions.rs` | Which conversations are open? |
//! | `live.rs` | What is needed to serve one of them? |
//! | `legacy_sse.rs` | What did the oldest revision have instead? |
//! | `stream.rs` | How is a stream left and come back to? |

pub(super) mod batch;
mod call;
mod elsewhere;
mod legacy_sse;
mod limits;
mod live;
pub(super) mod requests;
mod sessions;
mod stream;
pub(super) mod visit;
