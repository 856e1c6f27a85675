//! How can an argument be completed? From the text that is typed so far, by a list or a function.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use toolway_protocol::types::Completion;

use crate::ground::mistakes::BoxError;
use crate::schema::enum_values;
use crate::server::call::context::Ctx;
use crate::server::call::scope::Scope;
use crate::server::call::state::States;
use crate::server::handler::function::{ErasedHandler, Handler};
use crate::server::handler::parameter::{Missing, Parameter};

/// An argument that a user is typing, as a parameter of a function that completes it.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::CompletionRequest;
///
/// async fn cities(typed: CompletionRequest) -> Vec<String> {
///     // The values may depend on arguments that are already filled in.
///     match typed.arguments.get("country").map(String::as_str) {
///         Some("fr") => typed.filter(["Paris", "Pau", "Lyon"]),
///         _ => typed.filter(["Paris", "Perth"]),
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// assert_eq!(cities(CompletionRequest::new("city", "pa")).await, ["Paris"]);
/// # });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The name of the argument.
    pub name: String,
    /// The text that was typed so far.
    pub value: String,
    /// The arguments that were filled in before.
    pub arguments: BTreeMap<String, String>,
}

impl CompletionRequest {
    /// Creates an argument with this name and this text.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), arguments: BTreeMap::new() }
    }

    /// Returns the values that start with the typed text; letter case does not matter.
    pub fn filter<T: AsRef<str>>(&self, values: impl IntoIterator<Item = T>) -> Vec<String> {
        let typed = self.value.to_lowercase();
        let fits = |value: &T| value.as_ref().to_lowercase().starts_with(&typed);
        values.into_iter().filter(fits).map(|value| value.as_ref().to_owned()).collect()
    }
}

/// Taken from the scope of the request.
impl Parameter for CompletionRequest {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

/// A type that a completion function may return: texts, a [`Completion`], or a `Result` of these. A list of more than
/// 100 values is truncated automatically.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Completer, CompletionRequest};
/// use toolway::types::Completion;
///
/// async fn of_many(typed: CompletionRequest) -> Result<Completion, std::io::Error> {
///     let found = typed.filter(["a", "ab"]);
///     Ok(Completion::new(found).with_total(2_000).with_has_more(true))
/// }
///
/// let completer = Completer::function(of_many);
/// ```
pub trait IntoCompletion {
    /// Converts the value to a completion.
    fn into_completion(self) -> Result<Completion, BoxError>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, BoxError> {
        Ok(self)
    }
}

impl<T: Into<String>> IntoCompletion for Vec<T> {
    fn into_completion(self) -> Result<Completion, BoxError> {
        Ok(Completion::new(self.into_iter().map(T::into).collect::<Vec<String>>()))
    }
}

impl<T: IntoCompletion, E: Into<BoxError>> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, BoxError> {
        self.map_err(Into::into)?.into_completion()
    }
}

/// A type that completes arguments, for completers that are more than a function.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{CompletionProvider, CompletionRequest};
/// use toolway::types::Completion;
///
/// struct Cities(Vec<String>);
///
/// impl CompletionProvider for Cities {
///     async fn complete(&self, typed: CompletionRequest, _: Ctx) -> Completion {
///         Completion::new(typed.filter(&self.0))
///     }
/// }
/// ```
pub trait CompletionProvider: Send + Sync + 'static {
    /// Completes the typed text.
    fn complete(&self, typed: CompletionRequest, ctx: Ctx) -> impl Future<Output = Completion> + Send;
}

macro_rules! lists {
    ($([$($length:tt)*] $type:ty;)*) => {$(
        /// Completes with those values that start with the typed text.
        impl<T: AsRef<str> + Send + Sync + 'static, $($length)*> CompletionProvider for $type {
            async fn complete(&self, typed: CompletionRequest, _: Ctx) -> Completion {
                Completion::new(typed.filter(self.iter()))
            }
        }
    )*};
}
lists! {
    [] Vec<T>;
    [] &'static [T];
    [const N: usize] [T; N];
}

/// The source of completions for one argument.
///
/// `#[arg(complete = …)]` makes a completer; without macros, pass one to
/// [`PromptEntry::with_completer`](crate::server::PromptEntry::with_completer) or
/// [`ResourceEntry::with_completer`](crate::server::ResourceEntry::with_completer).
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Completer, PromptEntry, PromptValues};
/// use toolway::types::PromptArgument;
///
/// let definition =
///     toolway::types::Prompt::new("review").with_arguments(vec![PromptArgument::new("language")]);
/// let review = PromptEntry::define(definition, async |_: PromptValues| "Review this.")
///     .with_completer("language", Completer::list(["Rust", "Ruby"]));
/// ```
#[derive(Clone)]
pub struct Completer(CompleterKind);

#[derive(Clone)]
enum CompleterKind {
    List(Arc<[String]>),
    Function(ErasedHandler<CompletionRequest, Completion>),
}

