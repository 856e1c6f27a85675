//! How might an argument go on? What is typed so far, and who knows the rest.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use toolway_protocol::types::Completion;

use crate::ground::mistakes::BoxError;
use crate::schema::variants;
use crate::server::call::context::Ctx;
use crate::server::call::scope::Scope;
use crate::server::call::state::States;
use crate::server::handler::function::{Erased, Handler};
use crate::server::handler::parameter::{Missing, Parameter};

/// An argument that somebody is typing, as a parameter of a function that completes it.
///
/// ```
/// use toolway::prelude::*;
///
/// async fn cities(typed: Completing) -> Vec<String> {
///     // What was filled in before may decide.
///     match typed.arguments.get("country").map(String::as_str) {
///         Some("fr") => typed.filter(["Paris", "Pau", "Lyon"]),
///         _ => typed.filter(["Paris", "Perth"]),
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// assert_eq!(cities(Completing::new("city", "pa")).await, ["Paris"]);
/// # });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completing {
    /// The name of the argument.
    pub name: String,
    /// What was typed so far.
    pub value: String,
    /// The arguments that were filled in before.
    pub arguments: BTreeMap<String, String>,
}

impl Completing {
    /// An argument of this name with this much typed.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), arguments: BTreeMap::new() }
    }

    /// Those of the values that go on where the typing stopped; letter case does not matter.
    pub fn filter<T: AsRef<str>>(&self, values: impl IntoIterator<Item = T>) -> Vec<String> {
        let typed = self.value.to_lowercase();
        let fits = |value: &T| value.as_ref().to_lowercase().starts_with(&typed);
        values.into_iter().filter(fits).map(|value| value.as_ref().to_owned()).collect()
    }
}

/// It travels with the request, as other values do.
impl Parameter for Completing {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        scope.subject::<Self>().cloned().ok_or(Missing)
    }
}

/// What a function that completes may return: texts, a [`Completion`], or a `Result` of these. More than a hundred
/// values are cut for you.
///
/// ```
/// use toolway::prelude::*;
///
/// async fn of_many(typed: Completing) -> Result<Completion, std::io::Error> {
///     let found = typed.filter(["a", "ab"]);
///     Ok(Completion::new(found).with_total(2_000).with_has_more(true))
/// }
///
/// let completer = Completer::function(of_many);
/// ```
pub trait IntoCompletion {
    /// Makes the completion.
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

/// Something that completes arguments and is more than a function.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::types::Completion;
///
/// struct Cities(Vec<String>);
///
/// impl Complete for Cities {
///     async fn complete(&self, typed: Completing, _: Ctx) -> Completion {
///         Completion::new(typed.filter(&self.0))
///     }
/// }
/// ```
pub trait Complete: Send + Sync + 'static {
    /// Completes what is typed.
    fn complete(&self, typed: Completing, ctx: Ctx) -> impl Future<Output = Completion> + Send;
}

macro_rules! lists {
    ($([$($length:tt)*] $type:ty;)*) => {$(
        /// These values, as far as they fit what is typed.
        impl<T: AsRef<str> + Send + Sync + 'static, $($length)*> Complete for $type {
            async fn complete(&self, typed: Completing, _: Ctx) -> Completion {
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

/// Who completes one argument.
///
/// `#[arg(complete = …)]` makes one; by hand it is given to [`PromptEntry::completer`](crate::server::PromptEntry::completer) or
/// [`ResourceEntry::completer`](crate::server::ResourceEntry::completer).
///
/// ```
/// use toolway::prelude::*;
/// use toolway::types::PromptArgument;
///
/// let definition =
///     toolway::types::Prompt::new("review").with_arguments(vec![PromptArgument::new("language")]);
/// let review = PromptEntry::define(definition, async |_: Filled| "Review this.")
///     .completer("language", Completer::list(["Rust", "Ruby"]));
/// ```
#[derive(Clone)]
pub struct Completer(Kind);

#[derive(Clone)]
enum Kind {
    List(Arc<[String]>),
    Function(Erased<Completing, Completion>),
}

impl Completer {
    /// These values, as far as they fit what is typed.
    pub fn list<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self(Kind::List(values.into_iter().map(T::into).collect()))
    }

    /// The variants of an enum, under the names that `serde` gives them. Nothing, if the type is no such enum.
    pub fn variants<T: Parameter>() -> Option<Self> {
        if T::IS_ARGUMENT { variants(T::describe).map(Self::list) } else { None }
    }

    /// An async function or a closure: it gets [`Completing`] and anything else that a handler may take.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// async fn cities(typed: Completing, known: State<Vec<String>>) -> Vec<String> {
    ///     typed.filter(known.iter())
    /// }
    ///
    /// let completer = Completer::function(cities);
    /// ```
    pub fn function<P: 'static, H: Handler<P>>(handler: H) -> Self
    where
        H::Output: IntoCompletion,
    {
        Self(Kind::Function(Erased::about(handler, |output| output?.into_completion())))
    }

    /// A value that completes.
    pub fn provider(provider: impl Complete) -> Self {
        let provider = Arc::new(provider);
        Self::function(move |typed: Completing, ctx: Ctx| {
            let provider = provider.clone();
            async move { provider.complete(typed, ctx).await }
        })
    }

    pub(crate) async fn complete(&self, typed: Completing, scope: &Scope) -> Result<Completion, BoxError> {
        let mut completion = match &self.0 {
            Kind::List(values) => Completion::new(typed.filter(values.iter())),
            Kind::Function(function) => function.call(typed, scope).await?,
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

/// The protocol allows a hundred values.
const MAX_VALUES: usize = 100;

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::List(values) => f.debug_tuple("Completer").field(values).finish(),
            Kind::Function(_) => f.write_str("Completer(function)"),
        }
    }
}

/// Who completes the arguments of a prompt or a template, by their names.
///
/// Handlers that are written by hand give them:
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Completers, PromptFuture, PromptHandler, Scope, Values};
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
///     fn get(&self, _: Values, _: Scope) -> PromptFuture {
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
    /// Adds one; it takes the place of another for the same argument.
    pub fn with(mut self, name: impl Into<String>, completer: Completer) -> Self {
        self.set(name.into(), completer);
        self
    }

    /// The variants of an enum complete it without being asked to.
    #[doc(hidden)]
    pub fn of_type<P: Parameter>(self, name: &str) -> Self {
        match Completer::variants::<P>() {
            Some(completer) => self.with(name, completer),
            None => self,
        }
    }

    pub(crate) fn set(&mut self, name: String, completer: Completer) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, completer));
    }

    /// Whether arguments are known to the completer only.
    pub(crate) fn know_better(&self) -> bool {
        self.1.is_some()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Completer> {
        let known = self.0.iter().find(|(known, _)| known == name).map(|(_, completer)| completer);
        known.or(self.1.as_ref())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// What is missing for them to work, in sentences for their author.
    pub(crate) fn check(&self, states: &States) -> Vec<String> {
        let mut mistakes = Vec::new();
        for (name, Completer(kind)) in &self.0 {
            if let Kind::Function(function) = kind {
                function.check(
                    &format!("the completion of `{name}`"),
                    states,
                    states.absent(),
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
