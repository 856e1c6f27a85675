//! What can be asked, and what is its answer?

use std::collections::BTreeMap;
use std::fmt;
use std::future::IntoFuture;

use serde_json::Value;
use toolway_protocol::types::{
    Content, CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitForm, ElicitResult, ElicitUrl,
    FormSchema, InputRequest, InputResponse, Role, Root, SamplingMessage,
};

use crate::ground::future::BoxFuture;
use crate::server::ask::form::{Form, check};
use crate::server::call::context::Ctx;
use crate::server::failure::ask::{AskError, AskErrorKind};

/// A question to await, or to ask [together with others](Ctx::ask_all). Creating it does not ask anything yet.
///
/// Made by [`Ctx::ask`], [`Ctx::question`], [`Ctx::ask_url`], [`Ctx::sample`] and [`Ctx::roots`].
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<T> {
    ctx: Ctx,
    key: String,
    question: InputRequest,
    read: Box<dyn FnOnce(InputResponse) -> Result<T, AskError> + Send>,
}

/// The user's reaction to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserAnswer<T> {
    /// The user answered.
    Accepted(T),
    /// The user declined to answer.
    Declined,
    /// The user closed the question without an answer.
    Cancelled,
}

impl<T: Send + 'static> Ask<T> {
    /// Sets the key of the question. A key must stay the same in every run of the function; two different questions of
    /// one call must not share a key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// Returns *declined* and *cancelled* as values instead of errors.
    ///
    /// ```
    /// use toolway::Form;
    /// use toolway::prelude::*;
    /// use toolway::server::ask::UserAnswer;
    ///
    /// #[derive(Form)]
    /// struct Review {
    ///     #[form(minimum = 1, maximum = 5)]
    ///     stars: u8,
    /// }
    ///
    /// /// Ask for a review.
    /// #[tool]
    /// async fn review(ctx: Ctx) -> Result<String, ToolError> {
    ///     Ok(match ctx.ask::<Review>("How was it?").answer().await? {
    ///         UserAnswer::Accepted(review) => format!("{} stars", review.stars),
    ///         _ => "no review".to_owned(),
    ///     })
    /// }
    /// ```
    pub fn answer(self) -> Ask<UserAnswer<T>> {
        let Self { ctx, key, question, read } = self;
        let read = move |response| match read(response) {
            Ok(value) => Ok(UserAnswer::Accepted(value)),
            Err(error) if error.is_declined() => Ok(UserAnswer::Declined),
            Err(error) if error.is_cancelled() => Ok(UserAnswer::Cancelled),
            Err(error) => Err(error),
        };
        Ask { ctx, key, question, read: Box::new(read) }
    }

    /// Returns the answer if this run has one. Otherwise the question is sent at the end of the run.
    pub(super) fn find_answer(self) -> Result<T, AskError> {
        let Self { ctx, key, question, read } = self;
        ctx.scope().find_answer(&key, &question, read)
    }
}

/// Asks the question. This does not wait for the user. If the answer is known, it is returned. Otherwise an error ends
/// this run of the function; the client is asked, and the function runs again with the answer.
impl<T: Send + 'static> IntoFuture for Ask<T> {
    type Output = Result<T, AskError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            // A function may ask the same question in an endless loop. Yielding here lets other tasks run, and allows
            // the function to be cancelled.
            tokio::task::consume_budget().await;
            self.find_answer()
        })
    }
}

impl<T> fmt::Debug for Ask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The key and text of a question whose kind is not chosen yet. Made by [`Ctx::question`].
#[must_use = "this asks nothing yet: call `ask`, `form` or `url`"]
pub struct QuestionBuilder {
    ctx: Ctx,
    key: String,
    text: String,
}

impl QuestionBuilder {
    /// Asks the user to fill in a form.
    pub fn ask<F: Form>(self) -> Ask<F> {
        self.ask_form(F::schema(), F::read)
    }

    /// Asks the user to fill in a form that was built at run time. The answer is the content by field name.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::types::{Field, FieldKind, Fields, FormSchema};
    ///
    /// /// Ask for whatever a table has as columns.
    /// #[tool]
    /// async fn insert(columns: Vec<String>, ctx: Ctx) -> Result<Json<serde_json::Value>, ToolError> {
    ///     let fields = columns.into_iter().map(|name| (name, Field::new(FieldKind::String))).collect();
    ///     let row = ctx.question("row", "The new row?").form(FormSchema::new(Fields(fields))).await?;
    ///     Ok(Json(serde_json::to_value(row)?))
    /// }
    /// ```
    pub fn form(self, schema: FormSchema) -> Ask<BTreeMap<String, Value>> {
        self.ask_form(schema, Ok)
    }

