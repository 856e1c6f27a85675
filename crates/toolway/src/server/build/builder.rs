//! What can the author configure on a server?

use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::Era;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::types::{CacheHints, CacheScope, Icon, Implementation};

use crate::ground::budget::{Budget, Budgets};
use crate::server::admission::admit::ConnectHook;
use crate::server::admission::protection::ProtectionSettings;
use crate::server::build::defaults::{
    BODY_BUDGET, DEADLINE, KEPT_BUDGET, MAX_CALL_TIME, MAX_IN_FLIGHT, QUESTION_TIMEOUT, REPLY_BUDGET,
};
use crate::server::build::pin::ProtocolPin;
use crate::server::call::context::millis;
use crate::server::call::layer::stack::LayerStack;
use crate::server::call::memory::DEFAULT_MEMORY_TTL;
use crate::server::call::state::States;
use crate::server::catalog::cache::{CachePolicy, Cacheable};
use crate::server::catalog::cursor::CursorKey;
use crate::server::catalog::discover::MarkedItem;
use crate::server::catalog::elements::{Elements, Provide};
use crate::server::catalog::listing::{IntoResourcePage, ListHandler, list_handler};
use crate::server::catalog::method::{CustomMethod, IntoReply, custom_method};
use crate::server::catalog::named::IntoTool;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::registry::OmittedCapabilities;
use crate::server::catalog::resource::{ReadHandler, ResourceEntry, read_handler};
use crate::server::catalog::source::SourceConfig;
use crate::server::failure::errors::ErrorPolicy;
use crate::server::handler::function::{Handler, rules_of};
use crate::server::observe::hooks::EndHooks;
use crate::server::observe::report::ErrorHook;
use crate::server::observe::stats::RequestEndHook;
use crate::server::respond::resource::IntoResource;
use crate::server::stateless::seal::SealKeys;
use crate::store::{Store, StoreGuard};
use crate::transport::frame::MAX_MESSAGE;

/// A builder for a server. Made by [`Server::new`](crate::server::Server::new).
///
/// Add elements and settings in any order. [`build`](Self::build) checks everything at once, and so do the methods that
/// build and serve in one step: `serve_stdio`, `serve_http`, [`serve_io`](Self::serve_io).
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
/// let server = Server::new("calculator", "1.0.0")
///     .title("Calculator")
///     .instructions("Use `add` for sums.")
///     .tools(tools![add])
///     .build()?;
/// assert_eq!(server.instructions(), Some("Use `add` for sums."));
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug)]
pub struct ServerBuilder {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    /// The elements that were added explicitly; they replace discovered elements of the same name.
    pub(crate) elements: Elements,
    pub(crate) discovered: Vec<&'static MarkedItem>,
    pub(crate) states: States,
    /// The state values of servers that were merged into this one.
    pub(crate) merged_states: Vec<Arc<States>>,
    pub(crate) read_handlers: Vec<ReadHandler>,
    pub(crate) list_handlers: Vec<ListHandler>,
    pub(crate) methods: Vec<(String, CustomMethod)>,
    pub(crate) notifications: Vec<(String, CustomMethod)>,
    pub(crate) admission: Option<ConnectHook>,
    pub(crate) protection: Option<ProtectionSettings>,
    pub(crate) eras: Option<Vec<Era>>,
    pub(crate) pin: ProtocolPin,
    pub(crate) omitted: OmittedCapabilities,
    /// The names of merged servers that have `on_connect`.
    pub(crate) merged_with_on_connect: Vec<String>,
    /// The names of merged servers that have `auth`.
    pub(crate) merged_with_auth: Vec<String>,
    /// Mistakes that are known before the server is built.
    pub(crate) mistakes: Vec<String>,
    pub(crate) layers: LayerStack,
    pub(crate) error_hook: Option<ErrorHook>,
    pub(crate) request_end_hook: Option<RequestEndHook>,
    pub(crate) errors: ErrorPolicy,
    pub(crate) cache: CachePolicy,
    pub(crate) declared: ServerCapabilities,
    pub(crate) page_size: Option<usize>,
    pub(crate) cursor_key: Option<CursorKey>,
    pub(crate) seal_keys: Option<SealKeys>,
    pub(crate) strict: bool,
    pub(crate) max_message: usize,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) question_timeout: Duration,
    pub(crate) deadline: Option<Duration>,
    pub(crate) max_call_time: Duration,
    pub(crate) budgets: Budgets,
    pub(crate) memory_ttl: Duration,
    pub(crate) end_hooks: EndHooks,
    pub(crate) sources: Vec<SourceConfig>,
}

