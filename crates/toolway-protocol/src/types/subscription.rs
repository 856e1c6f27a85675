//! Subscriptions: which changes does a client want to hear of?

use crate::capability::Settings;
use crate::wire::wire;

wire! {
    /// Which changes are wanted.
    ///
    /// ```
    /// use toolway_protocol::types::SubscriptionFilter;
    ///
    /// let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    /// assert_eq!(filter.tools_list_changed, Some(true));
    /// ```
    pub struct SubscriptionFilter {
        /// Those of the list of tools.
        tools_list_changed (with_tools_list_changed): Option<bool> = "toolsListChanged";
        /// Those of the list of prompts.
        prompts_list_changed (with_prompts_list_changed): Option<bool> = "promptsListChanged";
        /// Those of the list of resources.
        resources_list_changed (with_resources_list_changed): Option<bool> = "resourcesListChanged";
        /// Those of these resources.
        resource_subscriptions (with_resource_subscriptions): Option<Vec<String>> = "resourceSubscriptions";
    }

    /// A stream of changes is open.
    ///
    /// ```
    /// use toolway_protocol::types::{SubscriptionAcknowledged, SubscriptionFilter};
    ///
    /// assert!(SubscriptionAcknowledged::new(SubscriptionFilter::new()).meta.is_none());
    /// ```
    pub struct SubscriptionAcknowledged {
        /// Which changes it will tell.
        notifications: SubscriptionFilter = "notifications";
        /// Which request opened it, and anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }
}
