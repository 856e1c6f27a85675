//! The server's notifications and their receivers. Both outlive connections.
//!
//! | file | question |
//! |---|---|
//! | `listeners.rs` | Who receives the server's notifications? |
//! | `news.rs` | Which notifications has a reader not read yet? |
//! | `changes.rs` | Which changes has a watcher not seen yet? |
//! | `subscribers.rs` | How is each of many readers notified, and what is kept for readers that do not read? |

pub(crate) mod changes;
pub(crate) mod listeners;
pub(crate) mod news;
mod subscribers;
