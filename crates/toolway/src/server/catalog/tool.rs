//! What is a tool? A definition to list and a handler to call.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::Value;
use toolway_protocol::RawJson;
use toolway_protocol::http::param::ParamHeaders;
use toolway_protocol::types::{CallToolResult, Icon, Tool};

use crate::ground::future::BoxFuture;
use crate::ground::panic::catch_panic_async;
use crate::schema::{Checker, Examination, describe_output_problems, examine, with_object_type};
use crate::server::call::context::Ctx;
use crate::server::call::scope::Scope;
use crate::server::call::state::States;
use crate::server::catalog::blocking_monitor::BlockingMonitor;
use crate::server::catalog::entry::{Entry, EntryOwner, Origin};
use crate::server::catalog::generated::wrong_default_message;
use crate::server::failure::errors::{Failure, ToolError};
use crate::server::handler::arguments::{Arguments, Rules};
use crate::server::handler::function::{DefinedHandler, Handler, run_and_convert};
use crate::server::respond::tool::IntoToolResult;

/// The future of a tool call.
pub type CallFuture = BoxFuture<'static, Result<CallToolResult, ToolError>>;

/// A handler that can be listed and called as a tool. `#[tool]` implements this for a function.
///
/// ```
/// use toolway::BoxFuture;
/// use toolway::prelude::*;
/// use toolway::server::ToolEntry;
/// use toolway::server::element::ToolHandler;
/// use toolway::server::parameter::{Arguments, Scope};
/// use toolway::types::{CallToolResult, Tool};
///
/// struct Dice {
///     sides: u32,
/// }
///
/// impl ToolHandler for Dice {
///     fn definition(&self) -> Tool {
///         Tool::new("roll", serde_json::json!({"type": "object"})).with_description("Roll a die.")
///     }
///
///     fn call(&self, _: Arguments, _: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
///         let rolled = self.sides; // always the best
///         Box::pin(async move { Ok(CallToolResult::text(rolled.to_string())) })
///     }
/// }
///
/// let server = Server::new("casino", "1.0.0").tool(ToolEntry::new(Dice { sides: 6 })).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
pub trait ToolHandler: Send + Sync + 'static {
    /// Returns the name, description and schemas. Called once, when the tool is registered.
    fn definition(&self) -> Tool;

    /// Runs the tool.
    fn call(
        &self,
        arguments: Arguments,
        scope: Scope,
    ) -> BoxFuture<'static, Result<CallToolResult, ToolError>>;

    /// Returns what the server lacks for this tool, in sentences for its author. Called when the server is built.
    fn check(&self, states: &States) -> Vec<String> {
        let _ = states;
        Vec::new()
    }

    /// Returns the definition, and what was found while its schema was made. Called once.
    #[doc(hidden)]
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration { definition: self.definition(), is_typed: false, mistakes: Vec::new() }
    }

    /// Returns whether a client may call again with the same state only once. Called once; see
    /// [`ToolEntry::single_use`].
    #[doc(hidden)]
    fn is_single_use(&self) -> bool {
        false
    }

    /// Returns the time limit of a call, if it differs from the server's. Called once; see [`ToolEntry::deadline`].
    #[doc(hidden)]
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Returns the scopes that a caller needs. Called once; see [`ToolEntry::scopes`].
    #[doc(hidden)]
    fn scopes(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The definition of a tool, and what only the code that makes its schema knows.
#[doc(hidden)]
#[derive(Debug)]
pub struct ToolDeclaration {
    pub definition: Tool,
    /// `true` if reading the arguments enforces everything that the schema requires.
    pub is_typed: bool,
    /// Mistakes in what the author has declared about the arguments.
    pub mistakes: Vec<String>,
}

/// A tool whose arguments are the fields of a struct: the struct is marked `#[tool]`, and its implementation of this
/// trait runs the tool. The name follows from the type (`SaveNote` is `save_note`) unless the attribute sets another
/// one.
///
/// Structs that are marked `#[prompt]` or `#[resource]` implement this trait too.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::Run;
///
/// /// Save a note.
/// #[tool]
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct SaveNote {
///     /// What to save.
///     text: String,
/// }
///
/// impl Run for SaveNote {
///     type Output = String;
///
///     async fn run(self, _: Ctx) -> String {
///         format!("saved {:?}", self.text)
///     }
/// }
///
/// let server = Server::new("notes", "1.0.0").tools(tools![SaveNote]).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
pub trait Run: Sized + Send {
    /// The return type.
    type Output: Send;

    /// Runs the tool, prompt or resource.
    fn run(self, ctx: Ctx) -> impl Future<Output = Self::Output> + Send;
}

/// A marked function or struct, from which an entry can be made. The macros implement this trait for a type with the
/// name of the function or struct. The prelude exports the trait, so `add::entry()` makes a single entry. `tools![…]`,
/// `resources![…]` and `prompts![…]` make lists of entries.
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
/// /// The message of the day.
/// #[resource("motd://today")]
/// fn motd() -> &'static str {
///     "be kind"
/// }
///
/// /// Review code.
/// #[prompt]
/// fn review(code: &str) -> String {
///     format!("Review this: {code}")
/// }
///
/// let server = Server::new("app", "1.0.0")
///     .tool(add::entry().with_name("sum"))
///     .resource(motd::entry())
///     .prompt(review::entry().with_title("Code review"))
///     .build()?;
/// assert!(server.tool("sum").is_some());
/// # Ok::<(), toolway::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not marked `#[tool]`, `#[resource]` or `#[prompt]`",
    label = "not marked"
)]
pub trait MakeEntry {
    /// A [`ToolEntry`], a [`ResourceEntry`](crate::server::ResourceEntry) or a
    /// [`PromptEntry`](crate::server::PromptEntry).
    type Entry;

