//! Model Context Protocol servers and clients from plain async functions.
//!
//! Write a function and say what it does; Toolway makes it a tool that every MCP client can use, over stdio
//! or HTTP, in every protocol revision, without the function knowing any of that.
//!
//! ```no_run
//! use toolway::prelude::*;
//!
//! /// Add two numbers.
//! #[tool]
//! async fn add(
//!     /// First addend.
//!     a: f64,
//!     /// Second addend.
//!     b: f64,
//! ) -> f64 {
//!     a + b
//! }
//!
//! #[tokio::main]
//! async fn main() -> toolway::Result<()> {
//!     Server::new("calculator", "1.0.0").tools(tools![add]).serve_stdio().await
//! }
//! ```
//!
//! The function stays a function: `add(1.0, 2.0).await` works in a unit test.
//!
//! # Where next
//!
//! - [`Server`]: what it offers, and the doors it opens: stdio, HTTP, any pair of streams.
//! - [`server::Parameter`] and [`server::IntoToolResult`]: what a tool may take and give back.
//! - [`Client`]: the other end.
//! - [`testing`]: both ends joined in memory, over a pipe and over HTTP.
//! - [`types`]: the protocol's vocabulary; the protocol itself is the crate `toolway_protocol`.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `server` | yes | [`Server`] |
//! | `stdio` | yes | `Server::serve_stdio` |
//! | `macros` | yes | `#[tool]` |
//! | `client` | | [`Client`] |
//! | `http` | | Streamable HTTP, for whichever of server and client is on |
//! | `testing` | | [`testing`], with server, client and HTTP |

#[cfg(feature = "client")]
pub mod client;
mod error;
#[cfg(feature = "server")]
mod panic;
#[cfg(feature = "server")]
mod peer;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;

#[cfg(feature = "client")]
pub use client::Client;
pub use error::{Chain, Error, ErrorKind, Result};
#[cfg(feature = "server")]
pub use peer::Peer;
#[cfg(feature = "server")]
pub use server::{Ctx, Json, Server, State, ToolError};
#[cfg(feature = "macros")]
pub use toolway_macros::tool;
pub use toolway_protocol::{Era, ProtocolVersion, RawJson, RpcError, types};

/// What most programs need: `use toolway::prelude::*`.
pub mod prelude {
    #[cfg(feature = "client")]
    pub use crate::Client;
    #[cfg(feature = "macros")]
    pub use crate::tool;
    #[cfg(feature = "server")]
    pub use crate::{Ctx, Json, Server, State, ToolError, tools};
    pub use crate::{Error, ProtocolVersion};
}

/// What the macros write refers to; nothing here is for people.
#[doc(hidden)]
#[cfg(feature = "server")]
pub mod __private {
    pub use crate::server::arguments::{Collected, Slots, fill, read};
    pub use crate::server::schema::InputSchema;
    pub use crate::server::{CallFuture, IntoToolResult, Parameter, Scope, States, ToolHandler, respond};
    pub use crate::types::{Tool, ToolAnnotations};
    pub use serde;
    pub use toolway_protocol::RawJson;
}

/// The programs of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
