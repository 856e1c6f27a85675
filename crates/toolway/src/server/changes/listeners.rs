//! Which changes has each session or stream not sent yet?
//!
//! A listener keeps each unsent change once. Ten thousand changes while a peer does not read become a single
//! notification, and memory is bounded by the subscriptions of the peer.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use toolway_protocol::capability::{JsonObject, ServerCapabilities};
use toolway_protocol::types::{EmptyParams, ResourceUpdated};
use toolway_protocol::{Notification, RpcError};

use crate::ground::mutex::Mutex;
use crate::server::changes::interest::Interest;

/// A list that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

/// Something that has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    List(ListKind),
    /// The content of a resource.
    Resource(String),
}

impl Change {
    /// Returns the change that a notification tells.
    pub(crate) fn of(news: &Notification) -> Option<Self> {
        Some(match news {
            Notification::ToolsChanged(_) => Self::List(ListKind::Tools),
            Notification::PromptsChanged(_) => Self::List(ListKind::Prompts),
            Notification::ResourcesChanged(_) => Self::List(ListKind::Resources),
            Notification::ResourceUpdated(updated) => Self::Resource(updated.uri.clone()),
            Notification::Initialized(_)
            | Notification::Cancelled(_)
            | Notification::Progress(_)
            | Notification::LogMessage(_)
            | Notification::RootsChanged(_)
            | Notification::ElicitationComplete(_)
            | Notification::SubscriptionAcknowledged(_) => return None,
        })
    }
}

/// The listeners of this server.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Vec<Weak<Listener>>>);

impl Listeners {
    pub(crate) fn add(&self, listener: &Arc<Listener>) {
        let mut listeners = self.0.lock();
        // Entries of dropped listeners are removed before the list would have to grow.
        if listeners.len() == listeners.capacity() {
            listeners.retain(|listener| listener.strong_count() > 0);
        }
        listeners.push(Arc::downgrade(listener));
    }

    /// Notifies all listeners except `but`.
    pub(crate) fn notify(&self, change: &Change, but: Option<&Arc<Listener>>) {
        self.for_each_except(but, |listener| listener.add_change(change));
    }

    /// Notifies all listeners except `but` that anything may have changed.
    pub(crate) fn notify_everything(&self, but: &Arc<Listener>) {
        self.for_each_except(Some(but), Listener::add_everything);
    }

    fn for_each_except(&self, but: Option<&Arc<Listener>>, tell: impl Fn(&Listener)) {
        let listeners: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        for listener in listeners {
            if but.is_none_or(|but| !Arc::ptr_eq(but, &listener)) {
                tell(&listener);
            }
        }
    }
}

/// Removes the promise of change notifications from the capabilities, for a peer that cannot be sent notifications.
pub(crate) fn without_change_notifications(mut capabilities: ServerCapabilities) -> ServerCapabilities {
    let ServerCapabilities { tools, prompts, resources, .. } = &mut capabilities;
    for settings in [tools, prompts, resources].into_iter().flatten() {
        settings
            .retain(|name, value| !matches!(name.as_str(), "listChanged" | "subscribe") || *value != true);
    }
    capabilities
}

/// The pending changes and subscriptions of one session or stream.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    pub(crate) state: Mutex<ListenerState>,
    wake: Notify,
    interest: Option<Arc<Interest>>,
}

#[derive(Debug, Default)]
pub(crate) struct ListenerState {
    /// `true` for each list (tools, prompts, resources) whose changes the peer wants and was promised.
    pub(crate) lists: [bool; 3],
    pub(crate) can_subscribe: bool,
    pub(crate) subscribed: HashSet<String>,
    /// `true` if the listener takes updates of every resource. At most [`MAX_SUBSCRIBED`] of them may be pending.
    pub(crate) wants_all_resources: bool,
    pub(crate) pending: PendingChanges,
}

#[derive(Debug, Default)]
pub(crate) struct PendingChanges {
    pub(crate) lists: [bool; 3],
    pub(crate) updated: Vec<String>,
}