    /// Creates the entry.
    fn entry() -> Self::Entry;
}

/// A tool of a server.
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
/// let tool = add::entry().with_name("sum").with_title("Sum");
/// assert_eq!(tool.definition().description(), "Add two numbers.");
/// let server = Server::new("calculator", "1.0.0").tool(tool).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Clone)]
pub struct ToolEntry {
    definition: Arc<Tool>,
    handler: Arc<dyn ToolHandler>,
    rules: Option<Arc<Rules>>,
    /// `true` if the types of the parameters enforce the input schema.
    is_typed: bool,
    /// `true` if values may be coerced to fit the input schema.
    coerces: bool,
    output_checker: Option<Arc<Checker>>,
    /// The arguments that are also sent in headers.
    param_headers: ParamHeaders,
    /// `true` if a client may call again with the same state only once.
    pub(crate) is_single_use: bool,
    /// The time limit of a call, if it differs from the server's.
    deadline: Option<Duration>,
    pub(crate) origin: Origin,
    blocking_monitor: BlockingMonitor,
    description_kind: DescriptionKind,
    /// Mistakes that were found when the input schema was generated.
    mistakes: Vec<String>,
    /// Mistakes in the handler's declarations about its arguments.
    declared_mistakes: Vec<String>,
    /// Mistakes in the input and output schemas, in sentences for their author.
    schema_mistakes: Vec<String>,
    /// The arguments whose wrong defaults are reported in `schema_mistakes`.
    wrong_defaults: Vec<String>,
}

/// The kind of description that a model gets for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DescriptionKind {
    Written,
    /// The description is the same as the name, or missing.
    Missing,
}

impl ToolEntry {
    /// Makes an entry from a handler.
    pub fn new(handler: impl ToolHandler) -> Self {
        Self::uncompiled(handler).compiled()
    }

    /// Returns the tool for a function that is marked `#[tool]`: `ToolEntry::of::<add>()`, or shorter `add::entry()`.
    pub fn of<T: MakeEntry<Entry = Self>>() -> Self {
        T::entry()
    }

