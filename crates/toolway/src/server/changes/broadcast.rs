//! Where changes are told, and from where every open conversation hears of them.

use std::sync::Arc;

use crate::server::changes::bridge::Bridge;
use crate::server::changes::interest::Interest;
use crate::server::changes::listeners::{Change, List, Listener, Listeners};
use crate::store::Store;

/// Everybody who listens, here and at the servers that share a store with this one.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    listeners: Arc<Listeners>,
    pub(crate) bridge: Option<Bridge>,
    /// What listeners want to hear of, if somebody has to know.
    pub(crate) interest: Option<Arc<Interest>>,
}

impl Changes {
    /// Changes that servers with the same store hear of as well.
    pub(crate) fn shared(store: Arc<dyn Store>, server: &str) -> Self {
        let bridge = Bridge::new(store, server);
        let listeners = Arc::<Listeners>::default();
        listeners.add(bridge.here());
        Self { listeners, bridge: Some(bridge), interest: None }
    }

    /// From now on it is known which resources anybody wants to hear of.
    pub(crate) fn note_interest(&mut self) {
        self.interest = Some(Arc::default());
    }

    /// Adds a listener that hears of every list, and of resources once it subscribes. It is forgotten when it is dropped.
    pub(crate) fn listen(&self) -> Arc<Listener> {
        self.listen_to([true; 3])
    }

    /// Adds a listener that hears of some lists: tools, prompts, resources.
    pub(crate) fn listen_to(&self, lists: [bool; 3]) -> Arc<Listener> {
        let listener = Arc::new(Listener::new(lists, self.interest.clone()));
        self.listeners.add(&listener);
        self.begin();
        listener
    }

    /// A list is another one now.
    pub(crate) fn list(&self, list: List) {
        self.tell(&Change::List(list));
    }

    /// A resource has another content now.
    pub(crate) fn resource(&self, uri: &str) {
        self.tell(&Change::Resource(uri.to_owned()));
    }

    fn tell(&self, change: &Change) {
        self.listeners.tell(change, None);
        self.begin();
    }

    fn begin(&self) {
        if let Some(bridge) = &self.bridge {
            bridge.begin(&self.listeners);
        }
    }
}
