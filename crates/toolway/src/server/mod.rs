//! Servers: from functions to answers.
//!
//! A [`Server`] is a set of tools and a few facts about itself. It knows no wire: the doors
//! ([`serve_stdio`](Server::serve_stdio), [`serve_io`](Server::serve_io), [`http`](Server::http)) turn bytes
//! into calls, and every call takes the same way through the router to the function.
//!
//! | file | question |
//! |---|---|
//! | `builder.rs` | What does the author say about the server, and what is wrong with it? |
//! | `router.rs` | Which part of the server answers a request? |
//! | `registry.rs` | Which tools are there? |
//! | `tool.rs` | What is a tool to the server? |
//! | `arguments.rs`, `parameter.rs`, `schema.rs` | How does JSON become the parameters of a function? |
//! | `respond.rs`, `tool_error.rs` | How does what it returns become a result? |
//! | `context.rs`, `state.rs` | What may a function ask for besides its arguments? |
//! | `handshake/`, `stateless/` | What does each era add? |
//! | `duplex.rs`, `stdio/`, `http/` | How do messages come in and go out? |

pub(crate) mod arguments;
mod builder;
mod context;
mod duplex;
mod handshake;
#[cfg(feature = "http")]
pub mod http;
mod parameter;
mod registry;
mod respond;
mod router;
pub(crate) mod schema;
mod state;
mod stateless;
#[cfg(feature = "stdio")]
mod stdio;
mod tool;
mod tool_error;

use std::sync::Arc;

use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::era::stateless::Stamp;
use toolway_protocol::json::Limits;
use toolway_protocol::types::Implementation;

pub use builder::ServerBuilder;
pub use context::{Ctx, Scope};
#[cfg(feature = "testing")]
pub(crate) use duplex::Conversation;
pub use parameter::{Missing, Parameter};
pub use respond::{IntoToolResult, Json, respond};
pub use schema::Generator;
pub use state::{State, States};
pub use tool::{CallFuture, ToolEntry, ToolHandler};
pub use tool_error::ToolError;

use registry::Registry;

/// A built server. Cloning it is cheap; all clones are the same server.
///
/// ```
/// use toolway::prelude::*;
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// assert_eq!(server.info().name, "calculator");
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    info: Implementation,
    instructions: Option<String>,
    capabilities: ServerCapabilities,
    registry: Registry,
    states: States,
    stamp: Stamp,
    limits: Limits,
    max_frame: usize,
}

impl Server {
    /// Begins a server; the builder's `build`, `serve_stdio` and `serve_http` end it.
    #[expect(
        clippy::new_ret_no_self,
        reason = "`Server::new(…).tools(…).serve_stdio()` is how the story is told"
    )]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(Implementation::new(name, version))
    }

    /// Who this server is.
    pub fn info(&self) -> &Implementation {
        &self.inner.info
    }

    /// What it can do, derived from what it has.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.inner.capabilities
    }

    /// A value that the server was given with [`state`](ServerBuilder::state).
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        self.inner.states.get().map(State)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("info", &self.inner.info).finish_non_exhaustive()
    }
}

/// A list of tools, for [`ServerBuilder::tools`]: `tools![add, files::read]` names functions marked `#[tool]`.
#[macro_export]
macro_rules! tools {
    ($($tool:ty),* $(,)?) => {
        ::std::vec![$($crate::server::ToolEntry::new(<$tool as ::core::default::Default>::default())),*]
    };
}
