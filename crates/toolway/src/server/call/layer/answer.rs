//! What comes back through the layers? An answer, or why there is none.

use std::error::Error as StdError;
use std::fmt;

use toolway_protocol::jsonrpc::Code;
use toolway_protocol::request::{Outcome, Reply};
use toolway_protocol::types::{
    CacheHints, CallToolResult, CompleteResult, GetPromptResult, ReadResourceResult,
};
use toolway_protocol::{RawJson, RpcError};

use crate::ground::mistakes::BoxError;
use crate::server::call::replay::Past;
use crate::server::failure::errors::Failure;

/// The answer to a call, on its way back through the [layers](crate::server::Service).
///
/// A layer that answers itself makes one of a result. It must be one of the kind that was asked for, else the peer gets an
/// error:
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Answer, Kind, layer_fn};
/// use toolway::testing::connect;
/// use toolway::types::CallToolResult;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let closed = layer_fn(|call, next| async move {
///     match call.tool() {
///         Some("order") => Ok(Answer::from(CallToolResult::error("the kitchen is closed"))),
///         _ => next.run(call).await,
///     }
/// });
/// let order = ToolEntry::from_fn("order", || async { "ordered" });
/// let server = Server::new("diner", "1.0.0").tool(order).layer_for(Kind::Tool, closed).build()?;
/// let result = connect(&server).await.call("order", serde_json::json!({})).await?;
/// assert!(result.is_error());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Answer {
    pub(crate) outcome: Outcome,
    /// How long it may be kept, if the handler said so.
    pub(crate) cache: Option<CacheHints>,
    /// What the next round has to know, if the call ended in questions.
    pub(crate) past: Option<Box<Past>>,
}

impl Answer {
    pub(crate) fn complete(reply: Reply) -> Self {
        Self { outcome: Outcome::Complete(reply), cache: None, past: None }
    }

    /// Whether this is the result of a tool that failed.
    pub fn is_error(&self) -> bool {
        self.as_tool().is_some_and(CallToolResult::is_error)
    }

    /// Whether the peer is to be asked something before there is an answer.
    pub fn is_question(&self) -> bool {
        !matches!(self.outcome, Outcome::Complete(_))
    }

    /// What a tool gave back.
    pub fn as_tool(&self) -> Option<&CallToolResult> {
        if let Reply::ToolCalled(result) = self.reply()? { Some(result) } else { None }
    }

    /// What a tool gave back, to change it.
    pub fn as_tool_mut(&mut self) -> Option<&mut CallToolResult> {
        if let Outcome::Complete(Reply::ToolCalled(result)) = &mut self.outcome { Some(result) } else { None }
    }

    /// What is in a resource.
    pub fn as_resource(&self) -> Option<&ReadResourceResult> {
        if let Reply::ResourceRead(result) = self.reply()? { Some(result) } else { None }
    }

    /// A prompt that was filled in.
    pub fn as_prompt(&self) -> Option<&GetPromptResult> {
        if let Reply::PromptFilled(result) = self.reply()? { Some(result) } else { None }
    }

    /// How an argument might go on.
    pub fn as_completion(&self) -> Option<&CompleteResult> {
        if let Reply::Completed(result) = self.reply()? { Some(result) } else { None }
    }

    /// What a method outside the protocol gave back.
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
        impl From<$result> for Answer {
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

/// Why a call has no answer.
///
/// An [`RpcError`] becomes one with `?` or `into()` and is sent as it is. So does every other error, and is kept from the peer:
/// it gets a reference, the log and [`on_error`](crate::server::ServerBuilder::on_error) get the cause.
///
/// ```
/// use toolway::server::CallError;
/// use toolway::{Code, RpcError};
///
/// let told = CallError::from(RpcError::invalid_request("members only"));
/// assert_eq!((told.code(), told.to_string()), (Code::INVALID_REQUEST, "members only".to_owned()));
/// let kept = CallError::from(std::io::Error::other("the disk is full"));
/// assert_eq!(kept.code(), Code::INTERNAL_ERROR);
/// ```
pub struct CallError(Failure);

impl CallError {
    /// An error whose cause the peer does not see. `?` does the same for every `std` error; this is for those that are none,
    /// such as `anyhow::Error`.
    pub fn hidden(cause: impl Into<BoxError>) -> Self {
        Self(match Failure::unbox(cause.into()) {
            Failure::Visible(text) => RpcError::internal(text).into(),
            Failure::NotFound => RpcError::internal("no such resource").into(),
            failure => failure,
        })
    }

    /// The code that the peer gets. For a resource that does not exist older revisions have another one, and what a client
    /// cannot be asked they tell as the result of a tool.
    pub fn code(&self) -> Code {
        match &self.0 {
            Failure::Rpc(error) => error.code,
            Failure::NoSuchResource(_) => Code::INVALID_PARAMS,
            Failure::Lacks(..) => Code::MISSING_CAPABILITY,
            Failure::Visible(_) | Failure::Hidden(_) | Failure::NotFound | Failure::Unanswered => {
                Code::INTERNAL_ERROR
            }
        }
    }

    pub(crate) fn told(failure: Failure) -> Self {
        Self(failure)
    }

    pub(crate) fn into_failure(self) -> Failure {
        self.0
    }
}

/// The type itself is no `std::error::Error`: that is what lets every other error convert.
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

/// With the cause, whatever the peer is told.
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
