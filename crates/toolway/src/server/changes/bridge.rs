//! How do servers that share a store learn of each other's changes?
//!
//! One task per server publishes local changes, and passes changes that other servers published to local listeners. The
//! task starts when the first listener is added, or the first change is announced, inside a tokio runtime.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use toolway_protocol::Notification;

use crate::server::changes::listeners::{Change, ListKind, Listener, Listeners};
use crate::store::{Store, Subscription};

/// The connection between a server and the other servers that share its store.
#[derive(Debug)]
pub(crate) struct Bridge {
    store: Arc<dyn Store>,
    channel: String,
    /// Identifies this server, so that it can ignore its own messages.
    node: u64,
    /// Collects every change of this server.
    here: Arc<Listener>,
    task: OnceLock<AbortHandle>,
}

/// How long the task waits after the store has failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl Bridge {
    pub(crate) fn new(store: Arc<dyn Store>, server: &str) -> Self {
        Self {
            store,
            channel: format!("changes/{server}"),
            node: RandomState::new().build_hasher().finish(),
            here: Arc::new(Listener::for_everything()),
            task: OnceLock::new(),
        }
    }

    pub(crate) fn local_changes(&self) -> &Arc<Listener> {
        &self.here
    }

    /// Starts the task, unless it runs already or the caller is outside of a tokio runtime.
    pub(crate) fn start(&self, listeners: &Arc<Listeners>) {
        let Ok(runtime) = Handle::try_current() else { return };
        self.task.get_or_init(|| {
            let crossing = BridgeTask {
                store: self.store.clone(),
                channel: self.channel.clone(),
                node: self.node,
                here: self.here.clone(),
                listeners: listeners.clone(),
            };
            runtime.spawn(crossing.run()).abort_handle()
        });
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

struct BridgeTask {
    store: Arc<dyn Store>,
    channel: String,
    node: u64,
    here: Arc<Listener>,
    listeners: Arc<Listeners>,
}

/// The message that announces a change on the channel.
#[derive(Serialize, Deserialize)]
struct ChangeMessage {
    node: u64,
    change: Change,
}

impl BridgeTask {
    async fn run(self) {
        let mut was_deaf = false;
        loop {
            match self.store.subscribe(&self.channel).await {
                Ok(mut heard) => {
                    if std::mem::replace(&mut was_deaf, true) {
                        self.deliver(None);
                    }
                    if let Err(error) = self.relay(&mut *heard).await {
                        tracing::error!(%error, "changes cannot be published to other servers");
                    }
                }
                Err(error) => tracing::error!(%error, "cannot subscribe to the changes of other servers"),
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn relay(&self, heard: &mut dyn Subscription) -> crate::ground::error::Result<()> {
        loop {
            tokio::select! {
                () = self.here.changed() => {
                    let mut untold = self.here.unsent_for(|_| true);
                    while let Some(news) = untold.first() {
                        self.publish(news).await?;
                        untold.mark_sent();
                    }
                }
                message = heard.next() => self.deliver(message),
            }
        }
    }

    async fn publish(&self, news: &Notification) -> crate::ground::error::Result<()> {
        let Some(change) = change_of(news) else { return Ok(()) };
        let text = serde_json::to_vec(&ChangeMessage { node: self.node, change });
        self.store.publish(&self.channel, text.unwrap_or_default().into()).await
    }

    fn deliver(&self, message: Option<Bytes>) {
        let Some(message) = message else {
            // Messages were missed, so anything may have changed.
            return self.listeners.notify_everything(&self.here);
        };
        match serde_json::from_slice::<ChangeMessage>(&message) {
            Ok(published) if published.node != self.node => {
                self.listeners.notify(&published.change, Some(&self.here));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a message from another server cannot be read"),
        }
    }
}

fn change_of(news: &Notification) -> Option<Change> {
    Some(match news {
        Notification::ToolsChanged(_) => Change::List(ListKind::Tools),
        Notification::PromptsChanged(_) => Change::List(ListKind::Prompts),
        Notification::ResourcesChanged(_) => Change::List(ListKind::Resources),
        Notification::ResourceUpdated(updated) => Change::Resource(updated.uri.clone()),
        Notification::Initialized(_)
        | Notification::Cancelled(_)
        | Notification::Progress(_)
        | Notification::LogMessage(_)
        | Notification::RootsChanged(_)
        | Notification::ElicitationComplete(_)
        | Notification::SubscriptionAcknowledged(_) => return None,
    })
}
