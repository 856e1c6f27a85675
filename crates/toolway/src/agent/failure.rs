//! Why did a call fail, and which text about it may the model read?

use std::error::Error as StdError;
use std::fmt;

use toolway_protocol::RpcError;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::{CallToolResult, Content};

use super::output;
use crate::ground::error::{Error, ErrorKind};

/// The failure of a call. The model reads the text of [`for_model`](ToolFailure::for_model) and continues. The other
/// methods are for the program.
///
/// `{}` prints the text for the model. The cause is available as `source()`. It may contain addresses, so it is never
/// part of the text for the model.
///
/// ```
/// use std::error::Error;
/// use toolway::agent::{FailureKind, ToolFailure};
///
/// let cause = std::io::Error::other("connection to 10.0.0.7 refused");
/// let failure = ToolFailure::unavailable("weather").caused_by(cause);
/// assert_eq!(failure.kind(), FailureKind::Unavailable);
/// assert_eq!(failure.for_model(), "the tool `weather` is unavailable right now; go on without it or try again later");
/// assert!(failure.source().is_some());
/// ```
pub struct ToolFailure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: FailureKind,
    /// The name of the tool, if it is known.
    tool: Option<String>,
    /// The part of the text for the model that is specific to this failure. May be empty.
    text: String,
    result: Option<CallToolResult>,
    rpc: Option<RpcError>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

/// The reason why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The tool ran and reported a failure. The text for the model is the tool's own text.
    Failed,
    /// The tool cannot be reached at the moment.
    Unavailable,
    /// The tool does not exist.
    Unknown,
    /// The server answered with a JSON-RPC error.
    Refused,
    /// The call timed out. The tool may have done its work nevertheless.
    TimedOut,
    /// The call was cancelled on purpose.
    Cancelled,
    /// The arguments are not valid for the tool.
    Invalid,
}

impl ToolFailure {
    /// Creates a failure that the tool itself reports. The model reads `text`.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, None, text)
    }

    /// Creates a failure of a tool that cannot be reached at the moment.
    pub fn unavailable(tool: impl Into<String>) -> Self {
        Self::new(FailureKind::Unavailable, Some(tool.into()), "")
    }

    /// Creates a failure for an unknown tool. `meant` is the name of a similar tool, if there is one.
    ///
    /// ```
    /// use toolway::agent::ToolFailure;
    ///
    /// assert_eq!(ToolFailure::unknown("ad", Some("add")).for_model(), "no such tool: `ad`, did you mean `add`?");
    /// assert_eq!(ToolFailure::unknown("ad", None).for_model(), "no such tool: `ad`");
    /// ```
    pub fn unknown(tool: &str, meant: Option<&str>) -> Self {
        let text = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
        Self::new(FailureKind::Unknown, Some(truncate_name(tool).to_owned()), text)
    }

    /// Creates a failure from a JSON-RPC error. The model reads the message of the error, because the server wrote it
    /// for its clients.
    pub fn refused(error: RpcError) -> Self {
        let mut refused = Self::new(FailureKind::Refused, None, error.to_string());
        refused.0.rpc = Some(error);
        refused
    }

    /// Creates a failure of a call that timed out.
    pub fn timed_out(tool: impl Into<String>) -> Self {
        Self::new(FailureKind::TimedOut, Some(tool.into()), "")
    }

    /// Creates a failure of a call that was cancelled on purpose.
    pub fn cancelled(tool: impl Into<String>) -> Self {
        Self::new(FailureKind::Cancelled, Some(tool.into()), "")
    }

    /// Creates a failure for invalid arguments. `text` tells the model what is wrong with them.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Invalid, None, text)
    }

    /// Creates a failure from a result in which the tool reported an error. The failure keeps the result.
    pub(super) fn from_result(result: CallToolResult) -> Self {
        let mut failed = Self::failed(output::text(&result));
        failed.0.result = Some(result);
        failed
    }

    /// Creates a failure of a tool that panicked. The model does not see the panic message.
    pub(super) fn panicked(tool: &str, panic: crate::ground::panic::Panic) -> Self {
        Self::failed(format!("the tool `{tool}` failed unexpectedly")).caused_by(panic)
    }

    fn new(kind: FailureKind, tool: Option<String>, text: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, tool, text: text.into(), result: None, rpc: None, cause: None }))
    }

    /// Adds the cause, which the model does not see.
    pub fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Sets the name of the tool, unless it is already known.
    pub fn of_tool(mut self, tool: &str) -> Self {
        self.0.tool.get_or_insert_with(|| tool.to_owned());
        self
    }

    /// Returns the reason of the failure.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// Returns the code of the JSON-RPC error, if the server answered with one.
    pub fn code(&self) -> Option<Code> {
        self.rpc().map(|error| error.code)
    }

    /// Returns the JSON-RPC error, if the server answered with one.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.rpc.as_ref()
    }

    /// Returns the content blocks in which the tool reported the failure; empty if the tool did not report it.
    pub fn content(&self) -> &[Content] {
        self.result().map(|result| &*result.content).unwrap_or_default()
    }

    /// Returns the result in which the tool reported the failure; `None` if the tool did not report it.
    pub fn result(&self) -> Option<&CallToolResult> {
        self.0.result.as_ref()
    }

    /// Returns the text for the model: what happened and what the model can do about it, without the cause.
    pub fn for_model(&self) -> String {
        self.to_string()
    }
}