    fn ask_form<T: Send + 'static>(
        self,
        schema: FormSchema,
        read: fn(BTreeMap<String, Value>) -> Result<T, String>,
    ) -> Ask<T> {
        let form = ElicitForm::new(self.text, schema.clone());
        elicit(self.ctx, self.key, Elicit::Form(form), move |content| check(&schema, content).and_then(read))
    }

    /// Asks the user to open a web page: see [`Ctx::ask_url`].
    pub fn url(self, url: impl Into<String>) -> Ask<()> {
        elicit(self.ctx, self.key, Elicit::Url(ElicitUrl::new(self.text, url)), |_| Ok(()))
    }
}

impl fmt::Debug for QuestionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuestionBuilder").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A request to the client's model: a complete [`CreateMessage`], or a text. The answer to a text may have up to 1000
/// tokens.
pub trait IntoSample {
    /// Converts `self` to a request.
    fn into_sample(self) -> CreateMessage;
}

impl IntoSample for CreateMessage {
    fn into_sample(self) -> CreateMessage {
        self
    }
}

impl IntoSample for &str {
    fn into_sample(self) -> CreateMessage {
        CreateMessage::new(vec![SamplingMessage::new(Role::User, Content::text(self))], 1000)
    }
}

impl IntoSample for String {
    fn into_sample(self) -> CreateMessage {
        self.as_str().into_sample()
    }
}

