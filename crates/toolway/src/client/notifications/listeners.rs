//! Who hears what the server says? Readers of the news, callbacks, and calls that wait.
//!
//! It outlives connections: whoever listens goes on listening when the server was started again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{SetOnce, watch};
use tokio::time::Instant;
use toolway_protocol::types::{LogMessage, Progress};
use toolway_protocol::{Id, Notification};

use crate::client::notifications::changes::{Changes, Watchers};
use crate::client::notifications::news::{News, Readers};
use crate::ground::mutex::Mutex;
use crate::ground::panic::attempt;

/// Something of the application that is told of each `T`.
pub(crate) type Hook<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// Everybody who listens to one server.
#[derive(Default)]
pub(crate) struct Notifications {
    readers: Readers,
    watchers: Watchers,
    closed: SetOnce<()>,
    calls: Mutex<HashMap<Id, Arc<Heard>>>,
    hooks: Hooks,
    /// How often the server said that its tools are others now, or was started again.
    tools_changes: AtomicU64,
    /// How often the conversation was opened again.
    openings: watch::Sender<u64>,
}

/// The callbacks of a client.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) log: Option<Hook<LogMessage>>,
    pub(crate) progress: Option<Hook<Progress>>,
}

impl Notifications {
    pub(crate) fn new(hooks: Hooks) -> Self {
        Self { hooks, ..Self::default() }
    }

    pub(crate) fn listen(&self) -> News {
        self.readers.listen()
    }

    /// Somebody who wants to hear of changes, and of nothing else.
    pub(crate) fn watch(&self, resources: HashSet<String>) -> Changes {
        self.watchers.watch(resources)
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        self.closed.wait().await;
    }

    /// Whether anybody wants to hear of the progress of calls that do not say so themselves.
    pub(crate) fn want_progress(&self) -> bool {
        self.hooks.progress.is_some() || !self.readers.is_empty()
    }

    /// Takes what the server says; `bytes` is how much it was on the wire.
    pub(crate) fn take(&self, news: &Notification, bytes: usize) {
        match news {
            Notification::Progress(progress) => {
                let heard = self.calls.lock().get(&progress.progress_token).cloned();
                if let Some(heard) = heard {
                    *heard.last.lock() = Instant::now();
                    call(heard.hook.as_ref(), progress);
                }
                call(self.hooks.progress.as_ref(), progress);
            }
            Notification::LogMessage(message) => call(self.hooks.log.as_ref(), message),
            Notification::ToolsChanged(_) => self.tools_changed(),
            // The rest is only for those who read it.
            Notification::Initialized(_)
            | Notification::Cancelled(_)
            | Notification::PromptsChanged(_)
            | Notification::ResourcesChanged(_)
            | Notification::ResourceUpdated(_)
            | Notification::RootsChanged(_)
            | Notification::ElicitationComplete(_)
            | Notification::SubscriptionAcknowledged(_) => {}
        }
        self.watchers.tell(news);
        // Nobody reads: that is what most clients do.
        self.readers.tell(news, bytes);
    }

    /// From now on, what was listed before may be wrong.
    pub(crate) fn tools_changed(&self) {
        self.tools_changes.fetch_add(1, Ordering::AcqRel);
    }

    /// There is another connection now, which knows nothing of what was before.
    pub(crate) fn opened_again(&self) {
        self.openings.send_modify(|openings| *openings += 1);
    }

    /// Tells when the conversation is opened again.
    pub(crate) fn openings(&self) -> watch::Receiver<u64> {
        self.openings.subscribe()
    }

    pub(crate) fn tools_changes(&self) -> u64 {
        self.tools_changes.load(Ordering::Acquire)
    }

    /// Listens to the progress of one request, until the guard is dropped.
    pub(crate) fn hear(self: &Arc<Self>, id: Id, hook: Option<Hook<Progress>>) -> Hearing {
        let heard = Arc::new(Heard { last: Mutex::new(Instant::now()), hook });
        self.calls.lock().insert(id.clone(), heard.clone());
        Hearing { notifications: self.clone(), id, heard }
    }

    pub(crate) fn close(&self) {
        let _ = self.closed.set(());
        self.watchers.close();
        self.readers.close();
    }
}

/// When something of a request was heard last, and who is told.
pub(crate) struct Heard {
    last: Mutex<Instant>,
    hook: Option<Hook<Progress>>,
}

/// One request that is listened to.
pub(crate) struct Hearing {
    notifications: Arc<Notifications>,
    id: Id,
    heard: Arc<Heard>,
}

impl Hearing {
    pub(crate) fn last(&self) -> Instant {
        *self.heard.last.lock()
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.notifications.calls.lock().remove(&self.id);
    }
}

/// A callback that panics is one that heard nothing.
fn call<T>(hook: Option<&Hook<T>>, value: &T) {
    if let Some(hook) = hook
        && let Err(panic) = attempt(|| hook(value))
    {
        tracing::error!(%panic, "a callback of the client panicked");
    }
}
