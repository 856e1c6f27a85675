//! Servers: from functions to answers.
//!
//! A [`Server`] is a set of tools, resources and prompts and a few facts about itself. It knows no wire: the doors
//! ([`serve_stdio`](Server::serve_stdio), [`serve_io`](Server::serve_io), [`http`](Server::http),
//! [`handle_json`](Server::handle_json)) turn bytes into calls, and every call takes the same way through the router to
//! the function.
//!
//! | to | see |
//! |---|---|
//! | describe a server | [`ServerBuilder`], made by [`Server::new`] |
//! | give it something | [`ToolEntry`], [`ResourceEntry`], [`PromptEntry`]; [`Provide`] for all three at once |
//! | write a handler without a macro | [`Handler`], [`ToolHandler`], [`ResourceHandler`], [`PromptHandler`] |
//! | know what a handler may take | [`Parameter`]: [`Ctx`], [`State`], [`Extension`], [`Headers`], and whatever can be deserialized |
//! | know what it may return | [`IntoToolResult`], [`IntoResource`], [`IntoPrompt`], [`IntoCompletion`], [`IntoResourcePage`], [`IntoReply`] |
//! | fail | [`ToolError`], [`ResourceError`], [`PromptError`]; [`ErrorPolicy`] says what peers learn of the rest |
//! | speak while it runs | [`Ctx::progress`], [`Ctx::log`] |
//! | ask the user | [`Form`]; [`FormField`] says what may be filled in, [`FormChoice`] what chosen from |
//! | remember something of its caller | [`Ctx::memory`], [`Ctx::memory_update`] |
//! | decide who may come in | [`ServerBuilder::on_connect`]: [`Connecting`], [`Admit`], [`Refuse`]; [`Principal`] is who it was; [`Admit::only_tools`] and its kin say what it sees |
//! | hear when somebody has gone | [`ServerBuilder::on_disconnect`], [`ServerBuilder::on_terminate`] |
//! | change what the server has | [`Server::add_tool`] and its kin, [`Server::resource_updated`] |
//! | stand around calls | [`ServerBuilder::layer`]: [`Service`], [`layer_fn`], [`tower`](fn@tower) |
//! | see what happens | [`ServerBuilder::on_error`], [`ServerBuilder::on_request_end`], and `tracing` |
//! | let answers be kept | [`Cacheable`], [`Ctx::cache`] |
//!
//! Names that only what the macros write needs ([`Offer`], [`Marked`], [`Element`]) are public because that code stands in
//! other crates.
//!
//! # Inside
//!
//! | file | question |
//! |---|---|
//! | `builder.rs`, `bounds.rs`, `merge.rs`, `elements.rs`, `named.rs`, `discover.rs`, `build.rs` | What does the author give to the server? |
//! | `registry.rs`, `cursor.rs`, `listing.rs` | What is there, and how is it listed? |
//! | `live.rs`, `changes.rs`, `bridge.rs`, `interest.rs` | What may change while it runs, and who hears of it? |
//! | `source.rs`, `passing.rs` | What gives it elements while it runs, and how are their calls passed on? |
//! | `connecting.rs`, `admit.rs` | Who may come in, and as whom? |
//! | `allowed.rs` | What may a caller see? |
//! | `ending.rs` | What is done when somebody has gone? |
//! | `served.rs` | How much of the protocol is served? |
//! | `call.rs`, `rounds.rs` | What is a call, and how often does its handler run? |
//! | `layer/` | What stands between a call and its handler? |
//! | `watch.rs`, `trace.rs`, `stats.rs`, `otel.rs`, `without_otel.rs` | What is seen of a call from outside? |
//! | `router.rs` | Which part of the server answers a request? |
//! | `tool.rs`, `resource.rs`, `prompt.rs`, `completion.rs`, `method.rs` | What is each kind to the server? |
//! | `handler.rs`, `parameter.rs`, `suspect.rs`, `arguments.rs`, `placed.rs`, `texts.rs` | How does what was sent become the parameters of a function? |
//! | `respond/`, `failure.rs` | How does what it returns become a result? |
//! | `report.rs` | Who hears of an error that nobody expected? |
//! | `scope.rs`, `context.rs`, `log.rs`, `memory.rs`, `extract.rs`, `state.rs`, `cache.rs` | What may it ask for and say meanwhile? |
//! | `ask/`, `form/` | What can the client and its user be asked? |
//! | `handshake/`, `stateless/` | What does each era add? |
//! | `duplex.rs`, `conversation.rs`, `output.rs`, `batch.rs`, `stdio/`, `http/`, `embed.rs` | How do messages come in and go out? |
//! | `without_http.rs`, `without_stdio.rs` | What does a program read that uses a door which is not built in? |