impl Ctx {
    /// Asks the user to fill in a form. The key of the question is [`Form::name`]. A function that asks the same form
    /// more than once uses [`question`](Self::question) to give each question its own key.
    ///
    /// The same function serves every client. A client of 2025-11-25 is asked while the call runs; a client of
    /// 2026-07-28 calls again with the answer. In both cases **the function runs again from its beginning**, now with
    /// the answer. Wrap effects that must not be repeated in [`once`](Self::once).
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway::client::Answer;
    /// use toolway::prelude::*;
    /// use toolway::testing::each_wire_as;
    /// use toolway::{Form, ProtocolVersion};
    ///
    /// #[derive(Form)]
    /// struct Confirm {
    ///     /// Type the name to confirm.
    ///     name: String,
    ///     #[form(default = true)]
    ///     backup: bool,
    /// }
    ///
    /// /// Delete a project.
    /// #[tool]
    /// async fn delete(ctx: Ctx) -> Result<String, ToolError> {
    ///     let Confirm { name, backup } = ctx.ask("Delete everything?").await?;
    ///     Ok(format!("deleted {name}, {} backup", if backup { "with" } else { "without" }))
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let server = Server::new("projects", "1.0.0").tools(tools![delete]).build()?;
    /// let client = Client::builder().on_elicit(async |_| Answer::accept(json!({"name": "apollo"})));
    /// each_wire_as(client, &server, async |client| {
    ///     let result = client.call("delete", json!({})).await.unwrap();
    ///     // The first two revisions have no way to ask a user.
    ///     let is_old = client.protocol_version() < ProtocolVersion::V2025_06_18;
    ///     assert_eq!(result.is_error(), is_old);
    ///     assert!(is_old || result.first_text() == Some("deleted apollo, with backup"));
    /// })
    /// .await;
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`AskError::kind`] tells the cases apart. The first run of the function ends with
    /// [`Unanswered`](AskErrorKind::Unanswered); pass it on with `?`. To ask again after an invalid answer, use another
    /// key: a key keeps its answer for the rest of the call.
    pub fn ask<F: Form>(&self, text: impl Into<String>) -> Ask<F> {
        self.question(F::name(), text).ask()
    }

    /// Starts a question with its own key, for functions that ask the same form several times, and for forms that are
    /// built at run time.
    ///
    /// ```
    /// use toolway::Form;
    /// use toolway::prelude::*;
    ///
    /// #[derive(Form)]
    /// struct Decision {
    ///     delete: bool,
    /// }
    ///
    /// /// Tidy up.
    /// #[tool]
    /// async fn tidy(files: Vec<String>, ctx: Ctx) -> Result<usize, ToolError> {
    ///     let mut deleted = 0;
    ///     for (number, file) in files.iter().enumerate() {
    ///         let decision: Decision = ctx.question(format!("file-{number}"), format!("Delete {file}?")).ask().await?;
    ///         deleted += usize::from(decision.delete);
    ///     }
    ///     Ok(deleted)
    /// }
    /// ```
    pub fn question(&self, key: impl Into<String>, text: impl Into<String>) -> QuestionBuilder {
        QuestionBuilder { ctx: self.clone(), key: key.into(), text: text.into() }
    }

    /// Asks the user to open a web page, for example to pay, or to enter a secret that must not pass through the
    /// client. The answer says only that the user agreed to open the page. Check separately whether the user completed
    /// the task there.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Pay the bill.
    /// #[tool]
    /// async fn pay(ctx: Ctx) -> Result<&'static str, ToolError> {
    ///     ctx.ask_url("Please pay 3 €.", "https://pay.example/bill/17").await?;
    ///     // … ask the bank whether it was paid …
    ///     Ok("thank you")
    /// }
    /// ```
    pub fn ask_url(&self, text: impl Into<String>, url: impl Into<String>) -> Ask<()> {
        self.question("url", text).url(url)
    }

    /// Asks the model of the client. The protocol calls this sampling, and deprecated it in 2026-07-28.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Summarise a text.
    /// #[tool]
    /// async fn summarise(text: &str, ctx: Ctx) -> Result<String, ToolError> {
    ///     let answer = ctx.sample(format!("Summarise in one sentence: {text}")).await?;
    ///     Ok(answer.content.as_slice().iter().filter_map(|block| block.as_text()).collect())
    /// }
    /// ```
    pub fn sample(&self, ask: impl IntoSample) -> Ask<CreateMessageResult> {
        Ask {
            ctx: self.clone(),
            key: "sample".to_owned(),
            question: InputRequest::CreateMessage(Box::new(ask.into_sample())),
            read: Box::new(|response| {
                let InputResponse::CreateMessage(result) = response else { return Err(wrong_answer_kind()) };
                Ok(*result)
            }),
        }
    }

    /// Asks for the folders that the client works in. The protocol deprecated this in 2026-07-28.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Where are we?
    /// #[tool]
    /// async fn folders(ctx: Ctx) -> Result<Vec<String>, ToolError> {
    ///     Ok(ctx.roots().await?.into_iter().map(|root| root.uri).collect())
    /// }
    /// ```
    pub fn roots(&self) -> Ask<Vec<Root>> {
        Ask {
            ctx: self.clone(),
            key: "roots".to_owned(),
            question: InputRequest::ListRoots(None),
            read: Box::new(|response| {
                let InputResponse::ListRoots(result) = response else { return Err(wrong_answer_kind()) };
                Ok(result.roots)
            }),
        }
    }
}

/// Makes a question to the user.
fn elicit<T: Send + 'static>(
    ctx: Ctx,
    key: String,
    elicit: Elicit,
    read: impl FnOnce(BTreeMap<String, Value>) -> Result<T, String> + Send + 'static,
) -> Ask<T> {
    let asked = key.clone();
    let read = move |response| {
        let InputResponse::Elicit(ElicitResult { action, content, .. }) = response else {
            return Err(wrong_answer_kind());
        };
        match action {
            ElicitAction::Accept => {
                read(content.unwrap_or_default()).map_err(|problem| invalid_answer(&asked, &problem))
            }
            ElicitAction::Decline => {
                Err(AskError::new(AskErrorKind::Declined, format!("the user declined to answer `{asked}`")))
            }
            ElicitAction::Cancel => Err(AskError::new(
                AskErrorKind::Cancelled,
                format!("the user closed the question `{asked}` without an answer"),
            )),
            other => Err(invalid_answer(&asked, &format!("`{}` is not a known action", other.as_str()))),
        }
    };
    Ask { ctx, key, question: InputRequest::Elicit(elicit), read: Box::new(read) }
}

fn invalid_answer(key: &str, problem: &str) -> AskError {
    AskError::new(AskErrorKind::Invalid, format!("the answer to `{key}` does not fit: {problem}"))
}

fn wrong_answer_kind() -> AskError {
    AskError::new(AskErrorKind::Invalid, "the kind of the answer differs from the kind of its question")
}
