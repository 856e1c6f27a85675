//! The handshake era (the revisions up to 2025-11-25) over HTTP.
//!
//! | file | question |
//! |---|---|
//! | `requests.rs` | What do POST, GET and DELETE mean? |
//! | `context.rs` | Which state does the handshake era keep at the endpoint, and what is known about one request? |
//! | `call.rs`, `batch.rs` | How is a request of a session answered, and how is a batch? |
//! | `remote_answers.rs` | What if an answer reaches another server than the one that asked? |
//! | `limits.rs` | How many resources may sessions use? |
//! | `sessions.rs` | Which sessions are open? |
//! | `live_session.rs` | Which state is needed to serve one session? |
//! | `kept_streams.rs` | Which streams can be resumed, and which is forgotten first? |
//! | `legacy_sse.rs` | How does the transport of 2024-11-05 work? |
//! | `reader_tracker.rs` | How far is the reader of a stream behind its writer? |
//! | `stream.rs` | How does a client resume a stream? |

pub(super) mod batch;
mod call;
pub(super) mod context;
mod kept_streams;
mod legacy_sse;
mod limits;
mod live_session;
mod reader_tracker;
mod remote_answers;
pub(super) mod requests;
mod sessions;
mod stream;
