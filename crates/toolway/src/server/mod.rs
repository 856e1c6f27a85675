//! Servers: from functions to answers.
//!
//! A [`Server`] is a set of tools, resources and prompts, with a name, a version and settings. It is independent of the
//! transport: [`serve_stdio`](Server::serve_stdio), [`serve_io`](Server::serve_io), [`http`](Server::http) and
//! [`handle_json`](Server::handle_json) turn bytes into calls, and every call goes through the same router to its
//! function.
//!
//! | to | see |
//! |---|---|
//! | describe a server | [`ServerBuilder`], made by [`Server::new`] |
//! | add tools, resources and prompts | [`ToolEntry`], [`ResourceEntry`], [`PromptEntry`]; [`element::Provide`] for all three at once |
//! | write a handler without a macro | [`parameter::Handler`]; [`element::ToolHandler`], [`element::ResourceHandler`], [`element::PromptHandler`] |
//! | see which parameters a handler can have | [`parameter::Parameter`]: [`Ctx`], [`State`], [`Extension`], [`Headers`], and every type that can be deserialized |
//! | see what a handler can return | the traits in [`convert`] |
//! | return errors | [`ToolError`], [`ResourceError`], [`PromptError`]; [`ErrorPolicy`] decides what the client is told about other errors |
//! | send messages while a handler runs | [`Ctx::progress`], [`Ctx::log`] |
//! | ask the user | [`ask`]: [`ask::Form`]; [`ask::FormField`] lists the types of fields, [`ask::FormChoice`] is a set of choices |
//! | store data for a caller | [`Ctx::memory`], [`Ctx::memory_update`] |
//! | decide which clients may connect | [`ServerBuilder::on_connect`]: [`ConnectRequest`], [`Admit`], [`Refuse`]; [`Principal`] is the admitted caller; [`Admit::only_tools`] and related methods limit what it sees |
//! | learn that a client disconnected | [`ServerBuilder::on_disconnect`], [`ServerBuilder::on_terminate`] |
//! | change a running server | [`Server::add_tool`] and related methods, [`Server::resource_updated`] |
//! | wrap calls | [`ServerBuilder::layer`]: [`layer::Service`], [`layer::layer_fn`], [`layer::tower`] |
//! | observe calls and errors | [`ServerBuilder::on_error`], [`ServerBuilder::on_request_end`], and `tracing` |
//! | let clients cache results | [`Cacheable`], [`Ctx::cache`] |
//!
//! [`MakeEntry`], [`element::MarkedItem`] and [`element::AnyEntry`] are used only by the code that the macros generate.
//! They are public because that code is in other crates.
//!
//! # Inside
//!
//! Folders are layers: each may use those above it in this table, never those below. `tests/tidy` checks this.
//!
//! | folder | question |
//! |---|---|
//! | `failure/` | What does a caller read when a handler fails, and what goes only to the log? |
//! | `respond/` | How does the return value of a handler become a result? |
//! | `call/` | What is known about one call, what can its handler send while it runs, and which layers wrap it? |
//! | `handler/` | How do the arguments of a request become the parameters of a function? |
//! | `ask/` | What can the client and its user be asked? |
//! | `changes/` | Which clients are notified of changes while the server runs? |
//! | `catalog/` | What does the server offer, and how is it found and listed? |
//! | `admission/` | Which callers are admitted, and as which principal? |
//! | `observe/` | What can be observed of a call, and which hooks run? |
//! | `execute/` | Which entry answers a request, and how often does its handler run? |
//! | `handshake/`, `stateless/` | What is specific to the revisions with a handshake, and to the revision without one? |
//! | `build/` | How do the author's settings become a server? |
//! | `pipe/`, `http/` | How do messages come in and go out? |

pub(crate) mod admission;
pub mod ask;
pub(crate) mod build;
pub(crate) mod call;
pub(crate) mod catalog;
pub(crate) mod changes;
pub(crate) mod execute;
pub(crate) mod failure;
pub(crate) mod handler;
pub(crate) mod handshake;
#[cfg(feature = "http")]
pub mod http;
#[cfg(not(feature = "http"))]
#[path = "build/without_http.rs"]
mod http;
pub(crate) mod observe;
pub(crate) mod pipe;
pub(crate) mod respond;
pub(crate) mod stateless;
#[cfg(not(feature = "stdio"))]
#[path = "build/without_stdio.rs"]
mod stdio;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::sync::watch;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::era::stateless::EncodedServerInfo;
use toolway_protocol::json::Limits;
use toolway_protocol::types::Implementation;
use toolway_protocol::{Era, ProtocolVersion};

