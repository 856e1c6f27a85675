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
//! What a server offers:
//!
//! - [`tool`](macro@tool), [`resource`](macro@resource), [`prompt`](macro@prompt): functions and structs become what their names say.
//! - [`service`](macro@service): methods of one value do, and share it.
//! - [`server::Parameter`]: what they may take; [`Ctx`] is the call they are in, [`State`] a value of yours.
//! - [`server::IntoToolResult`], [`server::IntoResource`], [`server::IntoPrompt`]: what they may give back.
//! - [`ToolError`], [`ResourceError`], [`PromptError`]: how they fail, and who may know why ([`ErrorPolicy`]).
//! - [`Ctx::ask`]: how they ask the user, and [`Ctx::once`] what they do not do again when they run with the answer;
//!   [`Form`]: what users can be asked to fill in, and [`FormField`] of what it is made.
//! - [`Completer`], [`Completing`]: how arguments go on while somebody types them.
//! - [`ToolEntry`], [`ResourceEntry`], [`PromptEntry`]: the same without macros, for what is known only at run time.
//!
//! The server itself:
//!
//! - [`server::ServerBuilder`]: everything that can be said about one;
//!   [`discover`](server::ServerBuilder::discover) finds what is marked,
//!   [`nest`](server::ServerBuilder::nest) and [`merge`](server::ServerBuilder::merge) put several together.
//! - [`Server`]: the doors it opens: [`serve_stdio`](Server::serve_stdio), [`serve_http`](Server::serve_http) and
//!   [`http`](Server::http), a `tower` service whose names, limits and sessions can be [set](server::http::HttpService),
//!   [`serve_io`](Server::serve_io) for any pair of streams, [`handle_json`](Server::handle_json) for one message at a time.
//! - [`on_connect`](server::ServerBuilder::on_connect): who may come in, as which [`Principal`], and what it sees
//!   ([`Admit::only_tools`]).
//! - [`Server::add_tool`] and its kin: changes while it runs, which clients hear of.
//!
//! The rest:
//!
//! - [`Client`]: the other end; [`Hub`]: many servers as one, from the files that name them.
//! - [`agent`]: tools for a model: one list of native and remote ones, in the shape that each provider takes.
//! - [`store`]: where a server keeps what outlives a request, and how to bring your own.
//! - [`testing`]: both ends joined in memory, over a pipe and over HTTP; calls of nobody for unit tests.
//! - [`Error`]: what went wrong and whose fault it was.
//! - [`types`], [`capability`]: the protocol's vocabulary; the protocol itself is the crate `toolway_protocol`.
//!
//! The [guides](https://github.com/toolway/toolway/tree/main/docs/guide) tell the same as stories, and
//! [Asking and replay](https://github.com/toolway/toolway/blob/main/docs/concepts/asking-and-replay.md) what it means that a
//! function that asks runs again.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `server` | yes | [`Server`] |
//! | `stdio` | yes | `Server::serve_stdio` |
//! | `macros` | yes | `#[tool]`, `#[resource]`, `#[prompt]`, `#[service]`, `#[derive(Form)]` |
//! | `full-schema` | | arguments and results are checked by every keyword of JSON Schema: `if`, `contains`, `dependentRequired`, … |
//! | `client` | | [`Client`] |
//! | `http` | | Streamable HTTP with sessions and streams that can be come back to, for whichever of server and client is on |
//! | `tls` | | clients over `https://`, with the authorities that the system trusts |
//! | `h2c` | | HTTP/2 without TLS beside HTTP/1.1, where the server has a socket of its own |
//! | `otel` | | calls are part of the traces of their callers, and are measured, by OpenTelemetry |
//! | `testing` | | [`testing`], with server, client and HTTP |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "server", feature = "client"))]
pub mod agent;
#[cfg(feature = "client")]
pub mod client;
#[cfg(all(feature = "server", feature = "client"))]
mod gateway;
mod ground;
#[cfg(feature = "client")]
pub mod hub;
#[cfg(all(feature = "server", feature = "client"))]
mod in_process;
#[cfg(feature = "server")]
pub(crate) mod schema;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;
#[cfg(not(feature = "client"))]
mod without_client;

#[cfg(feature = "client")]
pub use client::Client;
#[cfg(all(feature = "server", feature = "client"))]
pub use gateway::{IntoMount, Mount};
pub use ground::error::{Chain, Error, ErrorKind, Result};
#[cfg(feature = "server")]
pub use ground::extensions::Extensions;
pub use ground::future::BoxFuture;
#[cfg(feature = "server")]
pub use ground::peer::Peer;
#[cfg(feature = "client")]
pub use hub::Hub;
#[cfg(feature = "server")]
pub use server::{
    Admit, Ask, AskError, AskErrorKind, Audio, Complete, Completer, Completing, Connecting, Ctx, Cursor,
    Embedded, ErrorPolicy, Extension, File, Filled, Form, FormField, Headers, Image, IntoContent, Json,
    Message, Principal, Prompt, PromptEntry, PromptError, Reader, Reading, Refuse, ResourceEntry,
    ResourceError, ResourcePage, Run, Server, State, Text, ToolEntry, ToolError, assistant, user,
};
#[cfg(feature = "macros")]
pub use toolway_macros::{Form, prompt, resource, service, tool};
pub use toolway_protocol::jsonrpc::Code;
pub use toolway_protocol::{Era, Notification, ProtocolVersion, RawJson, RpcError, capability, types};
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) use toolway_schema::closest;
#[cfg(not(feature = "client"))]
#[doc(hidden)]
pub use without_client::{Client, Hub};

