//! Which notifications are there? Each has a type, which is the same in every era.
//!
//! The variants come from the table in `method.rs`.

use crate::capability::JsonObject;
use crate::json::Members;
use crate::jsonrpc::{Params, RpcError, write_notification};
use crate::method::{Method, methods};
use crate::types::{
    Cancelled, ElicitationComplete, EmptyParams, LogMessage, Progress, ResourceUpdated,
    SubscriptionAcknowledged,
};
use crate::version::ProtocolVersion;

macro_rules! notification {
    (
        requests {$($(#[$request_doc:meta])* $request:ident $request_row:tt)*}
        conversation {$($(#[$conversation_doc:meta])* $conversation:ident $conversation_row:tt)*}
        questions {$($(#[$question_doc:meta])* $question:ident $question_row:tt)*}
        notifications {$(
            $(#[doc = $doc:literal])* $variant:ident {
                $name:literal: ($params:ty), from $sender:ident, $first:ident..=$last:ident
            }
        )*}
    ) => {
        /// A notification from either side, one variant per method.
        ///
        /// ```
        /// use toolway_protocol::notification::Notification;
        /// use toolway_protocol::types::ResourceUpdated;
        ///
        /// let news = Notification::ResourceUpdated(ResourceUpdated::new("notes://7"));
        /// assert_eq!(news.method().name(), "notifications/resources/updated");
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        pub enum Notification {
            $($(#[doc = $doc])* $variant($params),)*
        }

        impl Notification {
            /// Decodes a notification by its method. Returns `Ok(None)` if the method is not a notification of the
            /// protocol.
            pub fn decode(method: &Method, params: &Params) -> Result<Option<Self>, RpcError> {
                Ok(Some(match method {
                    $(Method::$variant => Self::$variant(params.decode()?),)*
                    $(Method::$request)|* | $(Method::$conversation)|* | $(Method::$question)|* | Method::Other(_) => {
                        return Ok(None);
                    }
                }))
            }

            /// Returns the notification's method.
            pub fn method(&self) -> Method {
                match self {
                    $(Self::$variant(_) => Method::$variant,)*
                }
            }

            /// Returns the notification's own `_meta`.
            pub(crate) fn meta(&self) -> Option<&JsonObject> {
                match self {
                    $(Self::$variant(params) => params.meta.as_ref(),)*
                }
            }

            /// Writes the members of `params`, except `_meta`.
            pub(crate) fn put_body(&self, members: &mut Members<'_, '_>) {
                match self {
                    $(Self::$variant(params) => params.put_body(members),)*
                }
            }
        }
    };
}
methods!(notification);

impl Notification {
    /// Appends the frame. A notification that belongs to a request looks the same in every era.
    ///
    /// ```
    /// use toolway_protocol::types::EmptyParams;
    /// use toolway_protocol::{Notification, ProtocolVersion};
    ///
    /// let mut frame = Vec::new();
    /// Notification::ToolsChanged(EmptyParams::new()).write(&mut frame, ProtocolVersion::LATEST_HANDSHAKE);
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
}
