//! The lowest layer, which servers and clients share. Nothing here uses a layer above it.
//!
//! | file | question |
//! |---|---|
//! | `error.rs`, `mistakes.rs`, `panic.rs` | What is an error of this library, and what happens when code of the application panics? |
//! | `peer.rs`, `extensions.rs` | What is known about the client of a request, and which values travel with a request? |
//! | `mutex.rs` | How do several tasks share a value behind a lock? |
//! | `outbound.rs` | How does a call send messages before its reply? |
//! | `future.rs`, `poll_once.rs` | What is a boxed future, and is a future ready at its first poll? |
//! | `random.rs`, `jitter.rs` | Where do names that cannot be guessed, and random waits, come from? |
//! | `operator.rs` | What does an operator see if no log is installed? |

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