impl Listener {
    /// Creates a listener for some lists (tools, prompts, resources), and for resources once it subscribes.
    pub(crate) fn new(lists: [bool; 3], interest: Option<Arc<Interest>>) -> Self {
        let state = ListenerState { lists, can_subscribe: true, ..ListenerState::default() };
        Self { state: Mutex::new(state), wake: Notify::new(), interest }
    }

    /// Creates a listener for every change.
    pub(crate) fn for_everything() -> Self {
        let state = ListenerState { lists: [true; 3], wants_all_resources: true, ..ListenerState::default() };
        Self { state: Mutex::new(state), wake: Notify::new(), interest: None }
    }

    /// Keeps a change, if the listener wants it.
    fn add_change(&self, change: &Change) {
        let mut state = self.state.lock();
        let ListenerState { lists, subscribed, wants_all_resources: hears_all, pending, .. } = &mut *state;
        let is_wanted = match change {
            Change::List(list) => {
                pending.lists[*list as usize] |= lists[*list as usize];
                lists[*list as usize]
            }
            Change::Resource(uri) => {
                let is_wanted =
                    subscribed.contains(uri) || (*hears_all && pending.updated.len() < MAX_SUBSCRIBED);
                if is_wanted && !pending.updated.contains(uri) {
                    pending.updated.push(uri.clone());
                }
                is_wanted
            }
        };
        drop(state);
        if is_wanted {
            self.wake.notify_one();
        }
    }

    /// Marks everything that the listener wants as changed.
    pub(crate) fn add_everything(&self) {
        let mut state = self.state.lock();
        let ListenerState { lists, subscribed, pending, .. } = &mut *state;
        pending.lists = *lists;
        pending.updated = subscribed.iter().cloned().collect();
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until there may be changes to send.
    pub(crate) async fn changed(&self) {
        self.wake.notified().await;
    }

    /// Wakes the listener, because it may be able to send changes now.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Takes the pending changes.
    fn take(&self) -> impl Iterator<Item = Notification> {
        let PendingChanges { lists, updated } = std::mem::take(&mut self.state.lock().pending);
        let makers =
            [Notification::ToolsChanged, Notification::PromptsChanged, Notification::ResourcesChanged];
        let lists = lists
            .into_iter()
            .zip(makers)
            .filter(|(changed, _)| *changed)
            .map(|(_, make)| make(EmptyParams::new()));
        let updated = updated.into_iter().map(|uri| Notification::ResourceUpdated(ResourceUpdated::new(uri)));
        lists.chain(updated)
    }

    /// Takes the pending changes that the peer may see. Changes of hidden items are dropped.
    pub(crate) fn take_for(
        &self,
        is_seen: impl Fn(&Notification) -> bool,
    ) -> impl Iterator<Item = Notification> {
        self.take().filter(is_seen)
    }

    /// Takes the pending changes that the peer may see. Changes that are not sent are put back.
    pub(crate) fn unsent_for(&self, is_seen: impl Fn(&Notification) -> bool) -> UnsentChanges<'_> {
        UnsentChanges { listener: self, changes: self.take_for(is_seen).collect() }
    }

    /// Puts changes back that could not be sent.
    fn put_back(&self, news: impl IntoIterator<Item = Notification>) {
        let pending = &mut self.state.lock().pending;
        for news in news {
            match news {
                Notification::ToolsChanged(_) => pending.lists[ListKind::Tools as usize] = true,
                Notification::PromptsChanged(_) => pending.lists[ListKind::Prompts as usize] = true,
                Notification::ResourcesChanged(_) => pending.lists[ListKind::Resources as usize] = true,
                Notification::ResourceUpdated(updated) => {
                    if !pending.updated.contains(&updated.uri) {
                        pending.updated.push(updated.uri);
                    }
                }
                Notification::Initialized(_)
                | Notification::Cancelled(_)
                | Notification::Progress(_)
                | Notification::LogMessage(_)
                | Notification::RootsChanged(_)
                | Notification::ElicitationComplete(_)
                | Notification::SubscriptionAcknowledged(_) => {}
            }
        }
        self.wake.notify_one();
    }

