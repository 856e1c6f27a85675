//! How does a function or a closure become a handler, without a macro?
//!
//! The type of each parameter determines its source, as in functions that are marked `#[tool]`. At most one parameter
//! may be an argument. It receives all arguments together, because the names of parameters are not visible here.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::ground::future::BoxFuture;
use crate::ground::mistakes::BoxError;
use crate::ground::panic::catch_panic_async;
use crate::schema::{Checker, InputSchemaBuilder};
use crate::server::call::layer::stack::LayerStack;
use crate::server::call::scope::Scope;
use crate::server::call::state::{States, UnavailableValues};
use crate::server::failure::errors::{Failure, ToolError};
use crate::server::handler::arguments::{Arguments, Rules};
use crate::server::handler::parameter::Parameter;

type RunFn<In, Out> = dyn Fn(In, Scope) -> BoxFuture<'static, Result<Out, BoxError>> + Send + Sync;
type CheckFn = dyn Fn(&States) -> Vec<String> + Send + Sync;

/// A handler with erased parameter types: it takes the input of a call and returns the result.
pub(crate) struct ErasedHandler<In, Out> {
    run: Arc<RunFn<In, Out>>,
    check: Arc<CheckFn>,
    /// The state values of the server that the handler was added to, if that server was merged into another.
    states: Option<Arc<States>>,
    /// The layers of the server that the handler was added to, if that server was merged into another.
    pub(crate) layers: LayerStack,
}

impl<In, Out> ErasedHandler<In, Out> {
    /// Erases a handler; `adapt` calls it with the input and converts its return value.
    pub(crate) fn new<P: 'static, H: Handler<P>>(
        handler: H,
        adapt: impl Fn(&H, In, Scope) -> BoxFuture<'static, Result<Out, BoxError>> + Send + Sync + 'static,
    ) -> Self {
        let handler = Arc::new(handler);
        let checked = handler.clone();
        Self {
            run: Arc::new(move |sent, scope| adapt(&handler, sent, scope)),
            check: Arc::new(move |states| checked.check(states)),
            states: None,
            layers: LayerStack::default(),
        }
    }

    /// Erases a handler that takes its input from its scope.
    pub(crate) fn with_scope_input<P: 'static, H: Handler<P>>(
        handler: H,
        finish: impl Fn(Result<H::Output, ToolError>) -> Result<Out, BoxError> + Copy + Send + Sync + 'static,
    ) -> Self
    where
        In: Send + Sync + 'static,
        Out: Send + 'static,
    {
        Self::new(handler, move |handler, sent, scope| {
            run_and_convert(handler, &Arguments::new(None, None), scope.with_input(sent), finish)
        })
    }

    pub(crate) fn call(&self, sent: In, scope: &Scope) -> BoxFuture<'static, Result<Out, BoxError>> {
        (self.run)(sent, scope.with_states(self.states.as_ref()))
    }

    /// Calls the handler and waits for it. A panic becomes a failure.
    pub(crate) async fn call_catching_panics(&self, sent: In, scope: &Scope) -> Result<Out, Failure> {
        catch_panic_async(|| self.call(sent, scope)).await?.map_err(Failure::unbox)
    }

    pub(crate) fn bind_states(&mut self, states: &Arc<States>) {
        self.states.get_or_insert_with(|| states.clone());
    }

    /// Adds a sentence to `mistakes` for each value that the handler needs and the server lacks. `what` is the start of
    /// the sentence, and `absent` holds the kinds of values that calls do not have.
    pub(crate) fn check(
        &self,
        what: &str,
        states: &States,
        absent: UnavailableValues,
        mistakes: &mut Vec<String>,
    ) {
        let found = (self.check)(&self.states.as_deref().unwrap_or(states).with_unavailable(absent));
        mistakes.extend(found.into_iter().map(|mistake| format!("{what}: {mistake}")));
    }
}

impl<In, Out> Clone for ErasedHandler<In, Out> {
    fn clone(&self) -> Self {
        Self {
            run: self.run.clone(),
            check: self.check.clone(),
            states: self.states.clone(),
            layers: self.layers.clone(),
        }
    }
}

impl<In, Out> fmt::Debug for ErasedHandler<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a handler")
    }
}

/// Runs a handler; `finish` converts its return value, or the error that prevents it from starting.
pub(crate) fn run_and_convert<P, H: Handler<P>, T: Send + 'static, E: Send + 'static>(
    handler: &H,
    arguments: &Arguments,
    scope: Scope,
    finish: impl FnOnce(Result<H::Output, ToolError>) -> Result<T, E> + Send + 'static,
) -> BoxFuture<'static, Result<T, E>> {
    match handler.run(arguments, scope) {
        Ok(running) => Box::pin(async move { finish(Ok(running.await)) }),
        Err(error) => Box::pin(std::future::ready(finish(Err(error)))),
    }
}

