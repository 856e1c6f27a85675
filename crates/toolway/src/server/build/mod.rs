//! Building: how do the author's settings become a server?
//!
//! | file | question |
//! |---|---|
//! | `builder.rs`, `hooks.rs`, `layers.rs`, `limits.rs`, `seal_keys.rs`, `defaults.rs`, `revisions.rs`, `pin.rs`, `discovery.rs` | What can be configured on a server? |
//! | `source.rs` | How does a gateway add the elements of other servers? |
//! | `merge.rs` | How do several servers become one? |
//! | `finish.rs` | What is checked before a server is built? |
//! | `transports.rs` | Can a transport provide the parameters of all handlers? |
//! | `without_http.rs`, `without_stdio.rs`, `without_discovery.rs` | What does the compiler say if a feature is off? |

pub(crate) mod builder;
pub(crate) mod defaults;
#[cfg(feature = "discover")]
pub(crate) mod discovery;
#[cfg(not(feature = "discover"))]
#[path = "without_discovery.rs"]
mod discovery;
pub(crate) mod finish;
pub(crate) mod hooks;
pub(crate) mod layers;
pub(crate) mod limits;
pub(crate) mod merge;
pub(crate) mod pin;
pub(crate) mod revisions;
#[cfg(feature = "http")]
mod seal_keys;
#[cfg(feature = "client")]
pub(crate) mod source;
#[cfg(any(feature = "http", feature = "stdio"))]
pub(crate) mod transports;