impl ServerBuilder {
    pub(crate) fn new(info: Implementation) -> Self {
        Self {
            info,
            instructions: None,
            elements: Elements::new(),
            discovered: Vec::new(),
            states: States::default(),
            merged_states: Vec::new(),
            read_handlers: Vec::new(),
            list_handlers: Vec::new(),
            methods: Vec::new(),
            notifications: Vec::new(),
            admission: None,
            protection: None,
            eras: None,
            pin: ProtocolPin::default(),
            omitted: OmittedCapabilities::default(),
            merged_with_on_connect: Vec::new(),
            merged_with_auth: Vec::new(),
            mistakes: Vec::new(),
            layers: LayerStack::default(),
            error_hook: None,
            request_end_hook: None,
            errors: ErrorPolicy::default(),
            cache: CachePolicy::default(),
            declared: ServerCapabilities::default(),
            page_size: None,
            cursor_key: None,
            seal_keys: None,
            strict: false,
            max_message: MAX_MESSAGE,
            store: None,
            question_timeout: QUESTION_TIMEOUT,
            deadline: Some(DEADLINE),
            max_call_time: MAX_CALL_TIME,
            budgets: Budgets {
                requests: Budget::new(MAX_IN_FLIGHT),
                bodies: Budget::new(BODY_BUDGET),
                replies: Budget::new(REPLY_BUDGET),
                kept: Budget::new(KEPT_BUDGET),
            },
            memory_ttl: DEFAULT_MEMORY_TTL,
            end_hooks: EndHooks::default(),
            sources: Vec::new(),
        }
    }

