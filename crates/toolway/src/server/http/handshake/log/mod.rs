//! The events of one stream, as the server that writes it keeps them.
//!
//! | file | question |
//! |---|---|
//! | `event.rs` | What is an event of a stream, and how is it stored? |
//! | `event_log.rs` | Which events has a stream, and how far has its client read them? |
//! | `kept_streams.rs` | Which streams can be resumed, and which is forgotten first? |
//! | `log_state.rs` | Which events does a log hold, and how far are its reader and the store? |

pub(super) mod event;
pub(super) mod event_log;
pub(super) mod kept_streams;
mod log_state;