    /// Makes a tool from a function or a closure. The input schema follows from the type of the function's argument, if
    /// it has one.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::ToolEntry;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Rectangle {
    ///     width: f64,
    ///     height: f64,
    /// }
    ///
    /// let area = ToolEntry::from_fn("area", |r: Rectangle| async move { r.width * r.height })
    ///     .with_description("The area of a rectangle.");
    /// ```
    pub fn from_fn<P: 'static, H: Handler<P>>(name: impl Into<String>, handler: H) -> Self
    where
        H::Output: IntoToolResult,
    {
        let input = handler.input().finish();
        let name = name.into();
        let mut tool = Tool::new(&name, input.schema).with_description(name);
        tool.output_schema = H::Output::output_schema();
        let mut entry = Self::uncompiled(DefinedHandler::new(tool, handler));
        entry.is_typed = input.is_typed;
        entry.mistakes = input.mistakes;
        entry.compiled()
    }

    /// Makes a tool from a function or a closure and a definition with its own schema. The function's argument, if it
    /// has one, is often a [`Value`], which is already checked against the schema.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use toolway::prelude::*;
    /// use toolway::server::ToolEntry;
    /// use toolway::types::Tool;
    ///
    /// let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    /// let shout = ToolEntry::define(Tool::new("shout", schema), |arguments: Value| async move {
    ///     arguments["text"].as_str().unwrap_or_default().to_uppercase()
    /// });
    /// ```
    pub fn define<P: 'static, H: Handler<P>>(definition: Tool, handler: H) -> Self
    where
        H::Output: IntoToolResult,
    {
        // The definition may differ from the types, so the entry does not count as typed.
        Self::uncompiled(DefinedHandler::new(definition, handler)).compiled()
    }

    fn compiled(mut self) -> Self {
        self.compile();
        self
    }

    /// Makes an entry that forwards calls to the server that owns the tool: its definition is listed unchanged, and
    /// neither arguments nor results are checked against it.
    pub(crate) fn foreign(handler: impl ToolHandler) -> Self {
        Self { origin: Origin::foreign(), ..Self::uncompiled(handler) }.compiled()
    }

    fn uncompiled(handler: impl ToolHandler) -> Self {
        let ToolDeclaration { definition, is_typed, mistakes: declared_mistakes } = handler.declaration();
        let description = definition.description();
        let is_described = !description.is_empty() && description != definition.name;
        let described = if is_described { DescriptionKind::Written } else { DescriptionKind::Missing };
        Self {
            definition: Arc::new(definition),
            is_typed,
            coerces: true,
            is_single_use: handler.is_single_use(),
            deadline: handler.deadline(),
            origin: Origin::requiring(handler.scopes()),
            handler: Arc::new(handler),
            rules: None,
            output_checker: None,
            param_headers: ParamHeaders::default(),
            blocking_monitor: BlockingMonitor::default(),
            description_kind: described,
            mistakes: Vec::new(),
            declared_mistakes,
            schema_mistakes: Vec::new(),
            wrong_defaults: Vec::new(),
        }
    }

    /// Compiles the checkers of the definition.
    fn compile(&mut self) {
        if self.origin.owner != EntryOwner::Author {
            // Invalid header marks are ignored here: a client that lists the tool over HTTP leaves the tool out.
            self.param_headers = ParamHeaders::from_schema(&self.definition.input_schema).unwrap_or_default();
            return;
        }
        if let Some(schema) = self.definition.output_schema.as_ref().and_then(with_object_type) {
            Arc::make_mut(&mut self.definition).output_schema = Some(schema);
        }
        let Tool { input_schema, output_schema, .. } = &*self.definition;
        let Examination { checker, mistakes, wrong_defaults } =
            examine(&input_schema.decode().unwrap_or_default());
        (self.schema_mistakes, self.wrong_defaults) = (mistakes, wrong_defaults);
        let (is_typed, coerces) = (self.is_typed, self.coerces);
        self.rules = checker.map(|checker| Arc::new(Rules { checker, is_typed, coerces }));
        let output = output_schema.as_ref().map(|schema| schema.decode().unwrap_or_default());
        self.output_checker = match output.map(|schema: Value| Checker::compile(&schema)).transpose() {
            Ok(checker) => checker.map(Arc::new),
            Err(found) => {
                let mistakes = found.into_iter().map(|text| format!("the output schema: {text}"));
                self.schema_mistakes.extend(mistakes);
                None
            }
        };
        match ParamHeaders::from_schema(&self.definition.input_schema) {
            Ok(headers) => self.param_headers = headers,
            Err(mark) => self.schema_mistakes.push(mark.to_string()),
        }
    }

