//! One frame as a message: a request, a notification or a response.

use super::{Id, Params, RpcError};
use crate::json::RawJson;
use crate::method::Method;

/// One frame. Which era it belongs to is decided by [`crate::era::classify`].
#[derive(Debug, Clone)]
pub enum Message {
    /// The sender waits for a reply with the same id.
    Request {
        /// Echoed in the reply, exactly.
        id: Id,
        /// What is asked.
        method: Method,
        /// With what.
        params: Params,
    },
    /// The sender expects no reply.
    Notification {
        /// What is told.
        method: Method,
        /// With what.
        params: Params,
    },
    /// The answer to a request of ours.
    Response {
        /// The id we gave the request; missing when the peer could not read it.
        id: Option<Id>,
        /// The result as text, or the peer's error.
        outcome: Result<RawJson, RpcError>,
    },
}

impl Message {
    /// The id that an error about this message must carry.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Request { id, .. } => Some(id),
            Self::Notification { .. } => None,
            Self::Response { id, .. } => id.as_ref(),
        }
    }

    /// The parameters, if this is a request or a notification.
    pub fn params(&self) -> Option<&Params> {
        match self {
            Self::Request { params, .. } | Self::Notification { params, .. } => Some(params),
            Self::Response { .. } => None,
        }
    }
}