impl Completer {
    /// Completes with those values that start with the typed text.
    pub fn list<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self(CompleterKind::List(values.into_iter().map(T::into).collect()))
    }

    /// Completes with the variants of an enum, under their `serde` names. `None` if the type is not such an enum.
    pub fn variants<T: Parameter>() -> Option<Self> {
        if T::IS_ARGUMENT { enum_values(T::describe).map(Self::list) } else { None }
    }

    /// Completes with an async function or a closure, which takes [`CompletionRequest`] and any other parameter of a
    /// handler.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{Completer, CompletionRequest};
    ///
    /// async fn cities(typed: CompletionRequest, known: State<Vec<String>>) -> Vec<String> {
    ///     typed.filter(known.iter())
    /// }
    ///
    /// let completer = Completer::function(cities);
    /// ```
    pub fn function<P: 'static, H: Handler<P>>(handler: H) -> Self
    where
        H::Output: IntoCompletion,
    {
        Self(CompleterKind::Function(ErasedHandler::with_scope_input(handler, |output| {
            output?.into_completion()
        })))
    }

    /// Completes with a value that implements [`CompletionProvider`].
    pub fn provider(provider: impl CompletionProvider) -> Self {
        let provider = Arc::new(provider);
        Self::function(move |typed: CompletionRequest, ctx: Ctx| {
            let provider = provider.clone();
            async move { provider.complete(typed, ctx).await }
        })
    }

    pub(crate) async fn complete(
        &self,
        typed: CompletionRequest,
        scope: &Scope,
    ) -> Result<Completion, BoxError> {
        let mut completion = match &self.0 {
            CompleterKind::List(values) => Completion::new(typed.filter(values.iter())),
            CompleterKind::Function(function) => function.call(typed, scope).await?,
        };
        let found = completion.values.len();
        if found > MAX_VALUES {
            completion.values.truncate(MAX_VALUES);
            completion.has_more = Some(true);
            completion.total.get_or_insert(i64::try_from(found).unwrap_or(i64::MAX));
        }
        Ok(completion)
    }
}

/// The maximum number of values that the protocol allows in a completion.
const MAX_VALUES: usize = 100;

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            CompleterKind::List(values) => f.debug_tuple("Completer").field(values).finish(),
            CompleterKind::Function(_) => f.write_str("Completer(function)"),
        }
    }
}

/// The completers of a prompt or a resource template, by the names of the arguments.
///
/// Handlers that are written by hand return them:
///
/// ```
/// use toolway::BoxFuture;
/// use toolway::prelude::*;
/// use toolway::server::element::{Completers, PromptHandler, Values};
/// use toolway::server::parameter::Scope;
/// use toolway::server::{Completer, PromptEntry, PromptError};
/// use toolway::testing::connect;
/// use toolway::types::{GetPromptResult, PromptArgument};
///
/// struct Review;
///
/// impl PromptHandler for Review {
///     fn definition(&self) -> toolway::types::Prompt {
///         toolway::types::Prompt::new("review").with_arguments(vec![PromptArgument::new("language")])
///     }
///
///     fn get(&self, _: Values, _: Scope) -> BoxFuture<'static, Result<GetPromptResult, PromptError>> {
///         Box::pin(async { Ok(GetPromptResult::new(Vec::new())) })
///     }
///
///     fn completers(&self) -> Completers {
///         Completers::default().with("language", Completer::list(["Rust", "Ruby", "Python"]))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let server = Server::new("editor", "1.0.0").prompt(PromptEntry::new(Review)).build()?;
/// let nothing: [(&str, &str); 0] = [];
/// let completion = connect(&server).await.complete_prompt("review", "language", "ru", nothing).await?;
/// assert_eq!(completion.values, ["Rust", "Ruby"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Completers(pub(super) Vec<(String, Completer)>, pub(super) Option<Completer>);

impl Completers {
    /// Adds a completer. It replaces an earlier one for the same argument.
    pub fn with(mut self, name: impl Into<String>, completer: Completer) -> Self {
        self.set(name.into(), completer);
        self
    }

    /// Adds a completer with the variants of `P`, if `P` is an enum.
    #[doc(hidden)]
    pub fn with_variants_of<P: Parameter>(self, name: &str) -> Self {
        match Completer::variants::<P>() {
            Some(completer) => self.with(name, completer),
            None => self,
        }
    }

    pub(crate) fn set(&mut self, name: String, completer: Completer) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, completer));
    }

    /// Returns whether one completer handles all arguments, including unknown ones.
    pub(crate) fn accepts_any_argument(&self) -> bool {
        self.1.is_some()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Completer> {
        let known = self.0.iter().find(|(known, _)| known == name).map(|(_, completer)| completer);
        known.or(self.1.as_ref())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns what the server lacks for the completers, in sentences for their author.
    pub(crate) fn check(&self, states: &States) -> Vec<String> {
        let mut mistakes = Vec::new();
        for (name, Completer(kind)) in &self.0 {
            if let CompleterKind::Function(function) = kind {
                function.check(
                    &format!("the completion of `{name}`"),
                    states,
                    states.unavailable(),
                    &mut mistakes,
                );
            }
        }
        mistakes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty() && self.1.is_none()
    }
}