    /// Limits the listener to the changes that the capabilities promise.
    pub(crate) fn limit_to_capabilities(&self, capabilities: &ServerCapabilities) {
        let mut state = self.state.lock();
        state.lists = promised_lists(capabilities);
        state.can_subscribe = has_setting(capabilities.resources.as_ref(), "subscribe");
    }

    /// Returns whether the client may subscribe to resources.
    pub(crate) fn can_subscribe(&self) -> bool {
        self.state.lock().can_subscribe
    }

    /// Subscribes to a resource.
    pub(crate) fn subscribe(&self, uri: String) -> Result<(), RpcError> {
        if uri.len() > MAX_URI {
            return Err(RpcError::invalid_params(format!("`params.uri` is longer than {MAX_URI} bytes")));
        }
        let mut state = self.state.lock();
        if state.subscribed.len() >= MAX_SUBSCRIBED && !state.subscribed.contains(&uri) {
            let text = format!("there are {MAX_SUBSCRIBED} subscriptions already, which is the maximum");
            return Err(RpcError::invalid_request(text));
        }
        let bytes = uri.len() + state.subscribed.iter().map(String::len).sum::<usize>();
        if bytes > MAX_SUBSCRIBED_BYTES && !state.subscribed.contains(&uri) {
            let text =
                format!("the subscriptions would be longer than {MAX_SUBSCRIBED_BYTES} bytes together");
            return Err(RpcError::invalid_request(text));
        }
        if !state.subscribed.contains(&uri) {
            self.add_interest([&uri]);
            state.subscribed.insert(uri);
        }
        Ok(())
    }

    /// Unsubscribes from a resource, and drops its pending update.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let mut state = self.state.lock();
        if let Some(uri) = state.subscribed.take(uri) {
            self.remove_interest([&uri]);
        }
        state.pending.updated.retain(|known| known != uri);
    }

    pub(crate) fn add_interest<'u>(&self, uris: impl IntoIterator<Item = &'u String>) {
        if let Some(interest) = &self.interest {
            uris.into_iter().for_each(|uri| interest.add(uri));
        }
    }

    pub(crate) fn remove_interest<'u>(&self, uris: impl IntoIterator<Item = &'u String>) {
        if let Some(interest) = &self.interest {
            uris.into_iter().for_each(|uri| interest.remove(uri));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.remove_interest(&self.state.lock().subscribed);
    }
}

/// Changes that are being sent. Changes that remain when this value is dropped are put back.
pub(crate) struct UnsentChanges<'l> {
    listener: &'l Listener,
    changes: VecDeque<Notification>,
}

impl UnsentChanges<'_> {
    pub(crate) fn first(&self) -> Option<&Notification> {
        self.changes.front()
    }

    /// Removes the first change, which was sent.
    pub(crate) fn mark_sent(&mut self) {
        self.changes.pop_front();
    }
}

impl Drop for UnsentChanges<'_> {
    fn drop(&mut self) {
        if !self.changes.is_empty() {
            self.listener.put_back(std::mem::take(&mut self.changes));
        }
    }
}

/// Returns, for tools, prompts and resources, whether the capabilities promise to notify of changes of the list.
pub(crate) fn promised_lists(capabilities: &ServerCapabilities) -> [bool; 3] {
    let ServerCapabilities { tools, prompts, resources, .. } = capabilities;
    [tools, prompts, resources].map(|settings| has_setting(settings.as_ref(), "listChanged"))
}

/// Returns whether a setting of a capability is `true`.
pub(crate) fn has_setting(settings: Option<&JsonObject>, name: &str) -> bool {
    settings.and_then(|settings| settings.get(name)) == Some(&serde_json::Value::Bool(true))
}

/// The longest URI that can be subscribed to, in bytes.
const MAX_URI: usize = 8 << 10;
/// How many resources one session or stream may subscribe to.
const MAX_SUBSCRIBED: usize = 1000;
/// How long the subscribed URIs may be together, in bytes. The length is limited because the URIs are kept as long as
/// the session, and are stored again with each change.
const MAX_SUBSCRIBED_BYTES: usize = 256 << 10;