/// Erases a hook: a handler that takes its input from its scope and returns nothing.
pub(crate) fn erase_hook<In: Send + Sync + 'static, P: 'static, H: Handler<P, Output = ()>>(
    handler: H,
) -> ErasedHandler<In, ()> {
    ErasedHandler::with_scope_input(handler, |output| Ok(output?))
}

/// A handler, and the definition of the element that it implements.
pub(crate) struct DefinedHandler<D, P, H> {
    pub(crate) definition: D,
    pub(crate) handler: H,
    parameters: PhantomData<fn() -> P>,
}

impl<D, P, H: Handler<P>> DefinedHandler<D, P, H> {
    pub(crate) fn new(definition: D, handler: H) -> Self {
        Self { definition, handler, parameters: PhantomData }
    }
}

/// An async function, or a closure that returns a future, whose parameters are [`Parameter`]s.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::ToolEntry;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum {
///     a: i64,
///     b: i64,
/// }
///
/// async fn sum(numbers: Sum, ctx: Ctx) -> i64 {
///     ctx.progress(1, 1, "adding").await;
///     numbers.a + numbers.b
/// }
///
/// let tool = ToolEntry::from_fn("sum", sum);
/// let same = ToolEntry::from_fn("same", |numbers: Sum| async move { numbers.a + numbers.b });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler",
    note = "a handler is an `async fn`, or a closure `|…| async move {{ … }}`, with at most six parameters",
    note = "each parameter implements `toolway::server::parameter::Parameter`: something to deserialize, `Ctx`, `State<T>`, …"
)]
pub trait Handler<Parameters>: Send + Sync + 'static {
    /// The return type.
    type Output: Send + 'static;

    /// Starts the handler.
    fn run(&self, arguments: &Arguments, scope: Scope)
    -> Result<BoxFuture<'static, Self::Output>, ToolError>;

    /// Returns what the server lacks for this handler, in sentences for its author.
    fn check(&self, states: &States) -> Vec<String>;

    /// Returns the schema of the handler's argument.
    #[doc(hidden)]
    fn input(&self) -> InputSchemaBuilder;

    /// Returns whether the handler has an argument.
    #[doc(hidden)]
    fn takes_arguments(&self) -> bool;
}

macro_rules! handlers {
    ($($($name:ident)*;)*) => {$(
        impl<F, Fut, $($name),*> Handler<($($name,)*)> for F
        where
            F: Fn($($name),*) -> Fut + Send + Sync + 'static,
            Fut: Future + Send + 'static,
            Fut::Output: Send + 'static,
            $($name: Parameter + 'static,)*
        {
            type Output = Fut::Output;

            #[allow(non_snake_case, reason = "each value is named after its type, where there are any")]
            fn run(&self, arguments: &Arguments, scope: Scope) -> Result<BoxFuture<'static, Self::Output>, ToolError> {
                let _ = arguments;
                $(let $name = $name::from_all_arguments(arguments, &scope)?;)*
                drop(scope);
                Ok(Box::pin(self($($name),*)))
            }

            fn check(&self, states: &States) -> Vec<String> {
                let _ = states;
                let mut mistakes: Vec<String> = Vec::new();
                $(mistakes.extend($name::check(states));)*
                let arguments: &[bool] = &[$($name::IS_ARGUMENT),*];
                if arguments.iter().filter(|is_argument| **is_argument).count() > 1 {
                    mistakes.push(
                        "a handler without `#[tool]` takes at most one argument, which gets all values that were sent: \
                         use a struct"
                            .to_owned(),
                    );
                }
                mistakes
            }

            fn input(&self) -> InputSchemaBuilder {
                #[allow(unused_mut, reason = "a handler may have no parameters")]
                let mut input = InputSchemaBuilder::default();
                $(if $name::IS_ARGUMENT {
                    input = $name::whole_schema();
                })*
                input
            }

            fn takes_arguments(&self) -> bool {
                false $(|| $name::IS_ARGUMENT)*
            }
        }
    )*};
}
handlers! { ; A; A B; A B C; A B C D; A B C D E; A B C D E G; }

/// Makes the rules of a handler's argument from its type. Returns `None` if the handler has no argument, or if the
/// schema cannot be compiled.
pub(crate) fn rules_of<P, H: Handler<P>>(handler: &H) -> Option<Arc<Rules>> {
    if !handler.takes_arguments() {
        return None;
    }
    let input = handler.input().finish();
    let checker = Checker::compile(&input.schema.decode().ok()?).ok()?;
    Some(Arc::new(Rules { checker, is_typed: input.is_typed, coerces: false }))
}
