//! What is told of a call that is over?

use std::borrow::Cow;
use std::time::Duration;

use crate::server::call::scope::Scope;
use crate::server::handler::function::Erased;
use crate::server::handler::parameter::{Missing, Parameter};

/// What became of a call, as a parameter of the handler of [`on_request_end`](crate::server::ServerBuilder::on_request_end).
///
/// Everything in it may be the label of a metric: there are only as many values as the server has names. Nothing that a peer
/// makes up gets here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestStats {
    /// The method: one of the protocol, or one that the server was given. Any other one is `unknown`.
    pub method: Cow<'static, str>,
    /// The tool that was called, if there is one of this name.
    pub tool: Option<String>,
    /// The prompt that was filled in or completed, if there is one of this name.
    pub prompt: Option<String>,
    /// The resource that was read or completed, if one is registered: its URI, or the template of its family as it was
    /// registered, without the values of this call.
    pub uri: Option<String>,
    /// What was wrong; nothing, if the call went well.
    ///
    /// | code | meaning |
    /// |---|---|
    /// | `tool_not_found`, `prompt_not_found`, `resource_not_found`, `method_not_found` | there is no such thing |
    /// | `invalid_params` | the peer sent what cannot be taken, such as an unknown argument of a prompt |
    /// | `invalid_request` | an error of this code, such as a refusal of a layer |
    /// | `tool_error` | the tool said that it failed, in words for the model: arguments that do not fit the schema among them |
    /// | `internal_error` | an error that was not meant for the peer, a panic, or an error of this code |
    /// | `cancelled` | nobody waited for the answer any more |
    /// | `error` | an error of any other code |
    pub error: Option<&'static str>,
    /// How long it took, layers and all.
    pub duration: Duration,
    /// How often the handler ran: more than once, if it asked the user. 0, if no handler was reached.
    pub rounds: u32,
}

impl Parameter for RequestStats {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        scope.subject::<Self>().cloned().ok_or(Missing)
    }
}

/// The handler of `on_request_end`.
pub(crate) type Counter = Erased<RequestStats, ()>;
