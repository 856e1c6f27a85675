//! What may be told without being asked? Typed, and the same in every era.

use crate::capability::Settings;
use crate::json::Members;
use crate::jsonrpc::{Params, RpcError, write_notification};
use crate::method::Method;
use crate::types::{
    Cancelled, ElicitationComplete, LogMessage, Progress, ResourceUpdated, SubscriptionAcknowledged, Told,
};
use crate::version::ProtocolVersion;

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
    Initialized(Told),
    /// A request is not wanted any more.
    Cancelled(Cancelled),
    /// A request is so far done.
    Progress(Progress),
    /// A log message.
    LogMessage(LogMessage),
    /// The list of tools is another one now.
    ToolsChanged(Told),
    /// The list of prompts is another one now.
    PromptsChanged(Told),
    /// The list of resources is another one now.
    ResourcesChanged(Told),
    /// A resource has another content now.
    ResourceUpdated(ResourceUpdated),
    /// The client's roots are others now.
    RootsChanged(Told),
    /// What the user was asked to do elsewhere is done.
    ElicitationComplete(ElicitationComplete),
    /// A stream of changes is open.
    SubscriptionAcknowledged(SubscriptionAcknowledged),
}

impl Notification {
    /// Reads a notification by its method. `Ok(None)`: not one of the protocol's.
    pub fn decode(method: &Method, params: &Params) -> Result<Option<Self>, RpcError> {
        Ok(Some(match method {
            Method::Initialized => Self::Initialized(params.decode()?),
            Method::Cancelled => Self::Cancelled(params.decode()?),
            Method::Progress => Self::Progress(params.decode()?),
            Method::LogMessage => Self::LogMessage(params.decode()?),
            Method::ToolsChanged => Self::ToolsChanged(params.decode()?),
            Method::PromptsChanged => Self::PromptsChanged(params.decode()?),
            Method::ResourcesChanged => Self::ResourcesChanged(params.decode()?),
            Method::ResourceUpdated => Self::ResourceUpdated(params.decode()?),
            Method::RootsChanged => Self::RootsChanged(params.decode()?),
            Method::ElicitationComplete => Self::ElicitationComplete(params.decode()?),
            Method::SubscriptionAcknowledged => Self::SubscriptionAcknowledged(params.decode()?),
            _ => return Ok(None),
        }))
    }

    /// The notification's method.
    pub fn method(&self) -> Method {
        match self {
            Self::Initialized(_) => Method::Initialized,
            Self::Cancelled(_) => Method::Cancelled,
            Self::Progress(_) => Method::Progress,
            Self::LogMessage(_) => Method::LogMessage,
            Self::ToolsChanged(_) => Method::ToolsChanged,
            Self::PromptsChanged(_) => Method::PromptsChanged,
            Self::ResourcesChanged(_) => Method::ResourcesChanged,
            Self::ResourceUpdated(_) => Method::ResourceUpdated,
            Self::RootsChanged(_) => Method::RootsChanged,
            Self::ElicitationComplete(_) => Method::ElicitationComplete,
            Self::SubscriptionAcknowledged(_) => Method::SubscriptionAcknowledged,
        }
    }

    /// Appends the frame. Notifications that belong to a request look alike in every era.
    ///
    /// ```
    /// use toolway_protocol::types::Told;
    /// use toolway_protocol::{Notification, ProtocolVersion};
    ///
    /// let mut frame = Vec::new();
    /// Notification::ToolsChanged(Told::new()).write(&mut frame, ProtocolVersion::LATEST_HANDSHAKE);
    /// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed""#));
    /// ```
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        write_notification(out, version, &self.method(), |params| self.put(params));
    }

    /// Writes the members of `params`.
    pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
        self.put_body(members);
        members.maybe("_meta", self.meta());
    }

    /// The notification's own `_meta`.
    pub(crate) fn meta(&self) -> Option<&Settings> {
        match self {
            Self::Cancelled(params) => params.meta.as_ref(),
            Self::Progress(params) => params.meta.as_ref(),
            Self::LogMessage(params) => params.meta.as_ref(),
            Self::ResourceUpdated(params) => params.meta.as_ref(),
            Self::ElicitationComplete(params) => params.meta.as_ref(),
            Self::SubscriptionAcknowledged(params) => params.meta.as_ref(),
            Self::Initialized(params)
            | Self::ToolsChanged(params)
            | Self::PromptsChanged(params)
            | Self::ResourcesChanged(params)
            | Self::RootsChanged(params) => params.meta.as_ref(),
        }
    }

    /// Writes the members of `params` but `_meta`.
    pub(crate) fn put_body(&self, members: &mut Members<'_, '_>) {
        match self {
            Self::Cancelled(params) => params.put_body(members),
            Self::Progress(params) => params.put_body(members),
            Self::LogMessage(params) => params.put_body(members),
            Self::ResourceUpdated(params) => params.put_body(members),
            Self::ElicitationComplete(params) => params.put_body(members),
            Self::SubscriptionAcknowledged(params) => params.put_body(members),
            Self::Initialized(params)
            | Self::ToolsChanged(params)
            | Self::PromptsChanged(params)
            | Self::ResourcesChanged(params)
            | Self::RootsChanged(params) => params.put_body(members),
        }
    }
}