/// What most programs need: `use toolway::prelude::*`.
pub mod prelude {
    #[cfg(feature = "server")]
    pub use crate::server::Offer as _;
    #[cfg(feature = "server")]
    pub use crate::types::Completion;
    #[cfg(feature = "server")]
    pub use crate::{
        Admit, Audio, Complete, Completer, Completing, Connecting, Ctx, Cursor, Embedded, ErrorPolicy,
        Extension, Extensions, File, Filled, Form, FormField, Headers, Image, Json, Message, Principal,
        Prompt, PromptEntry, PromptError, Reading, Refuse, ResourceEntry, ResourceError, ResourcePage, Run,
        Server, State, Text, ToolEntry, ToolError, assistant, prompts, resources, tools, user,
    };
    pub use crate::{Client, Hub};
    pub use crate::{Error, ProtocolVersion};
    #[cfg(feature = "macros")]
    pub use crate::{prompt, resource, service, tool};
}

/// What the macros write refers to; nothing here is for people.
#[doc(hidden)]
#[cfg(feature = "server")]
pub mod __private {
    pub use crate::schema::{Arg, Input, InputSchema, input_schema_of};
    pub use crate::server::ask::form::outline as form;
    pub use crate::server::catalog::generated::{
        bad_arguments, blocking, completers_of, expand, misfit, prompt_argument, prompt_arguments_of,
    };
    pub use crate::server::catalog::named::{NamedPrompt, NamedResource, NamedTool, unmarked};
    pub use crate::server::handler::arguments::{Arguments, Lacking, Refusal, Slots};
    pub use crate::server::handler::slots::fill;
    pub use crate::server::handler::suspect;
    pub use crate::server::handler::texts::{read_described_struct, read_struct, read_texts};
    pub use crate::server::respond::anything::{self, Probe};
    pub use crate::server::{
        About, BoxError, CallFuture, Completer, Completers, Completing, Ctx, Element, Elements, Form,
        FormChoice, FormField, IntoCompletion, IntoPrompt, IntoResource, IntoToolResult, Marked, Offer,
        Parameter, PromptEntry, PromptFuture, PromptHandler, Provide, ReadFuture, Reading,
        ResourceDefinition, ResourceEntry, ResourceHandler, Run, Running, Scope, States, ToolEntry,
        ToolHandler,
    };
    pub use crate::types::{
        Annotations, Field, FormSchema, Icon, Prompt, PromptArgument, Resource, ResourceTemplate, Role,
        Theme, Tool, ToolAnnotations,
    };
    pub use inventory;
    pub use serde;
    pub use serde_json::{self, json};
    #[cfg(feature = "macros")]
    pub use toolway_macros::named;
    pub use toolway_protocol::RawJson;
    pub use toolway_protocol::uri_template as values;

    #[cfg(not(feature = "macros"))]
    pub use crate::__named as named;
}

/// The programs of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And so do those of the guides and of the concepts.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/first-server.md")]
    struct FirstServer;
    #[doc = include_str!("../../../docs/guide/arguments-and-schemas.md")]
    struct ArgumentsAndSchemas;
    #[doc = include_str!("../../../docs/guide/results-and-errors.md")]
    struct ResultsAndErrors;
    #[doc = include_str!("../../../docs/guide/observe.md")]
    struct Observe;
    #[doc = include_str!("../../../docs/guide/resources-and-templates.md")]
    struct ResourcesAndTemplates;
    #[doc = include_str!("../../../docs/guide/prompts-and-completions.md")]
    struct PromptsAndCompletions;
    #[doc = include_str!("../../../docs/guide/ask-the-user.md")]
    struct AskTheUser;
    #[doc = include_str!("../../../docs/guide/serve-over-http.md")]
    struct ServeOverHttp;
    #[doc = include_str!("../../../docs/guide/mount-in-axum.md")]
    struct MountInAxum;
    #[doc = include_str!("../../../docs/guide/who-is-calling.md")]
    struct WhoIsCalling;
    #[doc = include_str!("../../../docs/guide/behind-a-proxy.md")]
    struct BehindAProxy;
    #[doc = include_str!("../../../docs/guide/first-client.md")]
    struct FirstClient;
    #[doc = include_str!("../../../docs/guide/many-servers.md")]
    struct ManyServers;
    #[doc = include_str!("../../../docs/guide/tools-for-your-model.md")]
    struct ToolsForYourModel;
    #[doc = include_str!("../../../docs/guide/testing.md")]
    struct Testing;
    #[doc = include_str!("../../../docs/concepts/asking-and-replay.md")]
    struct AskingAndReplay;
    #[doc = include_str!("../../../docs/troubleshooting.md")]
    struct Troubleshooting;
}
