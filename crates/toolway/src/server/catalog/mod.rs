//! The catalog: what does the server offer, and how is it found and listed?
//!
//! | file | question |
//! |---|---|
//! | `tool.rs`, `resource.rs`, `prompt.rs`, `completion.rs`, `method.rs` | What is an entry of each kind? |
//! | `agent.rs`, `foreign.rs`, `generated.rs`, `named.rs`, `discover.rs` | How do other tools, generated code and marked functions become entries? |
//! | `entry.rs`, `elements.rs`, `registry.rs` | Which entries does the server have at one moment? |
//! | `visible.rs`, `listing.rs`, `cursor.rs`, `cache.rs` | How are entries listed, page by page, and how long may a list be cached? |
//! | `edit.rs`, `source.rs` (`without_sources.rs`) | What may change while the server runs? |
//! | `layered.rs`, `blocking_monitor.rs` | Which layers wrap an entry, and does a tool block its thread? |

pub(crate) mod agent;
pub(crate) mod blocking_monitor;
pub(crate) mod cache;
pub(crate) mod completion;
pub(crate) mod cursor;
pub(crate) mod discover;
pub(crate) mod edit;
pub(crate) mod elements;
pub(crate) mod entry;
#[cfg(feature = "client")]
pub(crate) mod foreign;
pub(crate) mod generated;
pub(crate) mod layered;
pub(crate) mod listing;
pub(crate) mod method;
pub(crate) mod named;
pub(crate) mod prompt;
pub(crate) mod registry;
pub(crate) mod resource;
#[cfg(feature = "client")]
pub(crate) mod source;
#[cfg(not(feature = "client"))]
#[path = "without_sources.rs"]
pub(crate) mod source;
pub(crate) mod tool;
pub(crate) mod visible;
