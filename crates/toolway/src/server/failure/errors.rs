//! Failures of handlers: what may the client read, and what goes only to the log?
//!
//! Every kind of handler has its own error type. The text given to its `new` is for the client. Any other error that is
//! converted by `?` is hidden: the client gets a reference, and the log gets the cause.

use std::error::Error as StdError;
use std::fmt;

use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::{Method, RpcError};

use crate::ground::error::Chain;
use crate::ground::mistakes::BoxError;
use crate::ground::panic::Panic;
use crate::server::failure::ask::{AskError, AskErrorKind, OnceError};

/// An error that a handler may return: every type that converts into a [`BoxError`]. `Own` is the error type of this
/// kind of handler, whose text the client reads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that a handler can return",
    label = "return `{Own}`, or implement `std::error::Error` for `{Self}`",
    note = "the caller reads the text of `{Own}::new(…)`; any other error is hidden from the caller and goes to the log"
)]
pub trait IntoFailure<Own> {
    /// Boxes the error.
    fn into_box(self) -> BoxError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>, Own> IntoFailure<Own> for E {
    fn into_box(self) -> BoxError {
        self.into()
    }
}

/// Decides what a client is told about an error that was not written for it.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::ErrorPolicy;
/// use toolway::testing::connect;
///
/// /// Read the message of the day.
/// #[tool]
/// fn motd() -> Result<String, ToolError> {
///     Ok(std::fs::read_to_string("/no/such/file")?)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// for (policy, shows_cause) in [(ErrorPolicy::Hidden, false), (ErrorPolicy::Verbose, true)] {
///     let server = Server::new("app", "1.0.0").tools(tools![motd]).errors(policy).build()?;
///     let result = connect(&server).await.call("motd", serde_json::json!({})).await?;
///     assert!(result.is_error());
///     assert_eq!(result.first_text().unwrap().contains("No such file"), shows_cause);
/// }
/// let server = Server::new("app", "1.0.0").tools(tools![motd]).errors(ErrorPolicy::Rpc).build()?;
/// let error = connect(&server).await.call("motd", serde_json::json!({})).await.unwrap_err();
/// assert_eq!(error.code(), Some(toolway::Code::INTERNAL_ERROR));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ErrorPolicy {
    /// A generic text with a reference; the log has the cause under the same reference. The failure of a tool is a
    /// result that the model reads.
    #[default]
    Hidden,
    /// The same text as with `Hidden`, but always as a JSON-RPC error, even for tools.
    Rpc,
    /// The cause with all its details. For development.
    Verbose,
}

/// The reason why a call has no result. The same type is used from the handler to the transport.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A text for the caller.
    Visible(String),
    /// A cause for the log; the caller gets a reference.
    Hidden(BoxError),
    /// An error of the protocol, sent as it is.
    Rpc(RpcError),
    /// The handler reports that the resource does not exist.
    NotFound,
    /// The server has no resource with this URI. The error code depends on the protocol revision.
    NoSuchResource(String),
    /// The client does not support a question that the handler needs to ask.
    MissingCapabilities(Box<ClientCapabilities>, String),
    /// A question is waiting for its answer. This takes precedence over the handler's return value.
    Unanswered,
}

impl Failure {
    /// Recovers the failure from a box. A [`Failure`], an [`AskError`], a [`OnceError`] and an [`RpcError`] are
    /// recognized; any other error becomes hidden.
    pub(crate) fn unbox(error: BoxError) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(failure) => return *failure,
            Err(error) => error,
        };
        let error = match error.downcast::<AskError>() {
            Ok(error) => return (*error).into(),
            Err(error) => error,
        };
        let error = match error.downcast::<OnceError>() {
            Ok(error) => return Self::unbox(error.into_inner()),
            Err(error) => error,
        };
        match error.downcast::<RpcError>() {
            Ok(error) => Self::Rpc(*error),
            Err(error) => Self::Hidden(error),
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match error.kind() {
            AskErrorKind::NotAllowed | AskErrorKind::InvalidKey | AskErrorKind::InvalidResult => {
                Self::Hidden(Box::new(error))
            }
            AskErrorKind::Invalid => Self::Rpc(RpcError::invalid_params(error.to_string())),
            AskErrorKind::Busy => Self::Rpc(busy("too many questions wait for answers")),
            AskErrorKind::Unsupported => {
                let text = error.to_string();
                Self::MissingCapabilities(Box::new(error.into_required()), text)
            }
            AskErrorKind::Unanswered
            | AskErrorKind::Declined
            | AskErrorKind::Cancelled
            | AskErrorKind::TimedOut
            | AskErrorKind::Refused
            | AskErrorKind::TooManyRounds
            | AskErrorKind::TooLarge
            | AskErrorKind::Ended => Self::Visible(error.to_string()),
        }
    }
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

/// Hides the cause of a panic from the caller: the cause goes only to the log.
impl From<Panic> for Failure {
    fn from(panic: Panic) -> Self {
        Self::Hidden(Box::new(panic))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visible(text) | Self::MissingCapabilities(_, text) => f.write_str(text),
            Self::Hidden(cause) => Chain(&**cause).fmt(f),
            Self::Rpc(error) => f.write_str(&error.message),
            Self::NotFound | Self::NoSuchResource(_) => f.write_str("no such resource"),
            Self::Unanswered => f.write_str("a question has no answer yet"),
        }
    }
}

impl StdError for Failure {}

