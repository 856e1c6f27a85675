//! Which data do several servers share, so that they are one server to their clients?
//!
//! A [`Store`] keeps values and maps that expire, and logs, and delivers messages to the current subscribers of a
//! channel. It knows nothing about the protocol. Everything that changes together is one [`Step`] over the names of one
//! group, which the store does atomically and in one visit:
//!
//! ```
//! use std::time::Duration;
//! use toolway_store::{
//!     Answer, Append, Condition, Keep, LogEntry, MemoryStore, Operation, Outcome, Room, Step, Store,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> toolway_store::Result<()> {
//! const MINUTE: Duration = Duration::from_secs(60);
//! let store = MemoryStore::new();
//! let mut news = store.subscribe("news").await?;
//!
//! // Two servers claim the same job. The first one gets it, and begins the log of the job in the same step.
//! let claim = |server: &'static str| {
//!     Step::new()
//!         .when(Condition::Free { map: "jobs".into(), key: "job 7".into(), value: server.into() })
//!         .then(Operation::Enter { map: "jobs".into(), key: "job 7".into(), value: server.into(), ttl: MINUTE })
//!         .then(Append {
//!             log: "job 7".into(),
//!             writer: server.into(),
//!             first: Some(1),
//!             entries: vec![LogEntry { bytes: "begun".into(), keep: Keep::Always }],
//!             ends: false,
//!             room: Room { entries: 100, bytes: 1 << 20 },
//!             ttl: MINUTE,
//!         })
//!         .then(Operation::Publish { channel: "news".into(), message: "job 7".into() })
//! };
//! assert!(matches!(store.run("group", &claim("server 1")).await?, Outcome::Done(_)));
//! let refused = Outcome::Refused { condition: 0, holder: Some("server 1".into()) };
//! assert_eq!(store.run("group", &claim("server 2")).await?, refused);
//!
//! // The first one did not get the reply and tries again: the entry has a number, so it is there once.
//! assert!(claim("server 1").is_repeatable());
//! store.run("group", &claim("server 1")).await?;
//! let read = Operation::Read { log: "job 7".into(), after: 0, limit: Room { entries: 10, bytes: 1 << 16 } };
//! let Outcome::Done(answers) = store.run("group", &Step::new().then(read)).await? else { unreachable!() };
//! assert!(matches!(&answers[..], [Answer::Page(Some(page))] if page.entries == [(1, "begun".into())]));
//!
//! // Subscribers are notified at once.
//! assert_eq!(news.next().await.as_deref(), Some(&b"job 7"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! [`MemoryStore`] is the store of one process. `toolway_store::contract` (feature `contract`) is the test suite that
//! every store must pass; the guide [Write a
//! store](https://github.com/toolway/toolway/blob/main/docs/guide/write-a-store.md) shows how to write one.
//!
//! | file | question |
//! |---|---|
//! | `store.rs` | What must a store do? |
//! | `step.rs` | What can be asked of a store in one visit? |
//! | `error.rs` | Why did a visit to the store fail, and may it be repeated? |
//! | `memory/` | How does one process keep everything in memory? |
//! | `contract/` | Does a store fulfil the contract? |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "contract")]
pub mod contract;
mod error;
mod memory;
mod step;
mod store;

#[cfg(feature = "cipher")]
#[doc(hidden)]
pub use chacha20poly1305 as __cipher;

pub use error::{Result, StoreError, StoreFailure};
pub use memory::MemoryStore;
pub use step::{
    Answer, Append, Condition, Keep, LogEntry, LogPage, Name, Operation, Outcome, Room, Step, StoredValue,
    Version,
};
pub use store::{BoxFuture, Secret, Store, Subscription};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the programs of the guide.
#[cfg(all(doctest, feature = "contract"))]
#[doc = include_str!("../../../docs/guide/write-a-store.md")]
struct WriteAStore;
