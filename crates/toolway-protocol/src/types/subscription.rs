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
        optional {
            /// Those of the list of tools.
            tools_list_changed (with_tools_list_changed): bool = "toolsListChanged";
            /// Those of the list of prompts.
            prompts_list_changed (with_prompts_list_changed): bool = "promptsListChanged";
            /// Those of the list of resources.
            resources_list_changed (with_resources_list_changed): bool = "resourcesListChanged";
            /// Those of these resources.
            resource_subscriptions (with_resource_subscriptions): Vec<String> = "resourceSubscriptions";
        }
    }
}

wire! {
    /// A stream of changes is open.
    ///
    /// ```
    /// use toolway_protocol::types::{SubscriptionAcknowledged, SubscriptionFilter};
    ///
    /// assert!(SubscriptionAcknowledged::new(SubscriptionFilter::new()).meta.is_none());
    /// ```
    pub struct SubscriptionAcknowledged {
        required {
            /// Which changes it will tell.
            notifications: SubscriptionFilter = "notifications";
        }
        optional {
            /// Which request opened it, and anything else.
            meta (with_meta): Settings = "_meta";
        }
    }
}
