//! Which receivers get the server's notifications? Readers ([`NotificationReader`]), watchers ([`Changes`]), callbacks,
//! and calls in flight.
//!
//! The receivers stay registered when the client reconnects.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{SetOnce, watch};
use tokio::time::Instant;
use toolway_protocol::types::{LogMessage, Progress};
use toolway_protocol::{Id, Notification};

use crate::client::notifications::changes::{Changes, Watchers};
use crate::client::notifications::readers::{NotificationReader, Readers};
use crate::ground::mutex::Mutex;
use crate::ground::own_ids::OwnIds;
use crate::ground::panic::catch_panic;

/// A callback of the application.
pub(crate) type Hook<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// Receives the progress notifications of one request, each with the memory in bytes that it needs.
pub(crate) type ProgressHook = Arc<dyn Fn(&Progress, usize) + Send + Sync>;

/// All receivers of the notifications of one server.
#[derive(Default)]
pub(crate) struct Notifications {
    readers: Readers,
    watchers: Watchers,
    closed: SetOnce<()>,
    progress: Mutex<OwnIds<ProgressState>>,
    hooks: Hooks,
    /// How often the tool list may have changed: after a notification, after a reconnect, or because a call was
    /// refused.
    tools_version: AtomicU64,
    /// How often the client has reconnected.
    reconnects: watch::Sender<u64>,
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

    pub(crate) fn add_reader(&self) -> NotificationReader {
        self.readers.add_reader()
    }

    /// Adds a watcher, which receives changes and nothing else.
    pub(crate) fn add_watcher(&self, resources: HashSet<String>) -> Changes {
        self.watchers.add_watcher(resources)
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        self.closed.wait().await;
    }

    /// Returns whether there is a hook or a reader for progress, so that every call should request it.
    pub(crate) fn want_progress(&self) -> bool {
        self.hooks.progress.is_some() || !self.readers.is_empty()
    }

    /// Passes a notification to its receivers; `bytes` is the memory that it needs.
    pub(crate) fn deliver(&self, news: &Notification, bytes: usize) {
        match news {
            Notification::Progress(progress) => {
                let hook = self.note_progress(&progress.progress_token);
                call_hook(hook.map(|hook| move |progress: &Progress| hook(progress, bytes)), progress);
                call_hook(self.hooks.progress.as_deref(), progress);
            }
            Notification::LogMessage(message) => call_hook(self.hooks.log.as_deref(), message),
            Notification::ToolsChanged(_) => self.invalidate_tools(),
            // All other notifications go to readers and watchers only.
            Notification::Initialized(_)
            | Notification::Cancelled(_)
            | Notification::PromptsChanged(_)
            | Notification::ResourcesChanged(_)
            | Notification::ResourceUpdated(_)
            | Notification::RootsChanged(_)
            | Notification::ElicitationComplete(_)
            | Notification::SubscriptionAcknowledged(_) => {}
        }
        self.watchers.notify(news);
        // Most clients have no readers.
        self.readers.notify(news, bytes);
    }

    /// Records that every tool list fetched so far may be out of date.
    pub(crate) fn invalidate_tools(&self) {
        self.tools_version.fetch_add(1, Ordering::AcqRel);
    }

    /// Records that the client has reconnected, and notifies the receivers of [`reconnects`](Self::reconnects).
    pub(crate) fn note_reconnected(&self) {
        self.reconnects.send_modify(|openings| *openings += 1);
    }

    /// A receiver that is notified each time the client reconnects.
    pub(crate) fn reconnects(&self) -> watch::Receiver<u64> {
        self.reconnects.subscribe()
    }

    pub(crate) fn tools_version(&self) -> u64 {
        self.tools_version.load(Ordering::Acquire)
    }

    /// Records that the server has reported progress of a request. Returns the hook to call.
    fn note_progress(&self, token: &Id) -> Option<ProgressHook> {
        let mut requests = self.progress.lock();
        let request = requests.get_mut(token)?;
        request.last_progress = Some(Instant::now());
        request.hook.clone()
    }

    /// Registers a request for progress notifications until the guard is dropped. `hook` is called with each of them.
    pub(crate) fn register_progress(&self, id: Id, hook: Option<ProgressHook>) -> ProgressGuard<'_> {
        self.progress.lock().insert(id.clone(), ProgressState { last_progress: None, hook });
        ProgressGuard { notifications: self, id }
    }

    pub(crate) fn close(&self) {
        let _ = self.closed.set(());
        self.watchers.close();
        self.readers.close();
    }
}

/// A request that receives progress.
struct ProgressState {
    /// The time of the last notification.
    last_progress: Option<Instant>,
    /// Called with each notification.
    hook: Option<ProgressHook>,
}

/// Guard of a request that receives progress. Dropping it unregisters the request.
pub(crate) struct ProgressGuard<'n> {
    notifications: &'n Notifications,
    id: Id,
}

impl ProgressGuard<'_> {
    /// The time of the last notification; `None` if there was none.
    pub(crate) fn last_progress(&self) -> Option<Instant> {
        self.notifications.progress.lock().get(&self.id)?.last_progress
    }
}

impl Drop for ProgressGuard<'_> {
    fn drop(&mut self) {
        // The hook is code of the application, so it is dropped after the lock is released.
        let _request = self.notifications.progress.lock().remove(&self.id);
    }
}

/// Calls a hook. If the hook panics, the panic is logged and otherwise ignored.
fn call_hook<T>(hook: Option<impl Fn(&T)>, value: &T) {
    if let Some(hook) = hook
        && let Err(panic) = catch_panic(|| hook(value))
    {
        tracing::error!(%panic, "a callback of the client panicked");
    }
}
