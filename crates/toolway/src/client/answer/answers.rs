//! How does the application answer when a server asks its user, its model, or for its roots?

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use toolway_protocol::capability::{ClientCapabilities, JsonObject};
use toolway_protocol::types::{
    Content, CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitResult, FormSchema,
    InputRequest, InputResponse, ListRootsResult, Role, Root,
};

use crate::client::answer::origin::QuestionOrigin;
use crate::ground::future::BoxFuture;
use crate::ground::panic::catch_panic_async;
use crate::ground::unprintable::is_unprintable;

/// A question that a server asks the user: to fill in a form, or to open a web page.
///
/// ```
/// use serde_json::json;
/// use toolway::client::{Answer, Elicitation};
/// use toolway::types::{Elicit, ElicitForm, Field, FieldKind, Fields, FormSchema};
///
/// /// Answers as a user whose name is Ada.
/// async fn ask(question: Elicitation) -> Answer {
///     let Some(form) = question.form() else { return Answer::decline() };
///     match form.properties.0.iter().any(|(name, _)| name == "name") {
///         true => Answer::accept(json!({"name": "Ada"})),
///         false => Answer::cancel(),
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let fields = Fields(vec![("name".to_owned(), Field::new(FieldKind::String))]);
/// let form = ElicitForm::new("Who are you?", FormSchema::new(fields));
/// let answer = ask(Elicitation::new(Elicit::Form(form))).await;
/// assert_eq!(answer, Answer::accept(json!({"name": "Ada"})));
/// # });
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    params: Elicit,
    origin: QuestionOrigin,
}

impl Elicitation {
    /// Creates a question, to test the code that answers it.
    pub fn new(asked: Elicit) -> Self {
        Self { params: asked, origin: QuestionOrigin::default() }
    }

    /// The text that tells the user what the question is about.
    pub fn message(&self) -> &str {
        match &self.params {
            Elicit::Form(form) => &form.message,
            Elicit::Url(url) => &url.message,
        }
    }

    /// The schema of the form; `None` if the question is about a web page.
    pub fn form(&self) -> Option<&FormSchema> {
        match &self.params {
            Elicit::Form(form) => Some(&form.requested_schema),
            Elicit::Url(_) => None,
        }
    }

    /// The URL of the web page; `None` if the question is a form. Show the user the whole URL, and open it only after
    /// the user has agreed. The program must not fetch or inspect the page itself.
    pub fn url(&self) -> Option<&str> {
        match &self.params {
            Elicit::Url(url) => Some(&url.url),
            Elicit::Form(_) => None,
        }
    }

    /// The complete question as it was sent.
    pub fn params(&self) -> &Elicit {
        &self.params
    }

    /// The server's key for the question. `None` in the handshake era, in which questions have no keys.
    pub fn key(&self) -> Option<&str> {
        self.origin.key()
    }

    /// The method of the client's request that the question is about, such as `tools/call`. `None` in the handshake
    /// era, in which a question does not name it.
    pub fn request_method(&self) -> Option<&str> {
        self.origin.request_method()
    }
}

/// The user's answer.
///
/// ```
/// use serde_json::json;
/// use toolway::client::Answer;
///
/// #[derive(serde::Serialize)]
/// struct Name {
///     name: &'static str,
/// }
///
/// assert_eq!(Answer::accept(Name { name: "Ada" }), Answer::accept(json!({"name": "Ada"})));
/// assert_ne!(Answer::decline(), Answer::cancel());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Answer(AnswerKind);

#[derive(Debug, Clone, PartialEq)]
enum AnswerKind {
    Fields(JsonObject),
    /// The reason why the value that the application gave is not an object with fields.
    InvalidFields(String),
    Decline,
    Cancel,
}

impl Answer {
    /// The user completed the form. `fields` serializes to an object with the values. A field that is left out gets its
    /// default, if it has one.
    pub fn accept(fields: impl Serialize) -> Self {
        Self(match serde_json::to_value(fields) {
            Ok(Value::Object(fields)) => AnswerKind::Fields(fields),
            Ok(_) => AnswerKind::InvalidFields("the fields of an answer must be an object".to_owned()),
            Err(error) => AnswerKind::InvalidFields(error.to_string()),
        })
    }

