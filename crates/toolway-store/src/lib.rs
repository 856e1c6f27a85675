//! Which data do several servers share, so that they are one server to their clients?
//!
//! A [`Store`] keeps values and maps that expire, and logs, and delivers messages to the current subscribers of a
//! channel. It knows nothing about the protocol. Everything that changes together is one [`Step`] over the names of one
//! group, which the store does atomically and in one visit.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "contract")]
pub mod contract;
mod error;
mod memory;
mod step;
mod store;

pub use error::{Result, StoreError, StoreFailure};
pub use memory::MemoryStore;
pub use step::{
    Answer, Append, Condition, Keep, LogEntry, LogPage, Name, Operation, Outcome, Room, Step, StoredValue,
    Version,
};
pub use store::{BoxFuture, Secret, Store, Subscription};
