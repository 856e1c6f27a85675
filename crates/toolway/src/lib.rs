//! Model Context Protocol servers and clients from plain async functions.
//!
//! Write a function and document it; Toolway makes it a tool that every MCP client can use, over stdio or HTTP and in
//! every protocol revision. The function needs no code for any of that.
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
//! The function remains an ordinary function: `add(1.0, 2.0).await` works in a unit test.
//!
//! # Where next
//!
//! What a server offers:
//!
//! - [`tool`](macro@tool), [`resource`](macro@resource), [`prompt`](macro@prompt): make a tool, a resource or a prompt
//!   of a function or a struct.
//! - [`service`](macro@service): makes tools, resources and prompts of the methods of one shared value.
//! - [`server::parameter::Parameter`]: the parameters that handlers may take; [`Ctx`] is the current call, [`State`] a
//!   value of the application.
//! - [`server::convert::IntoToolResult`], [`IntoResource`](server::convert::IntoResource),
//!   [`IntoPrompt`](server::convert::IntoPrompt): the types that handlers may return.
//! - [`ToolError`], [`server::ResourceError`], [`server::PromptError`]: how handlers fail, and how much the client
//!   learns ([`server::ErrorPolicy`]).
//! - [`Ctx::ask`]: asks the user a question; [`Ctx::once`]: work that is not repeated when the function runs again with
//!   the answer; [`Form`]: a form that a user can fill in, made of
//!   [fields](server::ask::FormField).
//! - [`server::Completer`], [`server::CompletionRequest`]: suggest values of arguments while the user types.
//! - [`server::ToolEntry`], [`server::ResourceEntry`], [`server::PromptEntry`]: tools, resources and prompts without
//!   macros, for elements that are known only at run time.
//!
//! The server itself:
//!
//! - [`server::ServerBuilder`]: all settings of a server; [`discover`](server::ServerBuilder::discover) finds
//!   everything marked with the macros, [`nest`](server::ServerBuilder::nest) and
//!   [`merge`](server::ServerBuilder::merge) combine several servers.
//! - [`Server`]: the ways to serve it: [`serve_stdio`](Server::serve_stdio), [`serve_http`](Server::serve_http),
//!   [`http`](Server::http), a `tower` service with [settings](server::http::HttpService) for names, limits and
//!   sessions, [`serve_io`](Server::serve_io) for any pair of streams, [`handle_json`](Server::handle_json) for one
//!   message at a time.
//! - [`on_connect`](server::ServerBuilder::on_connect): decides which clients may connect, as which
//!   [`Principal`](server::Principal), and
//!   what they can see ([`Admit::only_tools`](server::Admit::only_tools)).
//! - [`Server::add_tool`] and similar methods: change a running server; clients are notified.
//!
//! The rest:
//!
//! - [`Client`]: a client of one server; [`Hub`]: a client of many servers, from the files that configure them.
//! - [`auth`]: protected servers, which only callers with a token of an identity provider reach.
//! - [`agent`]: tools for a model: one list of native and remote tools, in the format of each provider.
//! - [`store`]: where a server keeps data that outlives a request, and how to write your own store.
//! - [`testing`]: client and server connected in memory, over a pipe and over HTTP; contexts without a client for unit
//!   tests.
//! - [`Error`]: the error type, with its kind and causes.
//! - [`types`], [`capability`]: the types of the protocol; the protocol itself is in the crate `toolway_protocol`.
//!
//! The [guides](https://github.com/toolway/toolway/tree/main/docs/guide) explain these items step by step. [Asking and
//! replay](https://github.com/toolway/toolway/blob/main/docs/concepts/asking-and-replay.md) explains why a function
//! that asks a question runs again.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `server` | yes | [`Server`] |
//! | `stdio` | yes | `Server::serve_stdio` |
//! | `macros` | yes | `#[tool]`, `#[resource]`, `#[prompt]`, `#[service]`, `#[derive(Form)]` |
//! | `full-schema` | | arguments and results are checked against every keyword of JSON Schema: `if`, `contains`, `dependentRequired`, … |
//! | `client` | | [`Client`] |
//! | `http` | | Streamable HTTP with sessions and resumable streams, for the server, the client or both |
//! | `tls` | | clients over `https://`, with the certificate authorities that the system trusts |
//! | `auth` | | OAuth: clients that sign in, and [servers](auth) that let in only callers with a token |
//! | `h2c` | | HTTP/2 without TLS in addition to HTTP/1.1, if the server has its own socket |
//! | `otel` | | OpenTelemetry: calls join the traces of their callers, and are measured |
//! | `testing` | | [`testing`], with server, client and HTTP |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "server", feature = "client"))]
pub mod agent;
#[cfg(all(feature = "auth", feature = "server"))]
pub mod auth;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "__fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
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
#[doc(hidden)]
pub mod transport;
#[cfg(not(feature = "client"))]
mod without_client;

