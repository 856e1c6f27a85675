//! Changes: who hears that a list or a resource is another one?
//!
//! | file | question |
//! |---|---|
//! | `listeners.rs` | Which changes has each conversation not been told of yet? |
//! | `broadcast.rs` | Where is a change told? |
//! | `bridge.rs` | How do the servers that share a store tell each other? |
//! | `interest.rs` | Which resources does any client follow? |

pub(crate) mod bridge;
pub(crate) mod broadcast;
pub(crate) mod interest;
pub(crate) mod listeners;
