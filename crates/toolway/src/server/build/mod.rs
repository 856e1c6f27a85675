//! Building: how does what an author says become a server?
//!
//! | file | question |
//! |---|---|
//! | `builder.rs`, `hooks.rs`, `layers.rs`, `limits.rs`, `defaults.rs`, `revisions.rs`, `pin.rs`, `discovery.rs` | What can be said about a server? |
//! | `source.rs` | How does a gateway give it what others have? |
//! | `merge.rs` | How do several become one? |
//! | `finish.rs` | What is checked before it is built? |
//! | `doors.rs` | Can a door give the handlers what they take? |
//! | `without_http.rs`, `without_stdio.rs` | What does the compiler say where a feature is missing? |

pub(crate) mod builder;
pub(crate) mod defaults;
pub(crate) mod discovery;
#[cfg(any(feature = "http", feature = "stdio"))]
pub(crate) mod doors;
pub(crate) mod finish;
pub(crate) mod hooks;
pub(crate) mod layers;
pub(crate) mod limits;
pub(crate) mod merge;
pub(crate) mod pin;
pub(crate) mod revisions;
#[cfg(feature = "client")]
pub(crate) mod source;