#[cfg(feature = "client")]
pub use client::Client;
pub use ground::error::{Chain, Error, ErrorKind, Result};
pub use ground::future::BoxFuture;
#[cfg(feature = "client")]
pub use hub::Hub;
#[cfg(feature = "server")]
pub use server::ask::Form;
#[cfg(feature = "server")]
pub use server::{Ctx, Json, Server, State, ToolError};
#[cfg(feature = "macros")]
pub use toolway_macros::{Form, prompt, resource, service, tool};
pub use toolway_protocol::jsonrpc::Code;
pub use toolway_protocol::{Era, ProtocolVersion, RawJson, RpcError, capability, types};
#[cfg(any(feature = "server", feature = "client"))]
pub(crate) use toolway_schema::closest;
#[cfg(not(feature = "client"))]
#[doc(hidden)]
pub use without_client::{Client, Hub};

/// The names that most programs need: `use toolway::prelude::*`.
///
/// Everything else is imported by its path, from [`server`], [`client`], [`types`] and the other modules.
pub mod prelude {
    #[cfg(feature = "server")]
    pub use crate::server::MakeEntry as _;
    pub use crate::{Client, Hub, Result};
    #[cfg(feature = "server")]
    pub use crate::{Ctx, Json, Server, State, ToolError, prompts, resources, tools};
    #[cfg(feature = "macros")]
    pub use crate::{prompt, resource, service, tool};
}

