//! The server's notifications and their receivers, which stay registered when the client reconnects.
//!
//! | file | question |
//! |---|---|
//! | `listeners.rs` | Which receivers get the server's notifications? |
//! | `footprint.rs` | How much memory do decoded values need beyond the length of their text? |
//! | `readers.rs` | Which notifications has a reader not read yet? |
//! | `changes.rs` | Which changes has a watcher not seen yet? |
//! | `subscribers.rs` | How is each of many readers notified, and what is kept for a slow reader? |

pub(crate) mod changes;
pub(crate) mod footprint;
pub(crate) mod listeners;
pub(crate) mod readers;
mod subscribers;
