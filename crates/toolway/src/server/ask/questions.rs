//! How are several questions asked at once?

use crate::server::ask::question::Ask;
use crate::server::call::context::Ctx;
use crate::server::failure::ask::{AskError, AskErrorKind};

/// Questions that are asked together: a tuple of up to eight, or a `Vec`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of questions",
    note = "pass a tuple or a `Vec` of the values that `ctx.ask(…)`, `ctx.question(…).ask()`, `ctx.sample(…)` and \
            `ctx.roots()` return, without `.await`"
)]
pub trait Questions {
    /// The answers, in the same order.
    type Answers;

    #[doc(hidden)]
    fn find_all(self) -> Result<Self::Answers, AskError>;
}

impl<T: Send + 'static> Questions for Vec<Ask<T>> {
    type Answers = Vec<T>;

    fn find_all(self) -> Result<Vec<T>, AskError> {
        let found: Vec<_> = self.into_iter().map(Ask::find_answer).collect();
        first_failure(found.iter().filter_map(|found| found.as_ref().err()))?;
        found.into_iter().collect()
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Send + 'static),*> Questions for ($(Ask<$name>,)*) {
            type Answers = ($($name,)*);

            #[allow(non_snake_case, reason = "each value is named after its type")]
            fn find_all(self) -> Result<Self::Answers, AskError> {
                let ($($name,)*) = self;
                // Ask every question before the first missing answer is returned as an error.
                $(let $name = $name.find_answer();)*
                first_failure([$($name.as_ref().err()),*].into_iter().flatten())?;
                Ok(($($name?,)*))
            }
        }
    )*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }

/// Returns the error to report. A missing answer takes precedence over every other failure: the function runs again
/// when the answer is known, and the other failure then occurs again.
fn first_failure<'e>(failures: impl Iterator<Item = &'e AskError>) -> Result<(), AskError> {
    let failures: Vec<_> = failures.collect();
    let unanswered = failures.iter().find(|failure| failure.kind() == AskErrorKind::Unanswered);
    match unanswered.or(failures.first()) {
        Some(failure) => Err((*failure).clone()),
        None => Ok(()),
    }
}

impl Ctx {
    /// Asks several questions of any kind at once. Each needs its own key. At most 32 questions are sent to the client
    /// at once; the others are sent after these were answered.
    ///
    /// ```
    /// use toolway::Form;
    /// use toolway::prelude::*;
    ///
    /// #[derive(Form)]
    /// struct Name {
    ///     name: String,
    /// }
    ///
    /// #[derive(Form)]
    /// struct Colour {
    ///     colour: String,
    /// }
    ///
    /// /// Greet a person.
    /// #[tool]
    /// async fn greet(ctx: Ctx) -> Result<String, ToolError> {
    ///     let name = ctx.ask::<Name>("Your name?");
    ///     let colour = ctx.ask::<Colour>("Your favourite colour?");
    ///     let (name, colour, roots) = ctx.ask_all((name, colour, ctx.roots())).await?;
    ///     Ok(format!("{} likes {} and works in {} folders", name.name, colour.colour, roots.len()))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The error of the first question that still needs an answer; if there is none, the error of the first question
    /// that failed. [`Ask::answer`] returns refusals as values instead.
    #[expect(clippy::unused_async, reason = "callers must not depend on the fact that it never waits")]
    pub async fn ask_all<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, AskError> {
        questions.find_all()
    }
}
