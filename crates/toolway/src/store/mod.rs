//! What outlives one request? Sessions, the events of their streams, and the news of changes.
//!
//! A [`Store`] is the one place where a server keeps them. Servers that share a store are one server to their clients:
//! a session that one of them opened, the others serve; a change that one of them makes, the clients of all hear.
//! [`Memory`] is the default, for one process. `toolway::store::contract` (feature `testing`) is the test-suite that every
//! backend must pass.
//!
//! A store knows nothing of the protocol. It keeps values under keys until they expire, appends entries to logs and reads
//! them back, and carries messages from publishers to whoever subscribes at that moment:
//!
//! ```
//! use toolway::store::{Entry, Keep, Memory, Room, Store};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> toolway::Result<()> {
//! const HOUR: Duration = Duration::from_secs(60 * 60);
//! let store = Memory::new();
//!
//! // Of all who want to be the first, one is.
//! assert!(store.swap("leader", None, "server 1".into(), HOUR).await?);
//! assert!(!store.swap("leader", None, "server 2".into(), HOUR).await?);
//! assert_eq!(store.renew("leader", HOUR).await?.as_deref(), Some(&b"server 1"[..]));
//!
//! // Whoever was away reads on after the last number that it saw.
//! let room = Room { entries: 2, bytes: 1 << 20 };
//! let mut news = store.subscribe("events").await?;
//! for text in ["one", "two", "three"] {
//!     let entry = Entry { bytes: text.into(), keep: Keep::WhileThereIsRoom };
//!     let number = store.append("events", entry, room, HOUR).await?;
//!     store.publish("events", number.to_string().into()).await?;
//! }
//! assert_eq!(store.read("events", 0, 10).await?, [(2, "two".into()), (3, "three".into())]);
//! assert_eq!(store.read("events", 2, 10).await?, [(3, "three".into())]);
//!
//! // Whoever is there hears of it at once.
//! assert_eq!(news.next().await.as_deref(), Some(&b"1"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # A backend of your own
//!
//! Implement [`Store`] and run `contract::check` in a test; its page shows how. What the contract demands and is easily got
//! wrong: [`swap`](Store::swap) and [`append`](Store::append) are one step each, also when two programs do them at once and
//! when their future is dropped; the numbers of a log have no gaps and go on when its oldest entries are gone; a
//! subscription hears everything from the moment at which [`subscribe`](Store::subscribe) returns. A life of no time and one
//! longer than the backend's clock can say are no errors.

mod backend;
mod careful;
#[cfg(feature = "testing")]
pub mod contract;
mod memory;

pub use backend::{Entry, Keep, Room, Store, Subscription};
pub(crate) use careful::Careful;
pub use memory::Memory;