macro_rules! failures {
    ($($(#[$meta:meta])* $name:ident),*) => {$(
        $(#[$meta])*
        pub struct $name(pub(crate) Failure);

        impl $name {
            /// Returns a failure whose text the client reads.
            pub fn new(text: impl Into<String>) -> Self {
                Self(Failure::Visible(text.into()))
            }

            /// Returns a failure whose cause is hidden from the client. `?` does the same for every `std` error; use
            /// this for error types that do not implement `std::error::Error`, such as `anyhow::Error`.
            pub fn hidden(cause: impl Into<BoxError>) -> Self {
                Self(Failure::unbox(cause.into()))
            }
        }

        /// Converts every `std` error. This is possible because this type does not implement `std::error::Error`.
        impl<E: StdError + Send + Sync + 'static> From<E> for $name {
            fn from(error: E) -> Self {
                Self(Failure::unbox(Box::new(error)))
            }
        }

        impl From<$name> for BoxError {
            fn from(error: $name) -> Self {
                Box::new(error.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.0).finish()
            }
        }
    )*};
}
failures! {
    /// The failure of a tool call.
    ///
    /// The text of [`ToolError::new`] is for the model, so that the model can correct itself. Any other error that is
    /// converted by `?` is hidden: the model gets a reference, and the log gets the cause. [`ErrorPolicy`] can change
    /// this. An [`RpcError`] is sent unchanged as a JSON-RPC error.
    ///
    /// ```
    /// use toolway::ToolError;
    ///
    /// fn divide(a: f64, b: f64) -> Result<f64, ToolError> {
    ///     if b == 0.0 {
    ///         return Err(ToolError::new("division by zero: choose another `b`"));
    ///     }
    ///     Ok(a / b)
    /// }
    ///
    /// fn read() -> Result<String, ToolError> {
    ///     Ok(std::fs::read_to_string("/etc/secret")?) // the model does not see why this failed
    /// }
    /// ```
    ToolError,
    /// The failure to read a resource. It becomes a JSON-RPC error, with the text given to [`ResourceError::new`], or
    /// with a reference if it was converted by `?`.
    ///
    /// ```
    /// use toolway::server::ResourceError;
    ///
    /// fn read(id: u64) -> Result<String, ResourceError> {
    ///     match id {
    ///         0 => Err(ResourceError::not_found()),
    ///         1 => Err(ResourceError::new("note 1 is locked")),
    ///         _ => Ok(std::fs::read_to_string(format!("/srv/notes/{id}"))?),
    ///     }
    /// }
    /// ```
    ResourceError,
    /// The failure to fill in a prompt. It becomes a JSON-RPC error, with the text given to [`PromptError::new`], or
    /// with a reference if it was converted by `?`.
    ///
    /// ```
    /// use toolway::server::PromptError;
    ///
    /// fn review(language: &str) -> Result<String, PromptError> {
    ///     if language == "brainfuck" {
    ///         return Err(PromptError::new("that cannot be reviewed"));
    ///     }
    ///     Ok(format!("Review this {language} code."))
    /// }
    /// ```
    PromptError
}

impl ResourceError {
    /// The resource does not exist. The error code that the client gets depends on the protocol revision.
    pub fn not_found() -> Self {
        Self(Failure::NotFound)
    }
}

/// The failure to read a resource becomes the failure of the tool that needed it. A hidden cause stays hidden.
impl From<ResourceError> for ToolError {
    fn from(error: ResourceError) -> Self {
        match error.0 {
            Failure::NotFound => Self::new("no such resource"),
            face => Self(face),
        }
    }
}

/// The failure to read a resource becomes the failure of the prompt that needed it. A hidden cause stays hidden.
impl From<ResourceError> for PromptError {
    fn from(error: ResourceError) -> Self {
        match error.0 {
            Failure::NotFound => Self::new("no such resource"),
            face => Self(face),
        }
    }
}

/// Returns an error that asks the client to retry after a second.
pub(crate) fn busy(text: &'static str) -> RpcError {
    RpcError::internal(text).with_data(serde_json::json!({"retryAfterMs": 1000}))
}

/// The element that failed, for the log and for the client: "the tool `add`".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'s> {
    /// The requested method.
    pub(crate) method: &'s str,
    pub(crate) kind: &'static str,
    pub(crate) name: &'s str,
}

impl<'s> Subject<'s> {
    pub(crate) fn new(method: &'s Method, kind: &'static str, name: &'s str) -> Self {
        Self { method: method.name(), kind, name }
    }

    /// Cuts the name to a bounded length: a URI may be as long as a message.
    pub(crate) fn truncated(self) -> Self {
        let end = self.name.char_indices().nth(MAX_NAME).map_or(self.name.len(), |(end, _)| end);
        Self { name: &self.name[..end], ..self }
    }
}

/// The number of characters of a name that are shown.
const MAX_NAME: usize = 200;

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} `{}`", self.kind, self.name)
    }
}

impl ErrorPolicy {
    /// Returns the text that the client reads for an error that was not written for it.
    pub(crate) fn client_text(self, subject: Subject<'_>, cause: &str, reference: &str) -> String {
        let subject = subject.truncated();
        match self {
            Self::Verbose => format!("{subject} failed: {cause}"),
            Self::Hidden | Self::Rpc => {
                format!(
                    "{subject} failed; the server's operator can find the cause under reference {reference}"
                )
            }
        }
    }
}
