//! One call: what is known about it, and what may a handler say and ask for while it runs?
//!
//! | file | question |
//! |---|---|
//! | `scope.rs` | What belongs to one run of a handler besides its arguments? |
//! | `context.rs`, `log.rs`, `threshold.rs`, `memory.rs`, `place.rs` | What may a handler say, log and remember? |
//! | `state.rs`, `principal.rs`, `visibility.rs` | Which values was the server given, who is the caller, and what does it see? |
//! | `question_log.rs`, `questions.rs`, `replay.rs` | What was asked and answered in this run, and what is left to the next one? |
//! | `noted.rs`, `trace.rs` (`trace_id.rs`), `traceparent.rs` | What is noted for those who watch, and which trace does a request belong to? |
//! | `passing.rs` | What may a handler say and ask that passes its call on? |
//! | `layer/` | What stands between a call and its handler? |

pub(crate) mod context;
pub(crate) mod layer;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod noted;
#[cfg(feature = "client")]
pub(crate) mod passing;
pub(crate) mod place;
pub(crate) mod principal;
pub(crate) mod question_log;
pub(crate) mod questions;
pub(crate) mod replay;
pub(crate) mod scope;
pub(crate) mod state;
pub(crate) mod threshold;
#[cfg(feature = "otel")]
pub(crate) mod trace;
#[cfg(not(feature = "otel"))]
#[path = "trace_id.rs"]
pub(crate) mod trace;
pub(crate) mod traceparent;
pub(crate) mod visibility;