    /// Returns the definition in the tool list.
    pub fn definition(&self) -> &Tool {
        &self.definition
    }

    /// Sets the name.
    pub fn with_name(self, name: impl Into<String>) -> Self {
        self.edit(|tool| tool.name = name.into())
    }

    /// Sets the title, which users see.
    pub fn with_title(self, title: impl Into<String>) -> Self {
        self.edit(|tool| tool.title = Some(title.into()))
    }

    /// Sets the description.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        self.edit(|tool| tool.description = Some(description.into()))
    }

    /// Adds an icon.
    pub fn with_icon(self, icon: Icon) -> Self {
        self.edit(|tool| tool.icons.get_or_insert_default().push(icon))
    }

    /// Lets a client of 2026-07-28 call again with answers only once for each question. When the client calls again,
    /// the state that it sends back is marked as used in the server's [`Store`](crate::store::Store), before the
    /// function runs. Answers without a state are refused. `#[tool(single_use)]` does the same.
    ///
    /// If the reply to this second call is lost, the client cannot repeat the call, because the state is already used.
    /// The client then has to start over. If that is worse than an effect that happens twice, do not use this, and make
    /// the effect idempotent: see [`Ctx::once`](crate::server::Ctx::once).
    pub fn single_use(mut self) -> Self {
        self.is_single_use = true;
        self
    }

    /// Sets how long a call of this tool may run without reporting progress. It overrides [the
    /// server's](crate::server::ServerBuilder::deadline).
    /// `#[tool(deadline = Duration::from_secs(30))]` does the same.
    pub fn with_deadline(mut self, time: Duration) -> Self {
        self.deadline = Some(time);
        self
    }

    /// Changes the definition in the tool list: annotations, `_meta`, schemas.
    pub fn edit(mut self, change: impl FnOnce(&mut Tool)) -> Self {
        let tool = Arc::make_mut(&mut self.definition);
        let (input, output) = (tool.input_schema.clone(), tool.output_schema.clone());
        let description = tool.description.clone();
        change(tool);
        if tool.description != description {
            self.description_kind = DescriptionKind::Written;
        }
        // The types of the parameters do not enforce a new schema.
        self.is_typed &= tool.input_schema == input;
        if tool.input_schema != input || tool.output_schema != output {
            self.compile();
        }
        self
    }

    /// Checks a value against the output schema; without one every value is valid.
    ///
    /// # Errors
    ///
    /// One text with all problems.
    pub fn check_output(&self, value: &Value) -> Result<(), String> {
        let problems = self.output_checker.as_ref().map(|checker| checker.check(value)).unwrap_or_default();
        if problems.is_empty() { Ok(()) } else { Err(describe_output_problems(&problems)) }
    }

    /// Returns the arguments that are also sent in HTTP headers, as set by `#[arg(header = "…")]`.
    pub fn param_headers(&self) -> &ParamHeaders {
        &self.param_headers
    }

    /// Logs a warning about tools without a description.
    pub(crate) fn warn_of_undescribed<'t>(tools: impl IntoIterator<Item = &'t Self>) {
        let undescribed = tools.into_iter().filter(|tool| {
            tool.origin.owner == EntryOwner::Author && tool.description_kind == DescriptionKind::Missing
        });
        let names: Vec<_> = undescribed.map(|tool| format!("`{}`", tool.definition.name)).collect();
        if !names.is_empty() {
            tracing::warn!(
                "models choose tools by their descriptions, and these tools have none: {}; write a doc comment \
                 (`/// …`) on the function, or call `.with_description(…)`",
                names.join(", ")
            );
        }
    }

    pub(crate) fn make_strict(&mut self) {
        self.coerces = false;
        self.compile();
    }

    /// Calls the tool. A panic becomes a failure.
    pub(crate) async fn call(
        &self,
        arguments: Option<RawJson>,
        scope: &Scope,
    ) -> Result<CallToolResult, Failure> {
        if let Some(limit) = self.deadline {
            scope.set_deadline(limit);
        }
        let scope =
            scope.with_states(self.origin.states.as_ref()).with_output_checker(self.output_checker.as_ref());
        let arguments = Arguments::new(arguments, self.rules.clone());
        let mut calling = pin!(catch_panic_async(|| self.handler.call(arguments, scope)));
        let called =
            poll_fn(|cx| self.blocking_monitor.poll(&self.definition.name, calling.as_mut(), cx)).await?;
        let result = called.map_err(|error| error.0)?;
        match self.output_mistake(&result) {
            None => Ok(result),
            Some(text) => Err(Failure::Hidden(text.into())),
        }
    }

    /// Returns the problems of a result that does not match the tool's output schema. Such a result is a mistake of the
    /// tool, and clients refuse it.
    fn output_mistake(&self, result: &CallToolResult) -> Option<String> {
        if self.output_checker.is_none() || result.is_error() {
            return None;
        }
        let Some(structured) = &result.structured_content else {
            return Some("the tool has an output schema but returned no structured content".to_owned());
        };
        self.check_output(&structured.decode().ok()?).err()
    }
}

