//! Progress and cancellation: how far is a request, and is it still wanted?

use crate::capability::Settings;
use crate::jsonrpc::Id;
use crate::wire::wire;

wire! {
    /// How far a request is.
    ///
    /// ```
    /// use toolway_protocol::{Id, types::Progress};
    ///
    /// let half = Progress::new(Id::from("p1"), serde_json::Number::from(1)).with_total(serde_json::Number::from(2));
    /// assert_eq!(half.progress_token, Id::from("p1"));
    /// ```
    pub struct Progress {
        /// The token that the request came with.
        progress_token: Id = "progressToken";
        /// How much is done; always more than before.
        progress: serde_json::Number = "progress";
        /// How much there is to do.
        total (with_total): Option<serde_json::Number> = "total";
        /// What is going on.
        message (with_message): Option<String> = "message", since PROGRESS_MESSAGE;
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }

    /// A request is not wanted any more.
    ///
    /// ```
    /// use toolway_protocol::{Id, types::Cancelled};
    ///
    /// let cancelled = Cancelled::new().with_request_id(Id::from(7)).with_reason("not needed");
    /// assert_eq!(cancelled.request_id, Some(Id::from(7)));
    /// ```
    pub struct Cancelled {
        /// Which one. One revision's schema allows to leave it out, for requests that became tasks.
        request_id (with_request_id): Option<Id> = "requestId";
        /// Why.
        reason (with_reason): Option<String> = "reason";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }

    /// A notification that says nothing beyond its name.
    ///
    /// ```
    /// use toolway_protocol::types::Told;
    ///
    /// assert!(Told::new().meta.is_none());
    /// ```
    pub struct Told {
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }

    /// A resource has another content now.
    ///
    /// ```
    /// use toolway_protocol::types::ResourceUpdated;
    ///
    /// assert_eq!(ResourceUpdated::new("notes://7").uri, "notes://7");
    /// ```
    pub struct ResourceUpdated {
        /// Which one.
        uri: String = "uri";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }

    /// What the user was asked to do elsewhere is done.
    ///
    /// ```
    /// use toolway_protocol::types::ElicitationComplete;
    ///
    /// assert_eq!(ElicitationComplete::new("e1").elicitation_id, "e1");
    /// ```
    pub struct ElicitationComplete {
        /// The question's id.
        elicitation_id: String = "elicitationId";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }
}