mod admit;
mod agent;
mod allowed;
pub(crate) mod arguments;
pub(crate) mod ask;
mod batch;
mod bounds;
mod bridge;
mod build;
mod builder;
mod cache;
mod call;
mod changes;
mod completion;
mod connecting;
mod context;
mod conversation;
mod cursor;
mod discover;
mod duplex;
mod elements;
mod embed;
mod ending;
mod extract;
mod failure;
pub(crate) mod form;
pub(crate) mod generated;
mod given;
mod handler;
mod handshake;
#[cfg(feature = "http")]
pub mod http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod http;
mod interest;
mod layer;
mod listing;
mod live;
mod log;
mod memory;
mod merge;
mod method;
pub(crate) mod named;
#[cfg(feature = "otel")]
mod otel;
#[cfg(not(feature = "otel"))]
#[path = "without_otel.rs"]
mod otel;
mod output;
mod pace;
mod parameter;
#[allow(dead_code, reason = "only whoever joins a server with clients asks")]
mod passing;
mod placed;
mod prompt;
mod registry;
mod report;
mod resource;
pub(crate) mod respond;
mod rounds;
mod router;
mod scope;
mod served;
#[allow(dead_code, reason = "only whoever joins a server with clients asks")]
mod source;
mod state;
mod stateless;
mod stats;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(not(feature = "stdio"))]
#[path = "without_stdio.rs"]
mod stdio;
#[doc(hidden)]
pub mod suspect;
pub(crate) mod texts;
mod tool;
mod trace;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::sync::Semaphore;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::era::stateless::Stamp;
use toolway_protocol::json::Limits;
use toolway_protocol::types::Implementation;
use toolway_protocol::{Era, ProtocolVersion};

pub use crate::schema::Generator;
pub use admit::{Admit, IntoAdmission, Refuse};
pub use arguments::Arguments;
pub use ask::{Ask, AskError, AskErrorKind, IntoSample, OnceError, Question, Questions, UserAnswer};
pub use builder::ServerBuilder;
pub use cache::Cacheable;
pub use call::Call;
pub use completion::{Complete, Completer, Completers, Completing, IntoCompletion};
pub use connecting::Connecting;
pub use context::{Amount, Ctx};
pub use discover::{Element, Marked};
pub use elements::{Elements, Provide};
pub use ending::{Disconnected, Terminated, Termination};
pub use extract::{Extension, Headers, Principal};
pub use failure::{BoxError, ErrorPolicy, Failure, PromptError, ResourceError, ToolError};
pub use form::{Form, FormChoice, FormField};
pub use handler::{Handler, Running};
pub use layer::{
    Answer, CallError, FnLayer, FnService, ForEachCall, Kind, Next, Service, Tower, TowerService, layer_fn,
    tower,
};
pub use listing::{Cursor, IntoResourcePage, ResourcePage};
pub use log::Log;
pub use memory::{Memory, MemoryError};
pub use method::IntoReply;
pub use named::IntoTool;
pub use parameter::{Missing, Parameter};
pub use prompt::{Filled, PromptEntry, PromptFuture, PromptHandler};
pub use report::{ErrorReport, ErrorScope};
pub use resource::{ReadFuture, Reading, ResourceDefinition, ResourceEntry, ResourceHandler};
pub use respond::{
    About, Audio, Embedded, File, Image, IntoBlocks, IntoContent, IntoPrompt, IntoResource, IntoToolResult,
    Json, Message, Prompt, Reader, Text, assistant, respond, user,
};
pub use scope::Scope;
pub use served::ProtocolPin;
pub use state::{State, States};
pub use stats::RequestStats;
pub use tool::{CallFuture, Offer, Run, ToolEntry, ToolHandler};
pub use toolway_protocol::uri_template::Values;
#[cfg(feature = "client")]
pub(crate) use {
    admit::Admitted,
    conversation::Conversation,
    passing::Passing,
    scope::Arrival,
    source::{Offering, Source},
    tool::wrong_name,
};
#[cfg(feature = "testing")]
pub(crate) use {memory::Place, scope::Facts};

use admit::Admission;
use cache::CachePolicy;
use changes::Changes;
use cursor::CursorKey;
use ending::{Endings, HookTasks};
use layer::Stages;
use listing::Lister;
use memory::Memories;
use method::CustomMethod;
use otel::Instruments;
use registry::Registry;
use report::Reporter;
use source::Sources;
use stateless::seal::SealKeys;
use stats::Counter;

