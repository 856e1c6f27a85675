//! Why does a question have no answer?

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use toolway_protocol::capability::ClientCapabilities;

use crate::ground::mistakes::BoxError;

/// The reason why a question has no answer. `?` passes it on, and each kind becomes a suitable error for the caller.
///
/// [`Unanswered`](AskErrorKind::Unanswered) is not a failure: the question is sent, and the function runs again with
/// the answer. A function need not handle this kind separately, because the question is sent whatever the function does
/// with the error.
///
/// ```
/// use toolway::Form;
/// use toolway::prelude::*;
///
/// #[derive(Form)]
/// struct Address {
///     street: String,
/// }
///
/// /// Send a letter.
/// #[tool]
/// async fn send(ctx: Ctx) -> Result<String, ToolError> {
///     let address: Address = match ctx.ask("Where to?").await {
///         Err(error) if error.is_declined() => return Ok("then not".to_owned()),
///         answer => answer?,
///     };
///     Ok(format!("sent to {}", address.street))
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AskError(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    kind: AskErrorKind,
    text: Cow<'static, str>,
    /// The capabilities that the client lacks.
    required: Option<ClientCapabilities>,
}

/// The kind of an [`AskError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AskErrorKind {
    /// The question is sent when this run of the function ends; then the function runs again.
    Unanswered,
    /// The user declined to answer.
    Declined,
    /// The user closed the question without an answer.
    Cancelled,
    /// No answer came in time.
    TimedOut,
    /// The client does not support this kind of question.
    Unsupported,
    /// The answer does not match the question. The caller gets the reason.
    Invalid,
    /// The client answered with an error.
    Refused,
    /// A question cannot be asked here: only tools, prompts and reads of resources can ask.
    NotAllowed,
    /// Two different questions of one call have the same key, or a key is empty or too long.
    InvalidKey,
    /// The result of an effect cannot be written as JSON, or the remembered result has another type: two effects of one
    /// call have the same key, or the program changed while the client was asked.
    InvalidResult,
    /// The function asked in too many runs. The limit is 10; questions that are asked together count as one.
    TooManyRounds,
    /// The question exceeds the maximum size of a message, or the answers and results that the call has to remember are
    /// too large.
    TooLarge,
    /// Too many questions are waiting for answers.
    Busy,
    /// The call is over.
    Ended,
}

impl AskError {
    pub(crate) fn new(kind: AskErrorKind, text: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { kind, text: text.into(), required: None }))
    }

    pub(crate) fn unsupported(required: ClientCapabilities, text: impl Into<Cow<'static, str>>) -> Self {
        let (kind, text) = (AskErrorKind::Unsupported, text.into());
        Self(Box::new(Inner { kind, text, required: Some(required) }))
    }

    /// The kind of the error.
    pub fn kind(&self) -> AskErrorKind {
        self.0.kind
    }

    /// Returns whether the user declined to answer.
    pub fn is_declined(&self) -> bool {
        self.kind() == AskErrorKind::Declined
    }

    /// Returns whether the user closed the question without an answer.
    pub fn is_cancelled(&self) -> bool {
        self.kind() == AskErrorKind::Cancelled
    }

    /// Returns whether no answer came in time.
    pub fn is_timeout(&self) -> bool {
        self.kind() == AskErrorKind::TimedOut
    }

    /// Returns whether the client does not support this kind of question.
    pub fn is_unsupported(&self) -> bool {
        self.kind() == AskErrorKind::Unsupported
    }

    /// Returns the capabilities that the client lacks.
    pub(crate) fn into_required(self) -> ClientCapabilities {
        self.0.required.unwrap_or_default()
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl StdError for AskError {}

/// The reason why [`once`](crate::Ctx::once) has no result: the effect failed, or its result cannot be remembered.
#[derive(Debug)]
pub struct OnceError(BoxError);

impl OnceError {
    pub(crate) fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }

    /// Returns the original error.
    pub fn into_inner(self) -> BoxError {
        self.0
    }
}

impl fmt::Display for OnceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for OnceError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
