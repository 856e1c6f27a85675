//! One frame as a message: a request, a notification or a response.

use super::{Id, Params, RpcError};
use crate::json::RawJson;
use crate::method::Method;

/// One message. [`crate::era::classify`] decides which era it belongs to.
#[derive(Debug, Clone)]
pub enum Message {
    /// The sender waits for a reply with the same id.
    Request {
        /// The id that the reply must repeat exactly.
        id: Id,
        /// The method to call.
        method: Method,
        /// The parameters of the call.
        params: Params,
    },
    /// The sender does not expect a reply.
    Notification {
        /// The kind of the notification.
        method: Method,
        /// The parameters of the notification.
        params: Params,
    },
    /// The reply to a request that this side sent.
    Response {
        /// The id of the request; missing if the peer could not read it.
        id: Option<Id>,
        /// The result as text, or the peer's error.
        outcome: Result<RawJson, RpcError>,
    },
}

impl Message {
    /// Returns the id that an error about this message must carry.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Request { id, .. } => Some(id),
            Self::Notification { .. } => None,
            Self::Response { id, .. } => id.as_ref(),
        }
    }

    /// Returns the parameters of a request or a notification.
    pub fn params(&self) -> Option<&Params> {
        match self {
            Self::Request { params, .. } | Self::Notification { params, .. } => Some(params),
            Self::Response { .. } => None,
        }
    }
}
