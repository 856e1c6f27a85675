//! Where are changes announced, and how do open sessions and streams receive them?

use std::sync::Arc;

use crate::server::changes::bridge::Bridge;
use crate::server::changes::interest::Interest;
use crate::server::changes::listeners::{Change, ListKind, Listener, Listeners};
use crate::store::Store;

/// All listeners of this server, and the bridge to servers that share its store.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    listeners: Arc<Listeners>,
    pub(crate) bridge: Option<Bridge>,
    /// The number of subscribers of each resource, if it has to be counted.
    pub(crate) interest: Option<Arc<Interest>>,
}

impl Changes {
    /// Creates a set of listeners that exchanges changes with the other servers of the same store.
    pub(crate) fn shared(store: Arc<dyn Store>, server: &str) -> Self {
        let bridge = Bridge::new(store, server);
        let listeners = Arc::<Listeners>::default();
        listeners.add(bridge.local_changes());
        Self { listeners, bridge: Some(bridge), interest: None }
    }

    /// Starts to count which resources listeners subscribe to.
    pub(crate) fn track_interest(&mut self) {
        self.interest = Some(Arc::default());
    }

    /// Adds a listener for every list, and for resources once it subscribes. The listener is removed when it is
    /// dropped.
    pub(crate) fn listen(&self) -> Arc<Listener> {
        self.listen_to([true; 3])
    }

    /// Adds a listener for some lists: tools, prompts, resources.
    pub(crate) fn listen_to(&self, lists: [bool; 3]) -> Arc<Listener> {
        let listener = Arc::new(Listener::new(lists, self.interest.clone()));
        self.listeners.add(&listener);
        self.start_bridge();
        listener
    }

    /// Announces that a list changed.
    pub(crate) fn announce_list(&self, list: ListKind) {
        self.announce(&Change::List(list));
    }

    /// Announces that the content of a resource changed.
    pub(crate) fn announce_resource(&self, uri: &str) {
        self.announce(&Change::Resource(uri.to_owned()));
    }

    fn announce(&self, change: &Change) {
        self.listeners.notify(change, None);
        self.start_bridge();
    }

    fn start_bridge(&self) {
        if let Some(bridge) = &self.bridge {
            bridge.start(&self.listeners);
        }
    }
}
