//! Which statistics does a finished call produce?

use std::borrow::Cow;
use std::time::Duration;

use crate::server::call::scope::Scope;
use crate::server::handler::function::ErasedHandler;
use crate::server::handler::parameter::{Missing, Parameter};

/// The statistics of a finished call, as a parameter of the
/// [`on_request_end`](crate::server::ServerBuilder::on_request_end) handler.
///
/// All names in these statistics are safe as labels of a metric: they come from the server, never from the peer, so
/// their number is limited.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestStats {
    /// The method: a method of the protocol, or one that the server defines. Any other method is reported as `unknown`.
    pub method: Cow<'static, str>,
    /// The tool that was called, if it exists.
    pub tool: Option<String>,
    /// The prompt that was requested or completed, if it exists.
    pub prompt: Option<String>,
    /// The resource that was read or completed, if it is registered: its URI, or its template as it was registered,
    /// without the values of this call.
    pub uri: Option<String>,
    /// The kind of error; `None` if the call succeeded.
    ///
    /// | code | meaning |
    /// |---|---|
    /// | `tool_not_found`, `prompt_not_found`, `resource_not_found`, `method_not_found` | the target does not exist |
    /// | `invalid_params` | the parameters are invalid, such as an unknown argument of a prompt |
    /// | `invalid_request` | an error with this code, such as a refusal by a layer |
    /// | `missing_capability` | the client lacks a capability that the call needs |
    /// | `tool_error` | the tool failed with a text for the model, or its arguments do not fit the schema |
    /// | `internal_error` | an error that was not meant for the peer, a panic, or an error with this code |
    /// | `cancelled` | the call was cancelled, or its client disconnected |
    /// | `error` | an error with any other code |
    pub error: Option<&'static str>,
    /// How long the call took, including its layers.
    pub duration: Duration,
    /// How often the handler ran: more than once if it asked the user, 0 if the call did not reach a handler.
    pub rounds: u32,
}

impl Parameter for RequestStats {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

/// The handler of `on_request_end`.
pub(crate) type RequestEndHook = ErasedHandler<RequestStats, ()>;
