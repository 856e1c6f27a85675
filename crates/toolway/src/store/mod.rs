//! Which data outlives one request? Sessions, the events of their streams, and notifications of changes.
//!
//! A server keeps this data in a [`Store`]. Servers that share a store look like one server to their clients: each
//! server also serves the sessions that the others opened, and a change on one server is reported to the clients of all
//! servers. [`MemoryStore`] is the default, for one process. `toolway::store::contract` (feature `testing`) is the test
//! suite that every backend must pass.
//!
//! A store knows nothing about the protocol. It keeps values under keys until they expire, appends entries to logs and
//! reads them back, and delivers messages from publishers to the current subscribers:
//!
//! ```
//! use toolway::store::{Keep, LogEntry, MemoryStore, Room, Store};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> toolway::Result<()> {
//! const HOUR: Duration = Duration::from_secs(60 * 60);
//! let store = MemoryStore::new();
//!
//! // Several servers may try to become the leader; one succeeds.
//! assert!(store.compare_and_swap("leader", None, "server 1".into(), HOUR).await?);
//! assert!(!store.compare_and_swap("leader", None, "server 2".into(), HOUR).await?);
//! assert_eq!(store.renew("leader", HOUR).await?.as_deref(), Some(&b"server 1"[..]));
//!
//! // A reader that was disconnected continues after the last number that it read.
//! let room = Room { entries: 2, bytes: 1 << 20 };
//! let mut news = store.subscribe("events").await?;
//! for text in ["one", "two", "three"] {
//!     let entry = LogEntry { bytes: text.into(), keep: Keep::WhileThereIsRoom };
//!     let number = store.append("events", entry, room, HOUR).await?;
//!     store.publish("events", number.to_string().into()).await?;
//! }
//! assert_eq!(store.read("events", 0, 10).await?, [(2, "two".into()), (3, "three".into())]);
//! assert_eq!(store.read("events", 2, 10).await?, [(3, "three".into())]);
//!
//! // Subscribers are notified at once.
//! assert_eq!(news.next().await.as_deref(), Some(&b"1"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # A backend of your own
//!
//! Implement [`Store`] and run `contract::check` in a test; the documentation of `contract` shows how. These
//! requirements of the contract are easy to get wrong:
//!
//! - [`compare_and_swap`](Store::compare_and_swap) and [`append`](Store::append) are atomic, also when two processes
//!   call them at the same time and when their future is dropped.
//! - The numbers of a log have no gaps, and continue after its oldest entries were dropped.
//! - A subscription receives every message from the moment at which [`subscribe`](Store::subscribe) returns.
//! - A `ttl` of zero, and one that exceeds the range of the backend's clock, are valid.

mod backend;
#[cfg(feature = "testing")]
pub mod contract;
mod memory;
mod panic_guard;

pub use backend::{Keep, LogEntry, Room, Store, Subscription};
pub use memory::MemoryStore;
pub(crate) use panic_guard::PanicGuard;