    /// The user accepted the default values of the form.
    pub fn defaults() -> Self {
        Self(AnswerKind::Fields(JsonObject::new()))
    }

    /// The user agrees to open the web page. The client does not learn what the user does on the page.
    pub fn consent() -> Self {
        Self(AnswerKind::Fields(JsonObject::new()))
    }

    /// The user declines.
    pub fn decline() -> Self {
        Self(AnswerKind::Decline)
    }

    /// The user dismisses the question without an answer.
    pub fn cancel() -> Self {
        Self(AnswerKind::Cancel)
    }

    fn into_result(self, asked: &Elicit) -> Result<ElicitResult, QuestionError> {
        Ok(match (self.0, asked) {
            (AnswerKind::Decline, _) => ElicitResult::new(ElicitAction::Decline),
            (AnswerKind::Cancel, _) => ElicitResult::new(ElicitAction::Cancel),
            (AnswerKind::InvalidFields(reason), _) => return Err(QuestionError::Failed(reason.into())),
            (AnswerKind::Fields(mut fields), Elicit::Form(form)) => {
                for (name, field) in &form.requested_schema.properties.0 {
                    if let Some(default) = &field.default {
                        fields.entry(name).or_insert_with(|| default.clone());
                    }
                }
                let fields: BTreeMap<_, _> = fields.into_iter().collect();
                ElicitResult::new(ElicitAction::Accept).with_content(fields)
            }
            // What the user enters on a web page does not pass through the client.
            (AnswerKind::Fields(_), _) => ElicitResult::new(ElicitAction::Accept),
        })
    }
}

/// The reason why the application did not answer a question to its model or for its roots.
///
/// `?` converts any error into an `AnswerError`. In the handshake era, the server learns only that the question was not
/// answered, and the cause is logged. In the stateless era, the call that the question is about fails, and its error
/// contains the cause.
///
/// ```
/// use toolway::client::AnswerError;
/// use toolway::types::Root;
///
/// async fn roots() -> Result<Vec<Root>, AnswerError> {
///     let folder = std::env::current_dir()?;
///     match folder.to_str() {
///         Some(folder) => Ok(vec![Root::new(format!("file://{folder}"))]),
///         None => Err(AnswerError::refused()),
///     }
/// }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// assert_eq!(roots().await.unwrap().len(), 1);
/// # });
/// ```
#[derive(Debug)]
pub struct AnswerError(Option<Cause>);

