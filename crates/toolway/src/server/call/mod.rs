//! One call: what is known about it, and what can a handler send and request while it runs?
//!
//! | file | question |
//! |---|---|
//! | `scope.rs` | What belongs to one run of a handler besides its arguments? |
//! | `context.rs`, `log.rs`, `threshold.rs`, `memory.rs`, `memory_record.rs` | What can a handler send, log and remember? |
//! | `state.rs`, `principal.rs`, `visibility.rs` | Which state does the server have, which principal is the caller, and what can the caller see? |
//! | `verified.rs`, `required_scopes.rs` | Who is a caller whose credentials were verified, and which scopes must it have? |
//! | `stream_rights.rs` | May a caller keep the notification stream that it opened? |
//! | `question_log.rs`, `questions.rs`, `replay.rs` | What was asked and answered in this run, and what is passed to the next one? |
//! | `telemetry.rs`, `trace.rs` (`trace_id.rs`), `traceparent.rs` | What is recorded for spans, metrics and hooks, and which trace does a request belong to? |
//! | `forwarded_call.rs` | What can a handler do that forwards its call to another server? |
//! | `layer/` | Which layers wrap a handler? |

pub(crate) mod context;
#[cfg(feature = "client")]
pub(crate) mod forwarded_call;
pub(crate) mod layer;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod memory_record;
pub(crate) mod principal;
pub(crate) mod question_log;
pub(crate) mod questions;
pub(crate) mod replay;
pub(crate) mod required_scopes;
pub(crate) mod scope;
pub(crate) mod state;
pub(crate) mod stream_rights;
pub(crate) mod telemetry;
pub(crate) mod threshold;
#[cfg(feature = "otel")]
pub(crate) mod trace;
#[cfg(not(feature = "otel"))]
#[path = "trace_id.rs"]
pub(crate) mod trace;
pub(crate) mod traceparent;
#[cfg(feature = "auth")]
pub(crate) mod verified;
#[cfg(not(feature = "auth"))]
#[path = "without_auth.rs"]
pub(crate) mod verified;
pub(crate) mod visibility;
