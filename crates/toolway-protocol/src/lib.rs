//! The Model Context Protocol with the network taken away.
//!
//! Text goes in, decisions come out: this crate parses frames, tells the protocol's eras apart,
//! decodes requests by their method and writes replies in the shape that each revision wants. It
//! does no I/O, knows no clock and no async runtime, so everything in it can be tested as text.
//!
//! | question | module |
//! |---|---|
//! | What does this frame say? | [`jsonrpc`] |
//! | Which revisions exist, and to which era does each belong? | [`version`] |
//! | Which methods exist, who sends them, which revisions know them? | [`method`] |
//! | Which era does this message belong to, or why is it refused? | [`era`] |
//! | What is being asked, what is the answer? | [`request`] |
//! | What is told without being asked? | [`notification`] |
//! | What do tools, contents and capabilities look like? | [`types`], [`capability`] |
//! | How are HTTP headers mirrored and statuses chosen? | [`http`] |
//! | Which URI does a template make, which values does a URI give? | [`uri_template`] |
//! | How is JSON kept as text, and written into one buffer? | [`json`] |
//!
//! The layers, lowest first; a module uses those before it, never those after it:
//!
//! ```text
//! version < json < wire < capability, method < meta < jsonrpc < types < messages < http < era
//! ```
//!
//! `uri_template` stands beside them and uses none. `messages` is private: [`request`] and [`notification`] are its files.
//!
//! The runtime on top of it, with servers and clients, is the crate `toolway`.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod capability;
pub mod era;
pub mod http;
pub mod json;
pub mod jsonrpc;
mod messages;
pub mod meta;
pub mod method;
pub mod types;
pub mod uri_template;
pub mod version;
mod wire;

pub use json::RawJson;
pub use jsonrpc::{Id, Message, RpcError};
pub use messages::{Notification, Outcome, Reply, Request, notification, request};
pub use method::Method;
pub use version::{Era, ProtocolVersion};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