impl AnswerError {
    /// The user refuses to answer.
    pub fn refused() -> Self {
        Self(None)
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for AnswerError {
    fn from(cause: E) -> Self {
        Self(Some(cause.into()))
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a question was not answered. The fault may be with the client or with the server.
#[derive(Debug)]
pub(crate) enum QuestionError {
    /// The client did not declare that it answers questions of this kind.
    Undeclared,
    /// The question is invalid, or needs something that the client did not declare.
    Invalid(&'static str),
    /// The user refuses to answer.
    Refused,
    /// The callback of the application failed.
    Failed(Cause),
}

impl From<AnswerError> for QuestionError {
    fn from(unanswered: AnswerError) -> Self {
        unanswered.0.map_or(Self::Refused, Self::Failed)
    }
}

/// A callback of the application that answers a question `Q` with an `A`.
pub(crate) type AnswerHandler<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<'static, A> + Send + Sync>;

/// Converts a function into an [`AnswerHandler`].
pub(crate) fn answer_handler<Q, A, F: Future<Output = A> + Send + 'static>(
    answer: impl Fn(Q) -> F + Send + Sync + 'static,
) -> AnswerHandler<Q, A> {
    Arc::new(move |question| Box::pin(answer(question)))
}

/// The maximum number of questions that may wait for the application's answers at once. One result of the server may
/// also contain at most this many questions.
pub(crate) const MAX_QUESTIONS: usize = 32;

/// All callbacks with which the application answers questions.
#[derive(Clone, Default)]
pub(crate) struct AnswerHandlers {
    pub(crate) form: Option<AnswerHandler<Elicitation, Answer>>,
    pub(crate) url: Option<AnswerHandler<Elicitation, Answer>>,
    pub(crate) model: Option<AnswerHandler<CreateMessage, Result<CreateMessageResult, AnswerError>>>,
    /// `true` if the model may be given tools.
    pub(crate) allows_tools: bool,
    pub(crate) roots: Option<AnswerHandler<(), Result<Vec<Root>, AnswerError>>>,
    /// `true` if questions that the application does not answer are passed on to the caller of a forwarded request.
    pub(crate) forwards_questions: bool,
    /// The extensions to declare.
    pub(crate) extensions: Vec<&'static str>,
}

impl AnswerHandlers {
    /// Returns whether the application itself answers this question.
    pub(crate) fn can_answer(&self, question: &InputRequest) -> bool {
        match question {
            InputRequest::Elicit(Elicit::Form(_)) => self.form.is_some(),
            InputRequest::Elicit(Elicit::Url(_)) => self.url.is_some(),
            InputRequest::CreateMessage(_) => self.model.is_some(),
            InputRequest::ListRoots(_) => self.roots.is_some(),
        }
    }

    /// The capabilities to declare to the server.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.build_capabilities(self.forwards_questions)
    }

    /// The capabilities to declare with a request that is forwarded for a caller with the capabilities `others`: the
    /// server may ask the application or that caller.
    pub(crate) fn capabilities_with(&self, others: &ClientCapabilities) -> ClientCapabilities {
        let mut all = self.build_capabilities(false);
        let ClientCapabilities { sampling, elicitation, roots, .. } = others;
        match (&mut all.elicitation, elicitation) {
            (Some(ours), Some(theirs)) => {
                for (mode, can) in [
                    ("form", has_form_mode(ours) || has_form_mode(theirs)),
                    ("url", theirs.contains_key("url")),
                ] {
                    if can {
                        ours.entry(mode).or_insert_with(|| Value::Object(JsonObject::new()));
                    }
                }
            }
            (none, theirs) => *none = none.take().or_else(|| theirs.clone()),
        }
        all.sampling = all.sampling.or_else(|| sampling.clone());
        all.roots = all.roots.or_else(|| roots.clone());
        all
    }

    fn build_capabilities(&self, everything: bool) -> ClientCapabilities {
        let yes = || Value::Object(JsonObject::new());
        let mut capabilities = ClientCapabilities::new();
        let (forms, urls) = (everything || self.form.is_some(), everything || self.url.is_some());
        // If only forms are supported, the object stays empty: every revision reads an empty object as "forms only".
        let modes = [("form", forms && urls), ("url", urls)].into_iter().filter(|(_, is_named)| *is_named);
        capabilities.elicitation =
            (forms || urls).then(|| modes.map(|(mode, _)| (mode.to_owned(), yes())).collect());
        // If the application has a model, it alone decides whether the model may be given tools.
        let has_tools = if self.model.is_some() { self.allows_tools } else { everything };
        capabilities.sampling = (everything || self.model.is_some()).then(JsonObject::new);
        if let (Some(sampling), true) = (&mut capabilities.sampling, has_tools) {
            sampling.insert("tools".to_owned(), yes());
        }
        capabilities.roots = (everything || self.roots.is_some()).then(JsonObject::new);
        let extensions = self.extensions.iter().map(|name| ((*name).to_owned(), yes()));
        capabilities.extensions = (!self.extensions.is_empty()).then(|| extensions.collect());
        capabilities
    }

    /// Answers a question that has passed [`check_question`].
    pub(crate) async fn answer(
        self,
        question: InputRequest,
        origin: QuestionOrigin,
    ) -> Result<InputResponse, QuestionError> {
        origin.clone().scope(self.call_handler(question, origin)).await
    }

    async fn call_handler(
        self,
        question: InputRequest,
        origin: QuestionOrigin,
    ) -> Result<InputResponse, QuestionError> {
        match question {
            InputRequest::Elicit(asked) => {
                let answerer = match asked {
                    Elicit::Form(_) => self.form,
                    Elicit::Url(_) => self.url,
                };
                let answerer = answerer.ok_or(QuestionError::Undeclared)?;
                let question = Elicitation { params: asked.clone(), origin };
                let answer = catch_panic_async(|| answerer(question)).await.map_err(application_error)?;
                answer.into_result(&asked).map(InputResponse::Elicit)
            }
            InputRequest::CreateMessage(asked) => {
                let answerer = self.model.ok_or(QuestionError::Undeclared)?;
                let answer = catch_panic_async(|| answerer(*asked)).await.map_err(application_error)??;
                Ok(InputResponse::CreateMessage(Box::new(answer)))
            }
            InputRequest::ListRoots(_) => {
                let answerer = self.roots.ok_or(QuestionError::Undeclared)?;
                let roots = catch_panic_async(|| answerer(())).await.map_err(application_error)??;
                match roots.iter().find(|root| !root.uri.starts_with("file://")) {
                    Some(root) => Err(QuestionError::Failed(
                        format!("{:?}: a root must be a `file` URI", root.uri).into(),
                    )),
                    None => Ok(InputResponse::ListRoots(ListRootsResult::new(roots))),
                }
            }
        }
    }
}

fn application_error(cause: impl Into<Cause>) -> QuestionError {
    QuestionError::Failed(cause.into())
}

/// Checks whether a server that knows these capabilities may ask this question.
pub(crate) fn check_question(
    question: &InputRequest,
    declared: &ClientCapabilities,
) -> Result<(), QuestionError> {
    match question {
        InputRequest::Elicit(asked) => {
            let modes = declared.elicitation.as_ref().ok_or(QuestionError::Undeclared)?;
            match asked {
                Elicit::Form(_) if has_form_mode(modes) => Ok(()),
                Elicit::Url(page) if modes.contains_key("url") => check_url(&page.url),
                Elicit::Form(_) => Err(QuestionError::Invalid("the client does not support forms")),
                Elicit::Url(_) => Err(QuestionError::Invalid("the client does not open web pages")),
            }
        }
        InputRequest::CreateMessage(asked) => {
            let settings = declared.sampling.as_ref().ok_or(QuestionError::Undeclared)?;
            if (asked.tools.is_some() || asked.tool_choice.is_some()) && !settings.contains_key("tools") {
                return Err(QuestionError::Invalid(
                    "the client did not declare the capability `sampling.tools`",
                ));
            }
            check_messages(asked).map_err(QuestionError::Invalid)
        }
        InputRequest::ListRoots(_) => declared.roots.as_ref().map(|_| ()).ok_or(QuestionError::Undeclared),
    }
}

/// Refuses a URL with characters that no URL has. They could make it look like the URL of another page.
fn check_url(url: &str) -> Result<(), QuestionError> {
    if url.chars().any(|letter| letter.is_whitespace() || is_unprintable(letter)) {
        return Err(QuestionError::Invalid(
            "the URL of the web page has white space, or a control or invisible character",
        ));
    }
    Ok(())
}

/// Returns whether these elicitation modes include forms. They do if `form` is present, and also if neither `form` nor
/// `url` is.
pub(crate) fn has_form_mode(modes: &JsonObject) -> bool {
    modes.contains_key("form") || !modes.contains_key("url")
}

/// Checks the tool uses in the messages. The message after one with tool uses must be a user message that contains all
/// their results and nothing else.
fn check_messages(asked: &CreateMessage) -> Result<(), &'static str> {
    let mut open: Vec<&str> = Vec::new();
    for message in &asked.messages {
        let blocks = message.content.as_slice();
        let (mut asked_for, mut results) = (Vec::new(), Vec::new());
        for block in blocks {
            match block {
                Content::ToolUse(used) => asked_for.push(&*used.id),
                Content::ToolResult(result) => results.push(&*result.tool_use_id),
                _ => {}
            }
        }
        if !results.is_empty() && (message.role != Role::User || results.len() != blocks.len()) {
            return Err("tool results must be in a user message that contains nothing else");
        }
        results.sort_unstable();
        if open != results {
            return Err("each tool use must have exactly one result, in the next message");
        }
        asked_for.sort_unstable();
        open = asked_for;
    }
    if open.is_empty() { Ok(()) } else { Err("the last tool uses have no results") }
}

impl fmt::Debug for AnswerHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answers").field(&self.capabilities()).finish()
    }
}
