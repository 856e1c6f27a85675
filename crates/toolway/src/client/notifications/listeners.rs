//! Who receives the server's notifications? Readers of the news, callbacks, and calls in flight.
//!
//! The receivers outlive connections: they stay registered when the client reconnects.

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

/// A callback of the application.
pub(crate) type Hook<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// All receivers of the notifications of one server.
#[derive(Default)]
pub(crate) struct Notifications {
    readers: Readers,
    watchers: Watchers,
    closed: SetOnce<()>,
    calls: Mutex<HashMap<Id, Arc<Heard>>>,
    hooks: Hooks,
    /// How often the tool list changed, or the client reconnected.
    tools_changes: AtomicU64,
    /// How often the client reconnected.
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

    /// Adds a watcher, which receives changes and nothing else.
    pub(crate) fn watch(&self, resources: HashSet<String>) -> Changes {
        self.watchers.watch(resources)
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        self.closed.wait().await;
    }

    /// Returns whether a hook or a reader wants the progress of calls that do not request it themselves.
    pub(crate) fn want_progress(&self) -> bool {
        self.hooks.progress.is_some() || !self.readers.is_empty()
    }

    /// Takes a notification; `bytes` is the length of its parameters on the wire.
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
            // The others go to readers and watchers only.
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
        // Most clients have no readers.
        self.readers.tell(news, bytes);
    }

    /// Records that a tool list from before may be out of date.
    pub(crate) fn tools_changed(&self) {
        self.tools_changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Records that the client has reconnected; the new connection knows nothing about the old one.
    pub(crate) fn opened_again(&self) {
        self.openings.send_modify(|openings| *openings += 1);
    }

    /// A receiver that is notified each time the client reconnects.
    pub(crate) fn openings(&self) -> watch::Receiver<u64> {
        self.openings.subscribe()
    }

    pub(crate) fn tools_changes(&self) -> u64 {
        self.tools_changes.load(Ordering::Acquire)
    }

    /// Records the progress of one request until the guard is dropped.
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

/// The time of the last progress of a request, and its hook.
pub(crate) struct Heard {
    last: Mutex<Instant>,
    hook: Option<Hook<Progress>>,
}

/// Guard of a request whose progress is recorded.
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

/// Calls a hook. A panic is logged and otherwise ignored.
fn call<T>(hook: Option<&Hook<T>>, value: &T) {
    if let Some(hook) = hook
        && let Err(panic) = attempt(|| hook(value))
    {
        tracing::error!(%panic, "a callback of the client panicked");
    }
}