/// Prints the text for the model.
impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, tool, text, .. } = &*self.0;
        let subject = match tool {
            Some(tool) => format!("the tool `{tool}`"),
            None => "the tool".to_owned(),
        };
        match kind {
            FailureKind::Failed if text.is_empty() => write!(f, "{subject} failed and did not say why"),
            FailureKind::Failed | FailureKind::Invalid => f.write_str(text),
            FailureKind::Unavailable if text.is_empty() => {
                write!(f, "{subject} is unavailable right now; go on without it or try again later")
            }
            FailureKind::Unavailable => {
                write!(
                    f,
                    "{subject} became unavailable during the call and {text}; go on without it or check its effect \
                     first"
                )
            }
            FailureKind::Unknown => {
                write!(f, "no such tool: `{}`{text}", tool.as_deref().unwrap_or_default())
            }
            FailureKind::Refused => write!(f, "the call of {subject} was refused: {text}"),
            FailureKind::TimedOut => {
                write!(f, "{subject} did not answer in time; it may still have done its work")
            }
            FailureKind::Cancelled => write!(f, "the call of {subject} was cancelled"),
        }
    }
}

/// Prints the text for the model, and each cause on a line of its own.
impl fmt::Debug for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.debug_tuple("ToolFailure").field(&self.0).finish();
        }
        write!(f, "{self}")?;
        let mut source = self.source();
        while let Some(error) = source {
            write!(f, "\ncaused by: {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for ToolFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_ref().map(|cause| &**cause as _)
    }
}

/// Creates a [`FailureKind::Failed`]. The model reads the text.
impl From<&str> for ToolFailure {
    fn from(text: &str) -> Self {
        Self::failed(text)
    }
}

/// Creates a [`FailureKind::Failed`]. The model reads the text.
impl From<String> for ToolFailure {
    fn from(text: String) -> Self {
        Self::failed(text)
    }
}

/// Creates a [`FailureKind::Refused`].
impl From<RpcError> for ToolFailure {
    fn from(error: RpcError) -> Self {
        Self::refused(error)
    }
}

/// Converts the error of a request to a failure. The model sees only text that the server wrote for its clients. The
/// error itself becomes the cause.
///
/// ```
/// use toolway::agent::{FailureKind, ToolFailure};
/// use toolway::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Transport, "failed to connect to http://10.0.0.7/mcp");
/// let failure = ToolFailure::from(error).of_tool("weather");
/// assert_eq!(failure.kind(), FailureKind::Unavailable);
/// assert!(!failure.for_model().contains("10.0.0.7"));
/// ```
impl From<Error> for ToolFailure {
    fn from(error: Error) -> Self {
        let failure = match (error.kind(), error.rpc()) {
            (_, Some(rpc)) => Self::refused(rpc.clone()),
            // The text of the error names the limit and perhaps a URL, which do not help a model: it can only send or
            // request less.
            (ErrorKind::TooLarge, None) => {
                Self::failed("the arguments or the result are too long: send less, or ask for less")
            }
            (ErrorKind::ToolFailed, None) => Self::failed(error.to_string()),
            (ErrorKind::Timeout, None) => Self::new(FailureKind::TimedOut, None, ""),
            // A client that was closed is unavailable, not cancelled.
            (ErrorKind::Cancelled, None) if !error.is_session_ended() => {
                Self::new(FailureKind::Cancelled, None, "")
            }
            _ if error.is_reply_lost() => {
                Self::new(FailureKind::Unavailable, None, "may still have done its work")
            }
            // For a model, a server that violates the protocol or refuses the client is also unavailable.
            _ => Self::new(FailureKind::Unavailable, None, ""),
        };
        failure.caused_by(error)
    }
}