use crate::store::Store;

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
    registry: Registry,
    states: Arc<States>,
    readers: Vec<resource::Reader>,
    listers: Vec<Lister>,
    methods: HashMap<String, CustomMethod>,
    notifications: HashMap<String, CustomMethod>,
    admission: Option<Admission>,
    /// The only era that is served, if there is only one.
    era: Option<Era>,
    /// What `initialize` is answered with, whatever it asks for.
    pinned: Option<ProtocolVersion>,
    layers: Stages,
    methods_have_layers: bool,
    reporter: Option<Reporter>,
    counter: Option<Counter>,
    instruments: Instruments,
    errors: ErrorPolicy,
    cache: CachePolicy,
    cursors: CursorKey,
    seal: SealKeys,
    changes: Changes,
    store: Arc<dyn Store>,
    /// Whether other servers may have the same store.
    #[allow(dead_code, reason = "only HTTP asks")]
    is_shared: bool,
    /// How long a question may stay without an answer.
    question_timeout: Duration,
    /// How long a handler may run.
    deadline: Option<Duration>,
    /// Room for requests that run, at all doors together.
    places: Semaphore,
    /// How many of them may be of one connection.
    places_of_one: usize,
    memories: Memories,
    endings: Endings,
    hook_tasks: HookTasks,
    strict: bool,
    stamp: Stamp,
    limits: Limits,
    /// How many bytes a message may have.
    max_message: AtomicUsize,
    sources: Sources,
    told: given::Told,
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

    /// What it can do, derived from what it has now.
    pub fn capabilities(&self) -> ServerCapabilities {
        self.inner.registry.load().capabilities.clone()
    }

    /// How to use it.
    pub fn instructions(&self) -> Option<&str> {
        self.inner.instructions.as_deref()
    }

    /// The tool of this name.
    pub fn tool(&self, name: &str) -> Option<ToolEntry> {
        self.inner.registry.load().tool(name).cloned()
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

/// A list of tools, for [`ServerBuilder::tools`]: `tools![add, files::read]` names functions marked `#[tool]`, and
/// `tools![add as "sum"]` gives one another name.
///
/// ```
/// use toolway::prelude::*;
///
/// mod files {
///     use toolway::prelude::*;
///
///     /// Read a file.
///     #[tool]
///     pub fn read(path: &str) -> Result<String, ToolError> {
///         Ok(std::fs::read_to_string(path)?)
///     }
/// }
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// let names: Vec<_> = tools![add as "sum", files::read].iter().map(|tool| tool.definition().name.clone()).collect();
/// assert_eq!(names, ["sum", "read"]);
/// ```
#[macro_export]
macro_rules! tools {
    ($($($tool:ident)::+ $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::__private::named!(NamedTool ToolEntry $($tool)::+) $(.named($name))?),*]
    };
    ($($tool:ty $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::server::ToolEntry::of::<$tool>() $(.named($name))?),*]
    };
}

/// A list of resources, for [`ServerBuilder::resources`]: `resources![index, note]` names functions marked `#[resource]`.
///
/// ```
/// use toolway::prelude::*;
///
/// /// The message of the day.
/// #[resource("motd://today")]
/// fn motd() -> &'static str {
///     "be kind"
/// }
///
/// assert_eq!(resources![motd][0].definition().uri(), "motd://today");
/// ```
#[macro_export]
macro_rules! resources {
    ($($($resource:ident)::+ $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::__private::named!(NamedResource ResourceEntry $($resource)::+) $(.named($name))?),*]
    };
    ($($resource:ty $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::server::ResourceEntry::of::<$resource>() $(.named($name))?),*]
    };
}

/// A list of prompts, for [`ServerBuilder::prompts`]: `prompts![review]` names functions marked `#[prompt]`.
///
/// ```
/// use toolway::prelude::*;
///
/// /// Review code.
/// #[prompt]
/// fn review(code: &str) -> String {
///     format!("Review this: {code}")
/// }
///
/// assert_eq!(prompts![review][0].definition().name, "review");
/// ```
#[macro_export]
macro_rules! prompts {
    ($($($prompt:ident)::+ $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::__private::named!(NamedPrompt PromptEntry $($prompt)::+) $(.named($name))?),*]
    };
    ($($prompt:ty $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::server::PromptEntry::of::<$prompt>() $(.named($name))?),*]
    };
}
