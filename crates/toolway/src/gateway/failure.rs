//! What is the caller told about a call that could not be forwarded? Errors of the other server are passed on; the
//! reason why the other server cannot be reached goes to the log only.

use toolway_protocol::RpcError;
use toolway_protocol::jsonrpc::Code;

use crate::ground::error::{Chain, Error, ErrorKind};
use crate::hub::Upstream;
use crate::server::ResourceError;
use crate::server::ask::AskError;

/// The reason why a call has no result.
pub(super) enum Failure {
    /// The other server answered with this error.
    Rpc(RpcError),
    /// A question cannot be sent to the caller, or this run ends so that the caller can answer a question.
    Ask(AskError),
    /// The other server could not answer; the text is for the caller.
    Unavailable(String),
}

impl Failure {
    pub(super) fn new(upstream: &Upstream, error: Error) -> Self {
        let name = &upstream.name;
        // Converted to text: the limit in the error's data belongs to the upstream server, not to this one.
        if error.is_too_large() {
            return Self::Unavailable(format!(
                "a message is too long to be passed on between this server and `{name}`: {error}"
            ));
        }
        if let Some(rpc) = error.rpc() {
            return Self::Rpc(rpc.clone());
        }
        tracing::warn!(server = &**name, error = %Chain(&error), "a call could not be passed on");
        Self::Unavailable(match error.kind() {
            ErrorKind::Timeout => {
                format!("`{name}` did not answer in time, and is unavailable at the moment")
            }
            ErrorKind::PeerMisbehaved => format!("`{name}` is unavailable: its answer cannot be understood"),
            ErrorKind::Application | ErrorKind::Cancelled => {
                format!("`{name}` is unavailable: its question was not answered")
            }
            _ => format!("`{name}` is unavailable at the moment: try again later"),
        })
    }

    pub(super) fn malformed(upstream: &Upstream, error: serde_json::Error) -> Self {
        let text = "the reply of a mounted server is malformed";
        Self::new(upstream, Error::new(ErrorKind::PeerMisbehaved, text).caused_by(error))
    }

    /// Converts the failure to the error of a handler; `new` creates one from a text for the caller.
    pub(super) fn into_error<E: From<RpcError> + From<AskError>>(self, new: fn(String) -> E) -> E {
        match self {
            Self::Rpc(error) => error.into(),
            Self::Ask(error) => error.into(),
            Self::Unavailable(text) => new(text),
        }
    }

    /// Converts the failure to the error of a resource. Revisions report an unknown resource differently, so the error
    /// for an unknown resource is created anew.
    pub(super) fn into_resource_error(self, uri: &str) -> ResourceError {
        match self {
            Self::Rpc(error) if is_not_found(&error, uri) => ResourceError::not_found(),
            other => other.into_error(ResourceError::new),
        }
    }
}

/// Returns whether the error says that the server has no resource with this URI.
fn is_not_found(error: &RpcError, uri: &str) -> bool {
    let is_named = || {
        let data: Option<serde_json::Value> = error.data.as_ref().and_then(|data| data.decode().ok());
        data.is_some_and(|data| data["uri"] == uri)
    };
    match error.code {
        Code::RESOURCE_NOT_FOUND => true,
        Code::INVALID_PARAMS => is_named(),
        _ => false,
    }
}
