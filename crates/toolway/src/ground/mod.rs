//! The lowest layer, which servers and clients share. It does not use any other layer.
//!
//! | file | question |
//! |---|---|
//! | `error.rs`, `mistakes.rs`, `panic.rs` | What is an error of this library, and what happens when code of the application panics? |
//! | `peer.rs`, `extensions.rs` | What is known about the client of a request, and which values are attached to a request? |
//! | `mutex.rs` | How do several tasks share a value behind a lock? |
//! | `outbound.rs` | How does a running request send messages to its client before the reply? |
//! | `future.rs`, `poll_once.rs` | Which future type do traits return, and is a future ready at its first poll? |
//! | `random.rs`, `jitter.rs` | How are unguessable names and random waits made? |
//! | `operator.rs` | How does an operator see an important event if no log is installed? |

pub(crate) mod error;
#[cfg(feature = "server")]
pub(crate) mod extensions;
pub(crate) mod future;
#[cfg(feature = "client")]
pub(crate) mod jitter;
#[cfg(feature = "server")]
pub(crate) mod mistakes;
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) mod mutex;
#[cfg(feature = "server")]
pub(crate) mod operator;
#[cfg(feature = "server")]
pub(crate) mod outbound;
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) mod panic;
#[cfg(feature = "server")]
pub(crate) mod peer;
#[cfg(feature = "server")]
pub(crate) mod poll_once;
#[cfg(feature = "server")]
pub(crate) mod random;
