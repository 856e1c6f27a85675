//! Progress, cancellation and other small notifications.

use crate::capability::JsonObject;
use crate::jsonrpc::Id;
use crate::wire::wire;

wire! {
    /// The progress of a request.
    ///
    /// ```
    /// use toolway_protocol::{Id, types::Progress};
    ///
    /// let half = Progress::new(Id::from("p1"), serde_json::Number::from(1)).with_total(serde_json::Number::from(2));
    /// assert_eq!(half.progress_token, Id::from("p1"));
    /// ```
    pub struct Progress {
        /// The progress token of the request.
        progress_token: Id = "progressToken";
        /// The amount of work that is done. It increases with every notification.
        progress: serde_json::Number = "progress";
        /// The total amount of work.
        total (with_total): Option<serde_json::Number> = "total";
        /// A description of the current step.
        message (with_message): Option<String> = "message", since PROGRESS_MESSAGE;
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }

    /// The cancellation of a request.
    ///
    /// ```
    /// use toolway_protocol::{Id, types::Cancelled};
    ///
    /// let cancelled = Cancelled::new().with_request_id(Id::from(7)).with_reason("not needed");
    /// assert_eq!(cancelled.request_id, Some(Id::from(7)));
    /// ```
    pub struct Cancelled {
        /// The id of the request. Revision 2025-11-25 allows the id to be left out, for requests that became tasks.
        request_id (with_request_id): Option<Id> = "requestId";
        /// The reason for the cancellation.
        reason (with_reason): Option<String> = "reason";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }

    /// The parameters of a notification that has no content except metadata.
    ///
    /// ```
    /// use toolway_protocol::types::EmptyParams;
    ///
    /// assert!(EmptyParams::new().meta.is_none());
    /// ```
    pub struct EmptyParams {
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }

    /// The content of a resource changed.
    ///
    /// ```
    /// use toolway_protocol::types::ResourceUpdated;
    ///
    /// assert_eq!(ResourceUpdated::new("notes://7").uri, "notes://7");
    /// ```
    pub struct ResourceUpdated {
        /// The URI of the resource.
        uri: String = "uri";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }

    /// The user has completed an interaction that takes place outside the client.
    ///
    /// ```
    /// use toolway_protocol::types::ElicitationComplete;
    ///
    /// assert_eq!(ElicitationComplete::new("e1").elicitation_id, "e1");
    /// ```
    pub struct ElicitationComplete {
        /// The id of the question.
        elicitation_id: String = "elicitationId";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }
}
