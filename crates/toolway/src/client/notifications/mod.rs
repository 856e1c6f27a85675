//! What a server tells unasked, and who hears it. This outlives connections.
//!
//! | file | question |
//! |---|---|
//! | `listeners.rs` | Who hears what the server says? |
//! | `news.rs` | Which notifications has a reader not read yet? |
//! | `changes.rs` | Which changes has a watcher not seen yet? |
//! | `subscribers.rs` | How is each of many readers told, and what is kept for those that do not read? |

pub(crate) mod changes;
pub(crate) mod listeners;
pub(crate) mod news;
mod subscribers;
