//! What is returned through the layers? An answer, or the reason why there is none.

use std::error::Error as StdError;
use std::fmt;

use toolway_protocol::jsonrpc::Code;
use toolway_protocol::request::{Outcome, Reply};
use toolway_protocol::types::{
    CacheHints, CallToolResult, CompleteResult, GetPromptResult, ReadResourceResult,
};
use toolway_protocol::{RawJson, RpcError};

use crate::ground::mistakes::BoxError;
use crate::server::call::replay::ReplayState;
use crate::server::failure::errors::Failure;

/// The answer to a call, as it is returned through the [layers](crate::server::layer::Service).
///
/// A layer can answer a call itself by converting a result. The result must be of the requested kind, otherwise the
/// client gets an error:
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::ToolEntry;
/// use toolway::server::layer::{CallKind, CallReply, layer_fn};
/// use toolway::testing::connect;
/// use toolway::types::CallToolResult;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let closed = layer_fn(|call, next| async move {
///     match call.tool() {
///         Some("order") => Ok(CallReply::from(CallToolResult::error("the kitchen is closed"))),
///         _ => next.run(call).await,
///     }
/// });
/// let order = ToolEntry::from_fn("order", || async { "ordered" });
/// let server = Server::new("diner", "1.0.0").tool(order).layer_for(CallKind::Tool, closed).build()?;
/// let result = connect(&server).await.call("order", serde_json::json!({})).await?;
/// assert!(result.is_error());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CallReply {
    pub(crate) outcome: Outcome,
    /// The cache hints, if the handler set them.
    pub(crate) cache: Option<CacheHints>,
    /// The state for the next run of the handler, if the call ended with questions.
    pub(crate) replay: Option<Box<ReplayState>>,
}

impl CallReply {
    pub(crate) fn complete(reply: Reply) -> Self {
        Self { outcome: Outcome::Complete(reply), cache: None, replay: None }
    }

    /// Returns whether this is the result of a tool that failed.
    pub fn is_error(&self) -> bool {
        self.as_tool().is_some_and(CallToolResult::is_error)
    }

    /// Returns whether the call ended with questions to the client.
    pub fn is_question(&self) -> bool {
        !matches!(self.outcome, Outcome::Complete(_))
    }

    /// Returns the result of a tool.
    pub fn as_tool(&self) -> Option<&CallToolResult> {
        if let Reply::ToolCalled(result) = self.reply()? { Some(result) } else { None }
    }

    /// Returns the result of a tool, to change it.
    pub fn as_tool_mut(&mut self) -> Option<&mut CallToolResult> {
        if let Outcome::Complete(Reply::ToolCalled(result)) = &mut self.outcome { Some(result) } else { None }
    }

    /// Returns the contents of a resource.
    pub fn as_resource(&self) -> Option<&ReadResourceResult> {
        if let Reply::ResourceRead(result) = self.reply()? { Some(result) } else { None }
    }

    /// Returns a filled-in prompt.
    pub fn as_prompt(&self) -> Option<&GetPromptResult> {
        if let Reply::PromptFilled(result) = self.reply()? { Some(result) } else { None }
    }

    /// Returns the completions of an argument.
    pub fn as_completion(&self) -> Option<&CompleteResult> {
        if let Reply::Completed(result) = self.reply()? { Some(result) } else { None }
    }

    /// Returns the result of a custom method.
    pub fn as_custom(&self) -> Option<&RawJson> {
        if let Reply::Custom(result) = self.reply()? { Some(result) } else { None }
    }

    fn reply(&self) -> Option<&Reply> {
        match &self.outcome {
            Outcome::Complete(reply) => Some(reply),
            Outcome::NeedInput(_) => None,
        }
    }
}

macro_rules! answers {
    ($($result:ty => $reply:ident),*) => {$(
        impl From<$result> for CallReply {
            fn from(result: $result) -> Self {
                Self::complete(Reply::$reply(result))
            }
        }
    )*};
}
answers! {
    CallToolResult => ToolCalled,
    ReadResourceResult => ResourceRead,
    GetPromptResult => PromptFilled,
    CompleteResult => Completed,
    RawJson => Custom
}

/// The reason why a call has no answer.
///
/// An [`RpcError`] converts with `?` or `into()` and is sent unchanged. Every other error converts too, but is hidden
/// from the client: the client gets only a reference, while the log and
/// [`on_error`](crate::server::ServerBuilder::on_error) get the cause.
///
/// ```
/// use toolway::server::layer::CallError;
/// use toolway::{Code, RpcError};
///
/// let told = CallError::from(RpcError::invalid_request("members only"));
/// assert_eq!((told.code(), told.to_string()), (Code::INVALID_REQUEST, "members only".to_owned()));
/// let kept = CallError::from(std::io::Error::other("the disk is full"));
/// assert_eq!(kept.code(), Code::INTERNAL_ERROR);
/// ```
pub struct CallError(Failure);

impl CallError {
    /// Returns an error whose cause is hidden from the client. `?` does the same for every `std` error; use this for
    /// error types that do not implement `std::error::Error`, such as `anyhow::Error`.
    pub fn hidden(cause: impl Into<BoxError>) -> Self {
        Self(match Failure::unbox(cause.into()) {
            Failure::Visible(text) => RpcError::internal(text).into(),
            Failure::NotFound => RpcError::internal("no such resource").into(),
            failure => failure,
        })
    }

    /// Returns the error code that the client gets. In older revisions the code for a resource that does not exist
    /// differs, and an unsupported question is reported as the result of a tool.
    pub fn code(&self) -> Code {
        match &self.0 {
            Failure::Rpc(error) => error.code,
            Failure::NoSuchResource(_) => Code::INVALID_PARAMS,
            Failure::MissingCapabilities(..) => Code::MISSING_CAPABILITY,
            Failure::Visible(_) | Failure::Hidden(_) | Failure::NotFound | Failure::Unanswered => {
                Code::INTERNAL_ERROR
            }
        }
    }

    pub(crate) fn from_failure(failure: Failure) -> Self {
        Self(failure)
    }

    pub(crate) fn into_failure(self) -> Failure {
        self.0
    }
}

/// Converts every `std` error. This is possible because `CallError` does not implement `std::error::Error`.
impl<E: StdError + Send + Sync + 'static> From<E> for CallError {
    fn from(error: E) -> Self {
        Self::hidden(error)
    }
}

impl From<CallError> for BoxError {
    fn from(error: CallError) -> Self {
        Box::new(error.0)
    }
}

/// Shows the cause, even if the client does not get it.
impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallError({self})")
    }
}
