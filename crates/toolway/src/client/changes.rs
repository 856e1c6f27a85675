//! Which changes has the server told that nobody has looked at yet? Each is kept once, however often and among whatever else it was
//! told.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use toolway_protocol::Notification;

use super::watch::Change;

/// How many resources are told one by one. A server may tell of many that lie below one that is watched; then it is that one.
const MAX_UNREAD: usize = 1024;

/// The changes that somebody watches.
#[derive(Debug)]
pub(super) struct Changes(Arc<Unread>);

#[derive(Debug)]
struct Unread {
    watched: HashSet<String>,
    state: Mutex<State>,
    told: Notify,
}

#[derive(Debug, Default)]
struct State {
    changes: VecDeque<Change>,
    known: HashSet<Change>,
    over: bool,
}

impl Changes {
    /// Waits for the next one; nothing comes any more once the client is gone.
    pub(super) async fn next(&mut self) -> Option<Change> {
        loop {
            let told = self.0.told.notified();
            {
                let mut state = self.0.lock();
                if let Some(change) = state.changes.pop_front() {
                    state.known.remove(&change);
                    return Some(change);
                }
                if state.over {
                    return None;
                }
            }
            told.await;
        }
    }
}

impl Unread {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, news: &Notification) {
        let change = match news {
            Notification::ToolsChanged(_) => Change::Tools,
            Notification::PromptsChanged(_) => Change::Prompts,
            Notification::ResourcesChanged(_) => Change::Resources,
            Notification::ResourceUpdated(updated) => match self.about(&updated.uri) {
                Some(watched) if self.lock().changes.len() >= MAX_UNREAD => {
                    Change::Resource(watched.to_owned())
                }
                Some(_) => Change::Resource(updated.uri.clone()),
                None => return,
            },
            Notification::Initialized(_)
            | Notification::Cancelled(_)
            | Notification::Progress(_)
            | Notification::LogMessage(_)
            | Notification::RootsChanged(_)
            | Notification::ElicitationComplete(_)
            | Notification::SubscriptionAcknowledged(_) => return,
        };
        let mut state = self.lock();
        if state.known.insert(change.clone()) {
            state.changes.push_back(change);
            drop(state);
            self.told.notify_one();
        }
    }

    /// What is watched that this is about: a server may tell of something below it, too.
    fn about(&self, uri: &str) -> Option<&str> {
        match self.watched.get(uri) {
            Some(watched) => Some(watched),
            None => self.watched.iter().map(String::as_str).find(|watched| uri.starts_with(watched)),
        }
    }
}

/// Everybody who watches.
#[derive(Debug, Default)]
pub(super) struct Watchers(Mutex<Vec<Weak<Unread>>>);

impl Watchers {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Unread>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody who watches all lists and these resources.
    pub(super) fn add(&self, watched: HashSet<String>) -> Changes {
        let unread = Arc::new(Unread { watched, state: Mutex::default(), told: Notify::new() });
        let mut watchers = self.lock();
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(Arc::downgrade(&unread));
        Changes(unread)
    }

    pub(super) fn tell(&self, news: &Notification) {
        for watcher in self.lock().iter().filter_map(Weak::upgrade) {
            watcher.tell(news);
        }
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        for watcher in self.lock().drain(..).filter_map(|watcher| watcher.upgrade()) {
            watcher.lock().over = true;
            watcher.told.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use toolway_protocol::types::{ResourceUpdated, Told};

    use super::*;

    #[tokio::test]
    async fn a_change_is_told_once_however_often_it_was_said() {
        let watchers = Watchers::default();
        let mut changes = watchers.add(HashSet::from(["file:///a/".to_owned()]));
        for _ in 0..3 {
            watchers.tell(&Notification::ToolsChanged(Told::new()));
            watchers.tell(&Notification::ResourceUpdated(ResourceUpdated::new("file:///b/1")));
        }
        for number in 0..2 * MAX_UNREAD {
            watchers
                .tell(&Notification::ResourceUpdated(ResourceUpdated::new(format!("file:///a/{number}"))));
        }
        watchers.close();
        assert_eq!(changes.next().await, Some(Change::Tools));
        let mut rest = Vec::new();
        while let Some(change) = changes.next().await {
            rest.push(change);
        }
        assert_eq!(rest.len(), MAX_UNREAD);
        assert_eq!(rest[0], Change::Resource("file:///a/0".to_owned()));
        assert_eq!(rest.last(), Some(&Change::Resource("file:///a/".to_owned())));
    }
}
