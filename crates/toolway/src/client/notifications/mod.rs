//! The server's notifications and their receivers, which stay registered when the client reconnects.
//!
//! | file | question |
//! |---|---|
//! | `listeners.rs` | Which receivers get the server's notifications? |
//! | `readers.rs` | Which notifications has a reader not read yet? |
//! | `changes.rs` | Which changes has a watcher not seen yet? |
//! | `subscribers.rs` | How is each of many readers notified, and what is kept for a slow reader? |

pub(crate) mod changes;
pub(crate) mod listeners;
pub(crate) mod readers;
mod subscribers;
