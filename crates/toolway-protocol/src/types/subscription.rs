//! Subscriptions: which changes does a client subscribe to?

use crate::capability::JsonObject;
use crate::wire::wire;

wire! {
    /// The changes that a client subscribes to.
    ///
    /// ```
    /// use toolway_protocol::types::SubscriptionFilter;
    ///
    /// let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    /// assert_eq!(filter.tools_list_changed, Some(true));
    /// ```
    pub struct SubscriptionFilter {
        /// Changes of the tool list.
        tools_list_changed (with_tools_list_changed): Option<bool> = "toolsListChanged";
        /// Changes of the prompt list.
        prompts_list_changed (with_prompts_list_changed): Option<bool> = "promptsListChanged";
        /// Changes of the resource list.
        resources_list_changed (with_resources_list_changed): Option<bool> = "resourcesListChanged";
        /// Changes of the resources with these URIs.
        resource_subscriptions (with_resource_subscriptions): Option<Vec<String>> = "resourceSubscriptions";
    }

    /// The confirmation that a stream of change notifications is open.
    ///
    /// ```
    /// use toolway_protocol::types::{SubscriptionAcknowledged, SubscriptionFilter};
    ///
    /// assert!(SubscriptionAcknowledged::new(SubscriptionFilter::new()).meta.is_none());
    /// ```
    pub struct SubscriptionAcknowledged {
        /// The changes that the stream will report.
        notifications: SubscriptionFilter = "notifications";
        /// The id of the request that opened the stream, and additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }
}