#[cfg(feature = "client")]
pub use crate::gateway::{IntoMount, Mount};
pub use crate::ground::extensions::Extensions;
pub use crate::ground::mistakes::BoxError;
pub use crate::ground::peer::Peer;
pub use crate::schema::Generator;
pub use admission::admit::{Admit, Refuse};
pub use admission::connect_request::ConnectRequest;
pub use build::builder::ServerBuilder;
pub use build::pin::ProtocolPin;
pub use call::context::{Amount, Ctx};
#[cfg(feature = "client")]
pub(crate) use call::forwarded_call::ForwardedCall;
pub use call::log::Log;
#[cfg(feature = "testing")]
pub(crate) use call::memory_record::MemoryRecord;
pub use call::principal::Principal;
#[cfg(feature = "client")]
pub(crate) use call::scope::Arrival;
pub use call::state::State;
pub use catalog::cache::Cacheable;
pub use catalog::completion::{Completer, CompletionProvider, CompletionRequest};
pub use catalog::listing::{Cursor, ResourcePage};
pub use catalog::prompt::{PromptEntry, PromptValues};
pub use catalog::resource::{ReadRequest, ResourceEntry};
#[cfg(feature = "client")]
pub(crate) use catalog::source::{Source, SourceHandle};
#[cfg(feature = "client")]
pub(crate) use catalog::tool::name_mistake;
pub use catalog::tool::{MakeEntry, Run, ToolEntry};
pub use failure::errors::{ErrorPolicy, PromptError, ResourceError, ToolError};
pub use handler::extract::{Extension, Headers};
pub use observe::hooks::{DisconnectEvent, TerminationEvent, TerminationReason};
pub use observe::report::{ErrorReport, ErrorScope};
pub use observe::stats::RequestStats;
#[cfg(feature = "client")]
pub(crate) use pipe::conversation::Conversation;
pub use respond::{
    Audio, Embedded, File, Image, Json, Message, PromptMessages, Reader, Text, assistant, respond, user,
};

/// Layers around calls: middleware that sees each call before its handler, and the answer after it.
///
/// [`ServerBuilder::layer`] adds a layer to all calls; [`tower`](fn@layer::tower) adapts a layer of the crate `tower`.
pub mod layer {
    pub use super::call::layer::call::Call;
    pub use super::call::layer::function::{FnLayer, FnService, layer_fn};
    pub use super::call::layer::reply::{CallError, CallReply};
    pub use super::call::layer::service::{Layer, Next, Service};
    pub use super::call::layer::stack::CallKind;
    #[cfg(not(feature = "tower"))]
    #[doc(hidden)]
    pub use super::call::layer::tower::tower;
    #[cfg(feature = "tower")]
    pub use super::call::layer::tower::{CloneableService, TowerLayer, TowerService, tower};
}

/// Conversions: the traits behind what a handler may return and what a builder method accepts.
///
/// Programs implement them to return their own types from handlers.
pub mod convert {
    pub use super::admission::admit::IntoAdmission;
    pub use super::ask::question::IntoSample;
    pub use super::catalog::completion::IntoCompletion;
    pub use super::catalog::listing::IntoResourcePage;
    pub use super::catalog::method::IntoReply;
    pub use super::catalog::named::IntoTool;
    pub use super::failure::errors::IntoFailure;
    pub use super::respond::{
        IntoBlocks, IntoContent, IntoPrompt, IntoResource, IntoToolResult, ResourceInfo,
    };
}

/// Elements without macros: the traits that a tool, a prompt, a resource or a set of them implements.
pub mod element {
    pub use super::catalog::completion::Completers;
    pub use super::catalog::discover::{AnyEntry, MarkedItem};
    pub use super::catalog::elements::{Elements, Provide};
    pub use super::catalog::prompt::PromptHandler;
    pub use super::catalog::resource::{ResourceDefinition, ResourceHandler};
    pub use super::catalog::tool::ToolHandler;
    pub use toolway_protocol::uri_template::Values;
}

/// Parameters of handlers: how a function's parameters are filled from a call.
pub mod parameter {
    pub use super::call::scope::Scope;
    pub use super::call::state::States;
    pub use super::handler::arguments::Arguments;
    pub use super::handler::function::Handler;
    pub use super::handler::parameter::{Missing, Parameter};
}

use crate::ground::log_pace::LogPace;
use admission::admit::ConnectHook;
use admission::protection::Protection;
use call::layer::stack::LayerStack;
use call::memory_record::MemoryLocks;
use call::state::States;
use catalog::cache::CachePolicy;
use catalog::cursor::CursorKey;
use catalog::listing::ListHandler;
use catalog::method::CustomMethod;
use catalog::registry::Registry;
use catalog::source::Sources;
use changes::broadcast::Changes;
use observe::hooks::{EndHooks, HookTasks};
use observe::otel::Instruments;
use observe::report::ErrorHook;
use observe::stats::RequestEndHook;
use observe::store_meter::StoreMeter;
use stateless::seal::SealKeys;

