//! What is a prompt? A definition to list and a handler that fills it in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use toolway_protocol::types::{GetPromptResult, Icon, Prompt};
use toolway_protocol::uri_template::Values;

use crate::closest::closest;
use crate::ground::future::BoxFuture;
use crate::ground::panic::catch_panic_async;
use crate::schema::{MAX_PROBLEMS, truncate};
use crate::server::call::scope::Scope;
use crate::server::call::state::States;
use crate::server::catalog::completion::{Completer, Completers};
use crate::server::catalog::entry::{Entry, EntryOwner, Origin};
use crate::server::catalog::tool::{MakeEntry, name_mistake};
use crate::server::failure::errors::{Failure, PromptError};
use crate::server::handler::arguments::Arguments;
use crate::server::handler::function::{DefinedHandler, Handler, run_and_convert};
use crate::server::handler::parameter::{Missing, Parameter};
use crate::server::respond::prompt::{IntoPrompt, check_roles};
use toolway_protocol::RpcError;

/// The future of a prompt that is being filled in.
pub type PromptFuture = BoxFuture<'static, Result<GetPromptResult, PromptError>>;

/// A handler that can be listed and filled in as a prompt. `#[prompt]` implements this for a function.
///
/// For an implementation by hand see [`Completers`]; most prompts without a macro use [`PromptEntry::define`].
pub trait PromptHandler: Send + Sync + 'static {
    /// Returns the name, description and arguments. Called once, when the prompt is registered.
    fn definition(&self) -> Prompt;

    /// Fills in the prompt.
    fn get(
        &self,
        arguments: Values,
        scope: Scope,
    ) -> BoxFuture<'static, Result<GetPromptResult, PromptError>>;

    /// Returns what the server lacks for this prompt, in sentences for its author. Called when the server is built.
    fn check(&self, states: &States) -> Vec<String> {
        let _ = states;
        Vec::new()
    }

    /// Returns the completers of its arguments. Called once.
    fn completers(&self) -> Completers {
        Completers::default()
    }

    /// Returns the scopes that a caller needs. Called once; see [`PromptEntry::scopes`].
    #[doc(hidden)]
    fn scopes(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The arguments of a prompt, as a parameter of a handler.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{PromptEntry, PromptValues};
/// use toolway::types::PromptArgument;
///
/// let definition = toolway::types::Prompt::new("greet")
///     .with_arguments(vec![PromptArgument::new("name").with_required(true)]);
/// let greet = PromptEntry::define(definition, |filled: PromptValues| async move {
///     format!("Greet {}.", filled.text("name").unwrap_or("the team"))
/// });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptValues(Values);

impl PromptValues {
    /// Returns the argument with this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.text(name)
    }
}

impl Parameter for PromptValues {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Values>().cloned().map(Self).ok_or(Missing)
    }
}

/// A prompt of a server.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::PromptEntry;
///
/// /// Review code.
/// #[prompt]
/// fn review(code: &str) -> String {
///     format!("Review this: {code}")
/// }
///
/// let prompt = PromptEntry::of::<review>().with_name("critique").with_title("Critique");
/// assert_eq!(prompt.definition().description.as_deref(), Some("Review code."));
/// let server = Server::new("editor", "1.0.0").prompt(prompt).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Clone)]
pub struct PromptEntry {
    pub(super) definition: Arc<Prompt>,
    pub(super) handler: Arc<dyn PromptHandler>,
    pub(crate) completers: Completers,
    pub(crate) origin: Origin,
}

impl PromptEntry {
    /// Makes an entry from a handler.
    pub fn new(handler: impl PromptHandler) -> Self {
        Self {
            definition: Arc::new(handler.definition()),
            completers: handler.completers(),
            origin: Origin::requiring(handler.scopes()),
            handler: Arc::new(handler),
        }
    }

    /// Returns the prompt for a function that is marked `#[prompt]`: `PromptEntry::of::<review>()`, or shorter
    /// `review::entry()`.
    pub fn of<T: MakeEntry<Entry = Self>>() -> Self {
        T::entry()
    }

    /// Makes a prompt from a function or a closure, which takes [`PromptValues`] and any other parameter of a handler.
    pub fn define<P: 'static, H: Handler<P>>(definition: Prompt, handler: H) -> Self
    where
        H::Output: IntoPrompt,
    {
        Self::new(DefinedHandler::new(definition, handler))
    }

