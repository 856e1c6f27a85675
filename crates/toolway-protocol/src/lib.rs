//! The Model Context Protocol without the network.
//!
//! This crate parses frames (a frame is the JSON text of one message or one batch), decides which era of the protocol a
//! message belongs to, decodes requests by their method, and writes replies in the shape of each revision. An era is a
//! group of revisions: the revisions up to 2025-11-25 begin with a handshake, and from 2026-07-28 on every request is
//! self-contained ([`Era`]). It does no I/O and uses neither a clock nor an async runtime, so all of it can be tested
//! with plain text.
//!
//! | question | module |
//! |---|---|
//! | What does this frame contain? | [`jsonrpc`] |
//! | Which revisions exist, and to which era does each belong? | [`version`] |
//! | Which methods exist, who sends them, which revisions know them? | [`method`] |
//! | Which era does this message belong to, or why is it refused? | [`era`] |
//! | Which requests are there, and which replies? | [`request`] |
//! | Which notifications are there? | [`notification`] |
//! | What do tools, contents and capabilities look like? | [`types`], [`capability`] |
//! | How are HTTP headers mirrored and statuses chosen? | [`http`] |
//! | Where and how does a client sign in? | `oauth` |
//! | How are URIs built from a template, and values read from a URI? | [`uri_template`] |
//! | How is JSON kept as text, and written into one buffer? | [`json`] |
//!
//! The layers, lowest first. A module uses only the modules before it:
//!
//! ```text
//! version < json < wire < capability, method < meta < jsonrpc < types < messages < http < era
//! ```
//!
//! `uri_template` is independent of all other modules, and `oauth` uses only `json`. `messages` is private; its files are public as [`request`] and
//! [`notification`].
//!
//! The crate `toolway` is built on top of this crate and provides servers and clients.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod capability;
pub mod era;
pub mod http;
pub mod json;
pub mod jsonrpc;
mod messages;
pub mod meta;
pub mod method;
#[cfg(feature = "oauth")]
pub mod oauth;
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