use crate::ground::budget::{Account, Ledger};
use crate::store::{Groups, Store};

/// A built server. Cloning it is cheap; all clones refer to the same server.
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
    read_handlers: Vec<catalog::resource::ReadHandler>,
    list_handlers: Vec<ListHandler>,
    methods: HashMap<String, CustomMethod>,
    /// The handlers of notifications, and how often their failures are logged.
    notifications: HashMap<String, (CustomMethod, LogPace)>,
    admission: Option<ConnectHook>,
    protection: Option<Protection>,
    /// The only era that is served; `None` if both eras are served.
    era: Option<Era>,
    /// The version in every answer to `initialize`, whatever version the client requests.
    pinned: Option<ProtocolVersion>,
    layers: LayerStack,
    methods_have_layers: bool,
    error_hook: Option<ErrorHook>,
    request_end_hook: Option<RequestEndHook>,
    instruments: Instruments,
    errors: ErrorPolicy,
    cache: CachePolicy,
    cursor_key: CursorKey,
    seal_keys: SealKeys,
    changes: Changes,
    store: Arc<dyn Store>,
    /// Counts what the server does with the store; `None` if the server shares no store.
    store_meter: Option<Arc<StoreMeter>>,
    /// The names of groups in the store.
    groups: Groups,
    /// The time that a client has to answer a question.
    question_timeout: Duration,
    /// The time that a handler may run without reporting progress; `None` means no limit at all.
    deadline: Option<Duration>,
    /// The time that a handler may run, however much progress it reports.
    max_call_time: Duration,
    /// Gets a value when the author announces that rights have changed.
    rights: watch::Sender<()>,
    /// Counts what the peers of all transports use.
    ledger: Arc<Ledger>,
    /// The account of callers that cannot be told apart.
    common_account: Arc<Account>,
    memory_locks: MemoryLocks,
    end_hooks: EndHooks,
    hook_tasks: HookTasks,
    strict: bool,
    stamp: EncodedServerInfo,
    limits: Limits,
    /// The maximum size of a message in bytes.
    max_message: AtomicUsize,
    sources: Sources,
    warned_no_principal: handler::parameter::WarnedOnce,
}

impl Server {
    /// Returns the account of callers that cannot be told apart.
    pub(crate) fn common_account(&self) -> Arc<Account> {
        self.inner.common_account.clone()
    }
}

impl Server {
    /// Returns a builder for a server. Finish it with `build`, `serve_stdio` or `serve_http`.
    #[expect(clippy::new_ret_no_self, reason = "`Server::new(…).tools(…).serve_stdio()` is one chain")]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(Implementation::new(name, version))
    }

    /// The name, version and other details that the server reports about itself.
    pub fn info(&self) -> &Implementation {
        &self.inner.info
    }

    /// The capabilities of the server, derived from the elements that it has now.
    pub fn capabilities(&self) -> ServerCapabilities {
        self.inner.registry.load().capabilities.clone()
    }

    /// The instructions for clients and their models.
    pub fn instructions(&self) -> Option<&str> {
        self.inner.instructions.as_deref()
    }

    /// Returns the tool with this name.
    pub fn tool(&self, name: &str) -> Option<ToolEntry> {
        self.inner.registry.load().tool(name).cloned()
    }

    /// Returns the value of this type that was added with [`state`](ServerBuilder::state).
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        self.inner.states.get().map(State)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("info", &self.inner.info).finish_non_exhaustive()
    }
}

/// Makes a list of tools for [`ServerBuilder::tools`]. `tools![add, files::read]` names functions marked `#[tool]`;
/// `tools![add as "sum"]` gives a tool another name.
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
        ::std::vec![$($crate::__private::named!(NamedTool ToolEntry $($tool)::+) $(.with_name($name))?),*]
    };
    ($($tool:ty $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::server::ToolEntry::of::<$tool>() $(.with_name($name))?),*]
    };
}

/// Makes a list of resources for [`ServerBuilder::resources`]. `resources![index, note]` names functions marked
/// `#[resource]`.
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
        ::std::vec![$($crate::__private::named!(NamedResource ResourceEntry $($resource)::+) $(.with_name($name))?),*]
    };
    ($($resource:ty $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::server::ResourceEntry::of::<$resource>() $(.with_name($name))?),*]
    };
}

/// Makes a list of prompts for [`ServerBuilder::prompts`]. `prompts![review]` names functions marked `#[prompt]`.
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
        ::std::vec![$($crate::__private::named!(NamedPrompt PromptEntry $($prompt)::+) $(.with_name($name))?),*]
    };
    ($($prompt:ty $(as $name:literal)?),* $(,)?) => {
        ::std::vec![$($crate::server::PromptEntry::of::<$prompt>() $(.with_name($name))?),*]
    };
}