    /// Returns the definition that is listed.
    pub fn definition(&self) -> &Prompt {
        &self.definition
    }

    /// Sets the name.
    pub fn with_name(self, name: impl Into<String>) -> Self {
        self.edit(|prompt| prompt.name = name.into())
    }

    /// Sets the title, which users see.
    pub fn with_title(self, title: impl Into<String>) -> Self {
        self.edit(|prompt| prompt.title = Some(title.into()))
    }

    /// Sets the description.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        self.edit(|prompt| prompt.description = Some(description.into()))
    }

    /// Adds an icon.
    pub fn with_icon(self, icon: Icon) -> Self {
        self.edit(|prompt| prompt.icons.get_or_insert_default().push(icon))
    }

    /// Changes the definition that is listed.
    pub fn edit(mut self, change: impl FnOnce(&mut Prompt)) -> Self {
        change(Arc::make_mut(&mut self.definition));
        self
    }

    /// Sets the completer of an argument.
    pub fn with_completer(mut self, argument: impl Into<String>, completer: Completer) -> Self {
        self.completers.set(argument.into(), completer);
        self
    }

    /// Returns the names of the arguments.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.definition.arguments.iter().flatten().map(|argument| argument.name.as_str())
    }

    /// Fills in the prompt.
    pub(crate) async fn get(
        &self,
        arguments: BTreeMap<String, String>,
        scope: &Scope,
    ) -> Result<GetPromptResult, Failure> {
        // Check the names first: a caller may send very many arguments.
        if self.origin.owner == EntryOwner::Author {
            self.check_names(&arguments)?;
        }
        let arguments: Values = arguments.into_iter().collect();
        let scope = scope.with_states(self.origin.states.as_ref()).with_input(arguments.clone());
        let result =
            catch_panic_async(|| self.handler.get(arguments, scope)).await?.map_err(|error| error.0)?;
        if self.origin.owner == EntryOwner::Author {
            check_roles(&result).map_err(|error| error.0)?;
        }
        Ok(result)
    }

    /// Checks that all required arguments are present, and that none is unknown.
    fn check_names(&self, arguments: &BTreeMap<String, String>) -> Result<(), RpcError> {
        let known = || self.definition.arguments.iter().flatten();
        let missing = known()
            .filter(|argument| argument.required == Some(true) && !arguments.contains_key(&argument.name))
            .map(|argument| format!("argument `{}` is missing", argument.name));
        let unknown = arguments.keys().filter(|name| known().all(|known| known.name != **name)).map(|name| {
            let shown = truncate(name);
            match closest(name, self.arguments()) {
                Some(meant) => format!("unknown argument `{shown}`, did you mean `{meant}`?"),
                None => format!("unknown argument `{shown}`"),
            }
        });
        let problems: Vec<_> = missing.chain(unknown).take(MAX_PROBLEMS).collect();
        if problems.is_empty() { Ok(()) } else { Err(RpcError::invalid_params(problems.join("; "))) }
    }
}

impl Entry for PromptEntry {
    const KIND: &'static str = "prompt";

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn mistakes(&self, states: &States) -> Vec<String> {
        let mut found: Vec<String> = name_mistake(self.key()).into_iter().collect();
        found.extend(self.handler.check(states));
        found.extend(self.completers.check(states));
        for completed in self.completers.names() {
            if self.arguments().all(|known| known != completed) {
                found.push(format!("`{completed}` has a completion, but it is not an argument"));
            }
        }
        found
    }
}

impl fmt::Debug for PromptEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptEntry").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl<P: 'static, H: Handler<P>> PromptHandler for DefinedHandler<Prompt, P, H>
where
    H::Output: IntoPrompt,
{
    fn definition(&self) -> Prompt {
        self.definition.clone()
    }

    fn get(&self, _: Values, scope: Scope) -> PromptFuture {
        run_and_convert(&self.handler, &Arguments::new(None, None), scope, |output| {
            output.map_err(|error| PromptError(error.0))?.into_prompt()
        })
    }

    fn check(&self, states: &States) -> Vec<String> {
        self.handler.check(states)
    }
}
