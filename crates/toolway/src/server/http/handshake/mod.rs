//! The handshake era (the revisions up to 2025-11-25) over HTTP.
//!
//! | file | question |
//! |---|---|
//! | `requests.rs` | What do POST, GET and DELETE mean? |
//! | `context.rs` | Which state does the handshake era keep at the endpoint, and what is known about one request? |
//! | `call.rs`, `batch.rs` | How is a request of a session answered, and how is a batch? |
//! | `cancel_handle.rs` | How is a request of a session cancelled? |
//! | `limits.rs` | How many resources may sessions use? |
//! | `sessions.rs`, `identity.rs` | Which sessions are open, and whose are they? |
//! | `live_session.rs`, `record.rs` | Which state is needed to serve one session, and what is known about it? |
//! | `log/` | Which events has a stream, and which streams can be resumed? |
//! | `looks.rs` | How are sessions looked up in the store, if this has to be done for many of them? |
//! | `notification_feed.rs` | Which notifications does one stream of a session get? |
//! | `stream_reader.rs` | How does a reply read a stream, and how does a client resume it? |
//! | `shared/` | How do servers that share a store serve the same sessions? |
//! | `legacy_sse.rs` | How does the transport of 2024-11-05 work? |

pub(super) mod batch;
mod call;
mod cancel_handle;
pub(super) mod context;
mod identity;
mod legacy_sse;
mod limits;
mod live_session;
mod log;
mod looks;
mod notification_feed;
mod record;
pub(super) mod requests;
mod sessions;
mod shared;
mod stream_reader;
