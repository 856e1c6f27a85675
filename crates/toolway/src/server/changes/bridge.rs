//! How do servers that share a store learn of each other's changes?
//!
//! Changes are a log in the store; a message on a channel tells servers to read it. So a lost message, or a store that is
//! away for a moment, loses no change. Each server numbers its changes, because one whose answer was lost is appended
//! again: readers skip the copy. One task per server appends local changes, and passes the
//! changes of other servers to local listeners. The task starts when the first listener is added, or the first change is
//! announced, inside a tokio runtime.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::ground::random::random_hex;
use crate::server::changes::listeners::{Change, Listener, Listeners};
use crate::store::{
    Answer, Append, Keep, LogEntry, LogPage, Operation, Outcome, Result, Room, Step, Store, Subscription,
};

/// The connection between a server and the other servers that share its store.
#[derive(Debug)]
pub(crate) struct Bridge {
    log: ChangeLog,
    /// Collects every change of this server.
    here: Arc<Listener>,
    task: OnceLock<AbortHandle>,
}

/// The stored log of changes.
#[derive(Debug, Clone)]
struct ChangeLog {
    store: Arc<dyn Store>,
    /// The group of the log, and the channel that tells servers to read it.
    group: String,
    /// Identifies this server, so that it can ignore its own changes.
    node: String,
}

impl Bridge {
    pub(crate) fn new(store: Arc<dyn Store>, server: &str) -> Self {
        let log = ChangeLog { store, group: format!("c/{server}"), node: random_hex::<8>() };
        Self { log, here: Arc::new(Listener::for_everything()), task: OnceLock::new() }
    }

    pub(crate) fn local_changes(&self) -> &Arc<Listener> {
        &self.here
    }