    /// Sets the title, which users see.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets a description of the server for users.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.info.description = Some(text.into());
        self
    }

    /// Sets the URL of a website about the server.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.get_or_insert_default().push(icon);
        self
    }

    /// Sets instructions for the model on how to use this server.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds tools, usually `tools![add, subtract]`, or a [`ToolSet`](crate::agent::ToolSet). They are listed in this
    /// order.
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl IntoTool>) -> Self {
        self.elements.tools.extend(tools.into_iter().map(IntoTool::into_tool));
        self
    }

    /// Adds a tool.
    pub fn tool(self, tool: impl IntoTool) -> Self {
        self.tools([tool])
    }

    /// Adds resources and resource templates, usually `resources![index, note]`. They are listed in this order.
    pub fn resources(mut self, resources: impl IntoIterator<Item = ResourceEntry>) -> Self {
        self.elements.resources.extend(resources);
        self
    }

    /// Adds a resource or a resource template.
    pub fn resource(self, resource: ResourceEntry) -> Self {
        self.resources([resource])
    }

    /// Adds prompts, usually `prompts![review]`. They are listed in this order.
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = PromptEntry>) -> Self {
        self.elements.prompts.extend(prompts);
        self
    }

    /// Adds a prompt.
    pub fn prompt(self, prompt: PromptEntry) -> Self {
        self.prompts([prompt])
    }

    /// Adds every tool, resource and prompt of a value whose `impl` block is marked `#[service]`.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// struct Notes(Vec<&'static str>);
    ///
    /// #[service]
    /// impl Notes {
    ///     /// How many notes there are.
    ///     #[tool]
    ///     fn count(&self) -> usize {
    ///         self.0.len()
    ///     }
    ///
    ///     /// One note.
    ///     #[resource("notes://{index}")]
    ///     fn note(&self, index: usize) -> Option<&'static str> {
    ///         self.0.get(index).copied()
    ///     }
    /// }
    ///
    /// let server = Server::new("notes", "1.0.0").service(Notes(vec!["buy milk"])).build()?;
    /// assert!(server.tool("count").is_some());
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn service(mut self, service: impl Provide) -> Self {
        self.elements.extend(Arc::new(service).elements());
        self
    }

    /// Applies `more` to the builder if the condition is `true`.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Delete everything.
    /// #[tool(destructive)]
    /// fn wipe() {}
    ///
    /// let is_admin = false;
    /// let server = Server::new("app", "1.0.0").when(is_admin, |server| server.tools(tools![wipe])).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn when(self, condition: bool, more: impl FnOnce(Self) -> Self) -> Self {
        if condition { more(self) } else { self }
    }

    /// Adds a value that handlers get as a parameter of type [`State<T>`](crate::server::State).
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// Adds a handler that reads every resource without its own handler: resources that are only listed, and URIs that
    /// are not listed at all. The handler takes [`ReadRequest`](crate::server::ReadRequest) and any other parameter of
    /// a handler, and returns a type that resources return; `None` means that the resource does not exist. If several
    /// such handlers are added, they are tried in this order until one returns the resource or fails.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{ReadRequest, ResourceEntry};
    /// use toolway::types::Resource;
    ///
    /// let server = Server::new("motd", "1.0.0")
    ///     .resource(ResourceEntry::without_handler(Resource::new("motd://today", "motd")))
    ///     .read_resource(|reading: ReadRequest| async move {
    ///         (reading.uri == "motd://today").then_some("be kind")
    ///     })
    ///     .build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn read_resource<P: 'static, H: Handler<P>>(mut self, handler: H) -> Self
    where
        H::Output: IntoResource,
    {
        self.read_handlers.push(read_handler(handler));
        self
    }

    /// Adds a handler that lists more resources, after the registered ones and those of earlier handlers. The handler
    /// takes [`Cursor`](crate::server::Cursor) and returns a [`ResourcePage`](crate::server::ResourcePage), or a list
    /// if there is only one page. The next cursor that the handler returns is signed and sent to the client. When the
    /// client requests the next page, the handler gets this cursor back.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{Cursor, ReadRequest, ResourcePage};
    /// use toolway::testing::connect;
    /// use toolway::types::Resource;
    ///
    /// async fn days(Cursor(cursor): Cursor) -> ResourcePage {
    ///     let first: u32 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(1);
    ///     let resources = (first..=31).take(10).map(|day| Resource::new(format!("days://{day}"), format!("day {day}")));
    ///     ResourcePage { resources: resources.collect(), next: (first <= 21).then(|| (first + 10).to_string()) }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("calendar", "1.0.0")
    ///     .list_resources(days)
    ///     .read_resource(|reading: ReadRequest| async move { reading.uri.strip_prefix("days://").map(str::to_owned) })
    ///     .build()?;
    /// let client = connect(&server).await;
    /// assert_eq!(client.resources().await?.len(), 31);
    /// assert_eq!(client.read_resource("days://7").await?.text(), Some("7"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_resources<P: 'static, H: Handler<P>>(mut self, handler: H) -> Self
    where
        H::Output: IntoResourcePage,
    {
        self.list_handlers.push(list_handler(handler));
        self
    }

    /// Adds a custom JSON-RPC method. The handler's argument receives all of `params`, and is checked like the
    /// arguments of a tool: all problems are reported to the caller at once, as one JSON-RPC error (-32602).
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Sum {
    ///     a: i64,
    ///     b: i64,
    /// }
    ///
    /// let server =
    ///     Server::new("app", "1.0.0").method("acme/sum", |sum: Sum| async move { sum.a + sum.b }).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn method<P: 'static, H: Handler<P>>(mut self, name: impl Into<String>, handler: H) -> Self
    where
        H::Output: IntoReply,
    {
        let rules = rules_of(&handler);
        self.methods.push((name.into(), custom_method(handler, rules)));
        self
    }

    /// Adds a handler for a custom notification. Nothing is sent back.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Seen {
    ///     pages: u32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("app", "1.0.0")
    ///     .state(AtomicU32::new(0))
    ///     .notification("acme/seen", |seen: Seen, pages: State<AtomicU32>| async move {
    ///         pages.fetch_add(seen.pages, Ordering::Relaxed);
    ///     })
    ///     .build()?;
    /// connect(&server).await.notify("acme/seen", serde_json::json!({"pages": 3})).await?;
    /// assert_eq!(server.state::<AtomicU32>().unwrap().load(Ordering::Relaxed), 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn notification<P: 'static, H: Handler<P, Output = ()>>(
        mut self,
        name: impl Into<String>,
        handler: H,
    ) -> Self {
        // Problems cannot be reported to the client, so only the type checks the arguments.
        self.notifications.push((name.into(), custom_method(handler, None)));
        self
    }

    /// Sets what clients are told about errors that were not written for them.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::ErrorPolicy;
    ///
    /// let policy = if cfg!(debug_assertions) { ErrorPolicy::Verbose } else { ErrorPolicy::Hidden };
    /// let server = Server::new("app", "1.0.0").errors(policy).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn errors(mut self, policy: ErrorPolicy) -> Self {
        self.errors = policy;
        self
    }

    /// Turns off coercion: `"5"` is not accepted for 5, and arguments must match the schema exactly.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// /// Double a number.
    /// #[tool]
    /// fn double(n: i64) -> i64 {
    ///     2 * n
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let lenient = connect(&Server::new("app", "1.0.0").tools(tools![double]).build()?).await;
    /// let strict = connect(&Server::new("app", "1.0.0").tools(tools![double]).strict().build()?).await;
    /// let sent = serde_json::json!({"n": "5"});
    /// assert_eq!(lenient.call("double", sent.clone()).await?.first_text(), Some("10"));
    /// assert!(strict.call("double", sent).await?.is_error());
    /// # Ok(())
    /// # }
    /// ```
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Sets the maximum number of entries on a page of a list. By default each list is one page, because many clients
    /// read only the first page.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::ToolEntry;
    /// use toolway::testing::connect;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let tools = (0..25).map(|number| ToolEntry::from_fn(format!("tool-{number}"), || async { "done" }));
    /// let server = Server::new("many", "1.0.0").tools(tools).page_size(10).build()?;
    /// // The client of Toolway reads all pages.
    /// assert_eq!(connect(&server).await.tools().await?.len(), 25);
    /// # Ok(())
    /// # }
    /// ```
    pub fn page_size(mut self, entries: usize) -> Self {
        self.page_size = Some(entries);
        self
    }

    /// Makes cursors valid on every server with the same secret, and after a restart. By default each server has its
    /// own random key.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let secret = std::env::var("CURSOR_SECRET").unwrap_or_else(|_| "only for tests".to_owned());
    /// let server = Server::new("many", "1.0.0").page_size(100).cursor_secret(secret).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn cursor_secret(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.cursor_key = Some(CursorKey::from_secret(secret.as_ref()));
        self
    }

    /// Sets how long answers of one kind may be cached, and by which clients.
    ///
    /// A handler can override this for one answer with [`Ctx::cache`](crate::server::Ctx::cache).
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    /// use toolway::server::Cacheable;
    /// use toolway::types::CacheScope;
    ///
    /// let server = Server::new("app", "1.0.0")
    ///     .cache(Cacheable::Tools, Duration::from_secs(3600), CacheScope::Public)
    ///     .cache(Cacheable::Contents, Duration::from_secs(60), CacheScope::Private)
    ///     .build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn cache(mut self, kind: Cacheable, ttl: Duration, scope: CacheScope) -> Self {
        self.cache.set(kind, CacheHints::new(millis(ttl), scope));
        self
    }

    /// Declares capabilities, whatever elements the server has. The capabilities of existing elements are added
    /// automatically; use this for capabilities that are needed only later, such as tools that are added to a running
    /// server, and for experimental ones.
    ///
    /// ```
    /// use toolway::capability::{JsonObject, ServerCapabilities};
    /// use toolway::prelude::*;
    /// use toolway::server::ToolEntry;
    ///
    /// let later = ServerCapabilities::new().with_tools(JsonObject::new());
    /// let server = Server::new("plugins", "1.0.0").capabilities(later).build()?;
    /// assert!(server.capabilities().tools.is_some());
    /// server.add_tool(ToolEntry::from_fn("plugin", || async { "here I am" }))?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn capabilities(mut self, declared: ServerCapabilities) -> Self {
        self.declared = declared;
        self
    }

    /// Shares sessions, the events of their streams and notifications of changes with the other servers that have the
    /// same store: together they act as one server for their clients. Without a store, a server keeps all of it in its
    /// own memory.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolway::prelude::*;
    /// use toolway::store::MemoryStore;
    ///
    /// let store = Arc::new(MemoryStore::new());
    /// let one = Server::new("app", "1.0.0").store(store.clone()).build()?;
    /// let two = Server::new("app", "1.0.0").store(store).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(StoreGuard(store)));
        self
    }
}
