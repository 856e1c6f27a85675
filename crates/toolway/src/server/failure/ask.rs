//! Why is there no answer?

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use toolway_protocol::capability::ClientCapabilities;

use crate::ground::mistakes::BoxError;

/// Why a question has no answer. `?` passes it on, and each kind becomes what a caller should hear.
///
/// [`Unanswered`](AskErrorKind::Unanswered) is the one that is no failure: the question goes out and the function runs again
/// with the answer. It need not be told apart, because the question goes out whatever the function does with the error.
///
/// ```
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
    /// What the client would have to be able to.
    required: Option<ClientCapabilities>,
}

/// The kind of an [`AskError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AskErrorKind {
    /// The question goes out when this run of the function is over, and the function runs again.
    Unanswered,
    /// The user refused to answer.
    Declined,
    /// The user closed the question without a word.
    Cancelled,
    /// No answer came in time.
    TimedOut,
    /// The client cannot be asked that.
    Unsupported,
    /// The answer does not fit the question. The caller hears what is wrong with it.
    Invalid,
    /// The client answered with an error.
    Refused,
    /// Nothing can be asked in this place: only tools, prompts and resources that are being read may ask.
    NotHere,
    /// Two different questions of one function have the same key.
    SameKey,
    /// The function has asked in too many rounds.
    TooManyRounds,
    /// The question is longer than a message may be, or there is too much to remember between two rounds.
    TooLarge,
    /// Too many questions wait for their answers.
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

    /// What kind it is.
    pub fn kind(&self) -> AskErrorKind {
        self.0.kind
    }

    /// Whether the user refused to answer.
    pub fn is_declined(&self) -> bool {
        self.kind() == AskErrorKind::Declined
    }

    /// Whether the user closed the question without a word.
    pub fn is_cancelled(&self) -> bool {
        self.kind() == AskErrorKind::Cancelled
    }

    /// Whether no answer came in time.
    pub fn is_timeout(&self) -> bool {
        self.kind() == AskErrorKind::TimedOut
    }

    /// Whether the client cannot be asked that.
    pub fn is_unsupported(&self) -> bool {
        self.kind() == AskErrorKind::Unsupported
    }

    /// What the client would have to be capable of.
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

/// Why something that is done [once](crate::Ctx::once) has no result: it failed, or its result cannot be remembered.
#[derive(Debug)]
pub struct OnceError(BoxError);

impl OnceError {
    pub(crate) fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }

    /// What failed, in its own type.
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