    /// Starts the task, unless it runs already or the caller is outside of a tokio runtime.
    pub(crate) fn start(&self, listeners: &Arc<Listeners>) {
        let Ok(runtime) = Handle::try_current() else { return };
        self.task.get_or_init(|| {
            let task = BridgeTask {
                log: self.log.clone(),
                here: self.here.clone(),
                listeners: listeners.clone(),
                unconfirmed: None,
                numbered: 0,
                seen: HashMap::new(),
                last_read: None,
            };
            runtime.spawn(task.run()).abort_handle()
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

/// An entry of the log.
#[derive(Serialize, Deserialize)]
struct StoredChange {
    node: String,
    /// Counts the changes of this node.
    number: u64,
    change: Change,
}

impl ChangeLog {
    /// Writes an entry.
    fn entry(&self, number: u64, change: Change) -> Bytes {
        let stored = StoredChange { node: self.node.clone(), number, change };
        serde_json::to_vec(&stored).unwrap_or_default().into()
    }

    async fn append(&self, bytes: Bytes) -> Result<()> {
        let append = Append {
            log: "changes".into(),
            writer: self.node.clone().into(),
            first: None,
            entries: vec![LogEntry { bytes, keep: Keep::WhileThereIsRoom }],
            ends: false,
            room: KEPT_CHANGES,
            ttl: CHANGES_KEPT_FOR,
        };
        let publish = Operation::Publish { channel: self.group.clone().into(), message: Bytes::new() };
        self.store.run(&self.group, &Step::new().then(append).then(publish)).await.map(drop)
    }

    /// Returns the changes after a number. `None` if the log does not exist.
    async fn read(&self, after: u64) -> Result<Option<LogPage>> {
        let read = Step::new().then(Operation::Read { log: "changes".into(), after, limit: PAGE });
        match self.store.run(&self.group, &read).await? {
            Outcome::Done(mut answers) => match answers.pop() {
                Some(Answer::Page(page)) => Ok(page),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

struct BridgeTask {
    log: ChangeLog,
    here: Arc<Listener>,
    listeners: Arc<Listeners>,
    /// A change of this server that the store has not confirmed.
    unconfirmed: Option<Bytes>,
    /// How many changes of this server were numbered.
    numbered: u64,
    /// The number of the last change of each other server.
    seen: HashMap<String, u64>,
    /// The number of the last entry that was read; `None` before the first look.
    last_read: Option<u64>,
}

impl BridgeTask {
    async fn run(mut self) {
        loop {
            match self.log.store.subscribe(&self.log.group).await {
                Ok(mut channel) => {
                    if let Err(error) = self.relay(&mut *channel).await {
                        tracing::error!(%error, "changes cannot be exchanged with other servers");
                    }
                }
                Err(error) => tracing::error!(%error, "cannot subscribe to the changes of other servers"),
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn relay(&mut self, channel: &mut dyn Subscription) -> Result<()> {
        loop {
            self.append_unconfirmed().await?;
            // The log is read after the subscription, so that no change is missed between the two.
            self.read_changes().await?;
            let mut look = Instant::now() + LOOK_INTERVAL;
            loop {
                tokio::select! {
                    biased;
                    () = self.here.changed() => self.append_changes().await?,
                    _ = channel.next() => {
                        // Changes that follow each other closely are read together.
                        look = look.min(Instant::now() + READ_DELAY);
                    }
                    () = tokio::time::sleep_until(look) => break,
                }
            }
        }
    }

    /// Tells other servers of the changes of this one.
    async fn append_changes(&mut self) -> Result<()> {
        let here = self.here.clone();
        let mut untold = here.unsent_for(|_| true);
        while let Some(news) = untold.first() {
            if let Some(change) = Change::of(news) {
                self.numbered += 1;
                self.unconfirmed = Some(self.log.entry(self.numbered, change));
            }
            untold.mark_sent();
            self.append_unconfirmed().await?;
        }
        Ok(())
    }

    async fn append_unconfirmed(&mut self) -> Result<()> {
        if let Some(entry) = &self.unconfirmed {
            self.log.append(entry.clone()).await?;
            self.unconfirmed = None;
        }
        Ok(())
    }

    /// Reads the changes since the last look, and passes those of other servers to the listeners.
    async fn read_changes(&mut self) -> Result<()> {
        loop {
            let page = self.log.read(self.last_read.unwrap_or(BEYOND_ANY)).await?;
            let last = page.as_ref().map_or(0, |page| page.last);
            // The first look only finds out where the log ends. A log that is shorter than before was lost, and one whose
            // next change is missing was cut: then anything may have changed.
            let Some(before) = self.last_read.replace(last) else {
                // A change may have come since the listeners were added: the look may have waited for the store.
                if last > 0 {
                    self.listeners.notify_everything(&self.here);
                }
                return Ok(());
            };
            let entries = page.map(|page| page.entries).unwrap_or_default();
            let is_next = |entry: &(u64, Bytes)| entry.0 == before + 1;
            if last < before || (last > before && !entries.first().is_some_and(is_next)) {
                self.listeners.notify_everything(&self.here);
                return Ok(());
            }
            let Some((number, _)) = entries.last() else { return Ok(()) };
            self.last_read = Some(*number);
            for (_, entry) in &entries {
                self.deliver(entry);
            }
        }
    }

    fn deliver(&mut self, entry: &Bytes) {
        match serde_json::from_slice::<StoredChange>(entry) {
            Ok(stored) if stored.node != self.log.node => {
                if self.seen.len() >= MAX_NODES && !self.seen.contains_key(&stored.node) {
                    self.seen.clear();
                }
                let before = self.seen.insert(stored.node, stored.number);
                if before != Some(stored.number) {
                    self.listeners.notify(&stored.change, Some(&self.here));
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a change of another server cannot be read"),
        }
    }
}

/// How long the task waits after the store has failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long changes are collected before they are read.
const READ_DELAY: Duration = Duration::from_millis(20);
/// How often the log is read without a message, because a message can be lost.
const LOOK_INTERVAL: Duration = Duration::from_secs(15);
/// How many changes are read at once.
const PAGE: Room = Room { entries: 256, bytes: 1 << 20 };
/// How many changes the log holds.
const KEPT_CHANGES: Room = Room { entries: 10_000, bytes: 4 << 20 };
/// How long the log is kept after the last change.
const CHANGES_KEPT_FOR: Duration = Duration::from_secs(60 * 60);
/// How many servers are remembered. Most of them have stopped.
const MAX_NODES: usize = 1_000;
/// A number that no change has, and that every store can compare.
const BEYOND_ANY: u64 = 1 << 52;
