//! The lowest layer, which servers and clients share. It does not use any other layer.
//!
//! | file | question |
//! |---|---|
//! | `error.rs`, `mistakes.rs`, `panic.rs` | What is an error of this library, and what happens when code of the application panics? |
//! | `peer.rs`, `extensions.rs` | What is known about the client of a request, and which values are attached to a request? |
//! | `budget.rs` | How much may all peers of a server use together, and how much may one of them? |
//! | `peer_map.rs`, `named_accounts.rs` | By which name is a peer over HTTP recognized, and which account does it have? |
//! | `mutex.rs`, `weak_map.rs` | How do several tasks share a value behind a lock, or by a name while they use it? |
//! | `outbound.rs` | How does a running request send messages to its client before the reply? |
//! | `future.rs`, `poll_once.rs` | Which future type do traits return, and is a future ready at its first poll? |
//! | `lazy_timeout.rs` | How does a future get a time limit that costs nothing if the future is ready at once? |
//! | `abort_on_drop.rs` | How does a task end with the future that waits for it? |
//! | `boxed_task.rs` | How is a task started that is rare? |
//! | `own_ids.rs` | How are the requests that this side has sent found by their ids? |
//! | `random.rs`, `jitter.rs` | How are unguessable names and random waits made? |
//! | `small_sort.rs`, `insert_all.rs` | How are things sorted, and maps filled, where it happens rarely? |
//! | `log_pace.rs` | How often is the same event logged? |
//! | `operator.rs` | How does an operator see an important event if no log is installed? |
//! | `unprintable.rs` | Which characters must not reach a person unchanged? |

#[cfg(all(feature = "server", any(feature = "http", feature = "stdio")))]
pub(crate) mod abort_on_drop;
#[cfg(feature = "client")]
pub(crate) mod boxed_task;
#[cfg(feature = "server")]
pub(crate) mod budget;
pub(crate) mod error;
#[cfg(feature = "server")]
pub(crate) mod extensions;
pub(crate) mod future;
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) mod insert_all;
#[cfg(any(feature = "client", all(feature = "server", feature = "http")))]
pub(crate) mod jitter;
#[cfg(feature = "client")]
pub(crate) mod lazy_timeout;
#[cfg(feature = "server")]
pub(crate) mod log_pace;
#[cfg(feature = "server")]
pub(crate) mod mistakes;
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) mod mutex;
#[cfg(all(feature = "server", feature = "http"))]
mod named_accounts;
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) mod operator;
#[cfg(feature = "server")]
pub(crate) mod outbound;
#[cfg(feature = "client")]
pub(crate) mod own_ids;
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) mod panic;
#[cfg(feature = "server")]
pub(crate) mod peer;
#[cfg(all(feature = "server", feature = "http"))]
pub(crate) mod peer_map;
#[cfg(all(feature = "server", not(feature = "http")))]
#[path = "without_peer_map.rs"]
mod peer_map;
#[cfg(feature = "server")]
pub(crate) mod poll_once;
#[cfg(any(feature = "server", all(feature = "client", target_os = "linux")))]
pub(crate) mod random;
#[cfg(feature = "server")]
pub(crate) mod small_sort;
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) mod unprintable;
#[cfg(all(feature = "server", feature = "http"))]
pub(crate) mod weak_map;