/// Returns what is wrong with the name of a tool or a prompt. 2025-11-25 §Tools: 1 to 128 ASCII letters, digits and
/// `_`, `-`, `.`; a slash is accepted too, because the proposal behind that rule allows it and servers use it to group
/// tools.
pub(crate) fn name_mistake(name: &str) -> Option<String> {
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '/');
    if let Some(stranger) = name.chars().find(|character| !is_allowed(*character)) {
        return Some(format!(
            "its name holds {stranger:?}: a name is made of A–Z, a–z, 0–9, `_`, `-`, `.` and `/`"
        ));
    }
    match name.len() {
        0 => Some("its name is empty".to_owned()),
        1..=MAX_NAME_LENGTH => None,
        length => {
            Some(format!("its name is {length} characters long: at most {MAX_NAME_LENGTH} are allowed"))
        }
    }
}

const MAX_NAME_LENGTH: usize = 128;

impl Entry for ToolEntry {
    const KIND: &'static str = "tool";

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn mistakes(&self, states: &States) -> Vec<String> {
        // If the schema reports a wrong default too, leave out the handler's message, which explains less.
        let told: Vec<String> = self.wrong_defaults.iter().map(|name| wrong_default_message(name)).collect();
        let handler = self.declared_mistakes.iter().cloned().chain(self.handler.check(states));
        let handler = handler.filter(|mistake| !told.contains(mistake));
        let found = self.mistakes.iter().chain(&self.schema_mistakes).cloned();
        name_mistake(self.key()).into_iter().chain(found).chain(handler).collect()
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEntry").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl<P: 'static, H: Handler<P>> ToolHandler for DefinedHandler<Tool, P, H>
where
    H::Output: IntoToolResult,
{
    fn definition(&self) -> Tool {
        self.definition.clone()
    }

    fn call(&self, arguments: Arguments, scope: Scope) -> CallFuture {
        // Arguments are checked while they are read. If the handler does not read them, they are checked here.
        if !self.handler.takes_arguments()
            && let Err(error) = arguments.decode::<IgnoredAny>()
        {
            return Box::pin(std::future::ready(Err(error)));
        }
        run_and_convert(&self.handler, &arguments, scope, |output| output?.into_tool_result())
    }

    fn check(&self, states: &States) -> Vec<String> {
        self.handler.check(states)
    }
}
