//! What may be told without being asked? Typed, and the same in every era.

use crate::json::Members;
use crate::jsonrpc::{Params, RpcError};
use crate::method::Method;
use crate::types::{
    Cancelled, ElicitationComplete, LogMessage, Progress, ResourceUpdated, SubscriptionAcknowledged,
};

/// A notification of either side, one variant a method.
///
/// ```
/// use toolway_protocol::notification::Notification;
/// use toolway_protocol::types::ResourceUpdated;
///
/// let news = Notification::ResourceUpdated(ResourceUpdated::new("notes://7"));
/// assert_eq!(news.method().name(), "notifications/resources/updated");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Notification {
    /// The client has read the answer to `initialize`.
    Initialized,
    /// A request is not wanted any more.
    Cancelled(Cancelled),
    /// A request is so far done.
    Progress(Progress),
    /// A log message.
    LogMessage(LogMessage),
    /// The list of tools is another one now.
    ToolsChanged,
    /// The list of prompts is another one now.
    PromptsChanged,
    /// The list of resources is another one now.
    ResourcesChanged,
    /// A resource has another content now.
    ResourceUpdated(ResourceUpdated),
    /// The client's roots are others now.
    RootsChanged,
    /// What the user was asked to do elsewhere is done.
    ElicitationComplete(ElicitationComplete),
    /// A stream of changes is open.
    SubscriptionAcknowledged(SubscriptionAcknowledged),
}

impl Notification {
    /// Reads a notification by its method. `Ok(None)`: not one of the protocol's.
    pub fn decode(method: &Method, params: &Params) -> Result<Option<Self>, RpcError> {
        Ok(Some(match method {
            Method::Initialized => Self::Initialized,
            Method::Cancelled => Self::Cancelled(params.decode()?),
            Method::Progress => Self::Progress(params.decode()?),
            Method::LogMessage => Self::LogMessage(params.decode()?),
            Method::ToolsChanged => Self::ToolsChanged,
            Method::PromptsChanged => Self::PromptsChanged,
            Method::ResourcesChanged => Self::ResourcesChanged,
            Method::ResourceUpdated => Self::ResourceUpdated(params.decode()?),
            Method::RootsChanged => Self::RootsChanged,
            Method::ElicitationComplete => Self::ElicitationComplete(params.decode()?),
            Method::SubscriptionAcknowledged => Self::SubscriptionAcknowledged(params.decode()?),
            _ => return Ok(None),
        }))
    }

    /// The notification's method.
    pub fn method(&self) -> Method {
        match self {
            Self::Initialized => Method::Initialized,
            Self::Cancelled(_) => Method::Cancelled,
            Self::Progress(_) => Method::Progress,
            Self::LogMessage(_) => Method::LogMessage,
            Self::ToolsChanged => Method::ToolsChanged,
            Self::PromptsChanged => Method::PromptsChanged,
            Self::ResourcesChanged => Method::ResourcesChanged,
            Self::ResourceUpdated(_) => Method::ResourceUpdated,
            Self::RootsChanged => Method::RootsChanged,
            Self::ElicitationComplete(_) => Method::ElicitationComplete,
            Self::SubscriptionAcknowledged(_) => Method::SubscriptionAcknowledged,
        }
    }

    /// Writes the members of `params`.
    pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
        match self {
            Self::Cancelled(params) => params.put(members),
            Self::Progress(params) => params.put(members),
            Self::LogMessage(params) => params.put(members),
            Self::ResourceUpdated(params) => params.put(members),
            Self::ElicitationComplete(params) => params.put(members),
            Self::SubscriptionAcknowledged(params) => params.put(members),
            Self::Initialized
            | Self::ToolsChanged
            | Self::PromptsChanged
            | Self::ResourcesChanged
            | Self::RootsChanged => {}
        }
    }
}
