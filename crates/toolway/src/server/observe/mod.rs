//! What do operators see of calls, and which hooks run?
//!
//! | file | question |
//! |---|---|
//! | `report.rs` | Where does the error of a handler go if it is not meant for the caller? |
//! | `call_observer.rs`, `otel.rs`, `stats.rs` | Which spans, events, metrics and statistics does a call produce? |
//! | `store_meter.rs` | What does a server do with the store that it shares with others? |
//! | `usage.rs` | What do the peers of a server use at the moment? |
//! | `hooks.rs` | Which hooks run when a request, a pipe or a session is over? |

pub(crate) mod call_observer;
pub(crate) mod hooks;
#[cfg(feature = "otel")]
pub(crate) mod otel;
#[cfg(not(feature = "otel"))]
#[path = "without_otel.rs"]
pub(crate) mod otel;
pub(crate) mod report;
pub(crate) mod stats;
pub(crate) mod store_meter;
pub(crate) mod usage;
