//! Which data do several servers share, so that they are one server to their clients?
//!
//! Without a store, one process serves its sessions from its own memory. Servers that are given the same [`Store`] look
//! like one server: each also serves the sessions that the others opened, its clients resume streams that another
//! server wrote, and a change on one server is reported to the clients of all of them. `toolway-redis` is the store for
//! several machines; [`MemoryStore`] is for tests.
//!
//! A store knows nothing about the protocol. The trait, and `contract` (feature `testing`), the test suite that every
//! backend must pass, are the crate `toolway-store`; this module is the same.
//!
//! ```
//! use std::time::Duration;
//! use toolway::store::{Condition, MemoryStore, Operation, Outcome, Step, Store, Version};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), toolway::store::StoreError> {
//! let store = MemoryStore::new();
//! // Several servers may try to become the leader; one succeeds.
//! let lead = |server: &'static str| {
//!     let value = server.into();
//!     let ttl = Duration::from_secs(60);
//!     Step::new()
//!         .when(Condition::Absent("leader".into()))
//!         .then(Operation::Put { key: "leader".into(), value, version: Version(1), ttl })
//! };
//! assert!(matches!(store.run("jobs", &lead("one")).await?, Outcome::Done(_)));
//! assert!(matches!(store.run("jobs", &lead("two")).await?, Outcome::Refused { condition: 0, .. }));
//! # Ok(())
//! # }
//! ```

mod groups;
mod guard;

#[cfg(feature = "http")]
pub(crate) use groups::derive_key;
pub(crate) use groups::{Groups, random_version};
pub(crate) use guard::StoreGuard;
pub use toolway_store::*;