/// Cuts a name that a model wrote to a maximum length, because the model may write any text.
pub(super) fn truncate_name(name: &str) -> &str {
    name.char_indices().nth(MAX_NAME).map_or(name, |(end, _)| &name[..end])
}

/// The maximum number of characters of an unknown name in a text for the model.
const MAX_NAME: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_text_for_the_model() {
        let refused = || ToolFailure::refused(RpcError::invalid_params("`a` is missing"));
        for (failure, kind, text) in [
            (ToolFailure::failed("no"), FailureKind::Failed, "no"),
            (ToolFailure::failed(""), FailureKind::Failed, "the tool failed and did not say why"),
            (
                ToolFailure::failed("").of_tool("x"),
                FailureKind::Failed,
                "the tool `x` failed and did not say why",
            ),
            (
                ToolFailure::unavailable("x").of_tool("y"),
                FailureKind::Unavailable,
                "the tool `x` is unavailable right now; go on without it or try again later",
            ),
            (refused(), FailureKind::Refused, "the call of the tool was refused: `a` is missing (-32602)"),
            (
                refused().of_tool("x"),
                FailureKind::Refused,
                "the call of the tool `x` was refused: `a` is missing (-32602)",
            ),
            (
                ToolFailure::timed_out("x"),
                FailureKind::TimedOut,
                "the tool `x` did not answer in time; it may still have done its work",
            ),
            (ToolFailure::cancelled("x"), FailureKind::Cancelled, "the call of the tool `x` was cancelled"),
            (ToolFailure::invalid("not JSON"), FailureKind::Invalid, "not JSON"),
        ] {
            assert_eq!((failure.kind(), &*failure.for_model()), (kind, text));
        }
        let long = ToolFailure::unknown(&"é".repeat(100_000), None).for_model();
        assert!(long.len() < 500, "a model may write anything");
    }

    #[test]
    fn errors_of_a_client_become_failures_that_hide_their_text() {
        for (kind, expected) in [
            (ErrorKind::Transport, FailureKind::Unavailable),
            (ErrorKind::PeerMisbehaved, FailureKind::Unavailable),
            (ErrorKind::PeerIncompatible, FailureKind::Unavailable),
            (ErrorKind::NotAdmitted, FailureKind::Unavailable),
            (ErrorKind::Application, FailureKind::Unavailable),
            (ErrorKind::TooLarge, FailureKind::Failed),
            (ErrorKind::Timeout, FailureKind::TimedOut),
            (ErrorKind::Cancelled, FailureKind::Cancelled),
        ] {
            let failure = ToolFailure::from(Error::new(kind, "http://secret@host")).of_tool("x");
            assert_eq!(failure.kind(), expected);
            assert!(!failure.for_model().contains("secret"), "{failure}");
            assert_eq!(failure.source().unwrap().to_string(), "http://secret@host");
        }
        // The tool may have done its work, so the text must not suggest a retry.
        let broken = Error::new(ErrorKind::Transport, "http://secret@host").reply_lost();
        let broken = ToolFailure::from(broken).of_tool("x");
        assert_eq!(broken.kind(), FailureKind::Unavailable);
        assert_eq!(
            broken.for_model(),
            "the tool `x` became unavailable during the call and may still have done its work; go on without it or \
             check its effect first"
        );
        let refused = ToolFailure::from(Error::from(RpcError::invalid_params("no such tool: `x`")));
        assert_eq!((refused.kind(), refused.code()), (FailureKind::Refused, Some(Code::INVALID_PARAMS)));
        let failed = ToolFailure::from(Error::new(ErrorKind::ToolFailed, "division by zero"));
        assert_eq!((failed.kind(), &*failed.for_model()), (FailureKind::Failed, "division by zero"));
    }
}