/// Items that code generated by the macros refers to. Not part of the public API.
#[doc(hidden)]
#[cfg(feature = "server")]
pub mod __private {
    pub use crate::schema::{Arg, FinishedSchema, InputSchemaBuilder, input_schema_of};
    pub use crate::server::ask::form::schema_builder as form;
    pub use crate::server::ask::{Form, FormChoice, FormField};
    pub use crate::server::catalog::generated::{
        bad_arguments, blocking, completers_of, expand, prompt_argument, prompt_arguments_of,
        wrong_default_message,
    };
    pub use crate::server::catalog::named::{NamedPrompt, NamedResource, NamedTool, unmarked};
    pub use crate::server::catalog::prompt::PromptFuture;
    pub use crate::server::catalog::resource::ReadFuture;
    pub use crate::server::catalog::tool::{CallFuture, ToolDeclaration};
    pub use crate::server::convert::{
        IntoCompletion, IntoPrompt, IntoResource, IntoToolResult, ResourceInfo,
    };
    pub use crate::server::element::{
        AnyEntry, Completers, Elements, MarkedItem, PromptHandler, Provide, ResourceDefinition,
        ResourceHandler, ToolHandler,
    };
    pub use crate::server::handler::arguments::{Arguments, MissingParameters, Slots, StartError};
    pub use crate::server::handler::diagnose;
    pub use crate::server::handler::slots::fill;
    pub use crate::server::handler::texts::{read_described_struct, read_struct, read_texts};
    pub use crate::server::parameter::{Parameter, Scope, States};
    pub use crate::server::respond::serialize_fallback::{self, Probe};
    pub use crate::server::{
        BoxError, Completer, CompletionRequest, Ctx, MakeEntry, PromptEntry, ReadRequest, ResourceEntry, Run,
        ToolEntry,
    };
    pub use crate::types::{
        Annotations, Field, FormSchema, Icon, Prompt, PromptArgument, Resource, ResourceTemplate, Role,
        Theme, Tool, ToolAnnotations,
    };
    #[cfg(feature = "discover")]
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

/// Compiles the programs of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles the programs of the guides and the concepts.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/first-server.md")]
    struct FirstServer;
    #[doc = include_str!("../../../docs/guide/arguments-and-schemas.md")]
    struct ArgumentsAndSchemas;
    #[doc = include_str!("../../../docs/guide/results-and-errors.md")]
    struct ResultsAndErrors;
    #[doc = include_str!("../../../docs/guide/dates-and-ids.md")]
    struct DatesAndIds;
    #[doc = include_str!("../../../docs/guide/resources-and-templates.md")]
    struct ResourcesAndTemplates;
    #[doc = include_str!("../../../docs/guide/prompts-and-completions.md")]
    struct PromptsAndCompletions;
    #[doc = include_str!("../../../docs/guide/discovery-and-nesting.md")]
    struct DiscoveryAndNesting;
    #[doc = include_str!("../../../docs/guide/ask-the-user.md")]
    struct AskTheUser;
    #[doc = include_str!("../../../docs/guide/session-memory.md")]
    struct Memory;
    #[doc = include_str!("../../../docs/guide/long-jobs.md")]
    struct LongJobs;
    #[doc = include_str!("../../../docs/guide/big-files-and-uploads.md")]
    struct BigFilesAndUploads;
    #[doc = include_str!("../../../docs/guide/own-methods.md")]
    struct OwnMethods;
    #[doc = include_str!("../../../docs/guide/serve-over-http.md")]
    struct ServeOverHttp;
    #[doc = include_str!("../../../docs/guide/mount-in-axum.md")]
    struct MountInAxum;
    #[doc = include_str!("../../../docs/guide/cors.md")]
    struct Cors;
    #[doc = include_str!("../../../docs/guide/protect-a-server.md")]
    struct ProtectAServer;
    #[doc = include_str!("../../../docs/guide/per-tool-scopes.md")]
    struct PerToolScopes;
    #[doc = include_str!("../../../docs/guide/identity-providers.md")]
    struct IdentityProviders;
    #[doc = include_str!("../../../docs/guide/who-is-calling.md")]
    struct WhoIsCalling;
    #[doc = include_str!("../../../docs/guide/behind-a-proxy.md")]
    struct BehindAProxy;
    #[doc = include_str!("../../../docs/guide/deploy.md")]
    struct Deploy;
    #[doc = include_str!("../../../docs/guide/observe.md")]
    struct Observe;
    #[doc = include_str!("../../../docs/guide/testing.md")]
    struct Testing;
    #[doc = include_str!("../../../docs/guide/first-client.md")]
    struct FirstClient;
    #[doc = include_str!("../../../docs/guide/sign-in.md")]
    struct SignIn;
    #[doc = include_str!("../../../docs/guide/machines-and-workloads.md")]
    struct MachinesAndWorkloads;
    #[doc = include_str!("../../../docs/guide/many-servers.md")]
    struct ManyServers;
    #[doc = include_str!("../../../docs/guide/record.md")]
    struct Record;
    #[doc = include_str!("../../../docs/guide/gateways.md")]
    struct Gateways;
    #[doc = include_str!("../../../docs/guide/tools-for-your-model.md")]
    struct ToolsForYourModel;
    #[doc = include_str!("../../../docs/guide/the-command.md")]
    struct TheCommand;
    #[doc = include_str!("../../../docs/guide/coming-from-rmcp.md")]
    struct ComingFromRmcp;
    #[doc = include_str!("../../../docs/guide/coming-from-fastmcp.md")]
    struct ComingFromFastmcp;
    #[doc = include_str!("../../../docs/concepts/asking-and-replay.md")]
    struct AskingAndReplay;
    #[doc = include_str!("../../../docs/troubleshooting.md")]
    struct Troubleshooting;
    // The examples of the macros need this crate.
    #[doc = include_str!("../../toolway-macros/docs/tool.md")]
    struct ToolMacro;
    #[doc = include_str!("../../toolway-macros/docs/resource.md")]
    struct ResourceMacro;
    #[doc = include_str!("../../toolway-macros/docs/prompt.md")]
    struct PromptMacro;
    #[doc = include_str!("../../toolway-macros/docs/service.md")]
    struct ServiceMacro;
    #[doc = include_str!("../../toolway-macros/docs/form.md")]
    struct FormMacro;
}
