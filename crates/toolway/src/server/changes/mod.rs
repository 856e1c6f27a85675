//! Changes: which clients are notified when a list or a resource changes?
//!
//! | file | question |
//! |---|---|
//! | `listeners.rs` | Which changes has each session or stream not sent yet? |
//! | `broadcast.rs` | Where is a change announced? |
//! | `bridge.rs` | How do the servers that share a store notify each other? |
//! | `interest.rs` | Which resources have subscribers? |

pub(crate) mod bridge;
pub(crate) mod broadcast;
pub(crate) mod interest;
pub(crate) mod listeners;
