//! Which changes has a watcher not seen yet? Each unseen change is kept once, even if the server reports it several
//! times.

use std::collections::{HashSet, VecDeque};

use toolway_protocol::Notification;

use crate::client::notifications::subscribers::{Subscriber, Subscribers, UnreadQueue};

/// The maximum number of unread changes that are kept individually. A server may report many resources below a watched
/// one. Beyond this limit, a change of such a resource is recorded as a change of the watched resource.
const MAX_UNREAD: usize = 1024;

/// The maximum total length in bytes of the URIs of unread changes. Beyond this limit, the same applies.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// A change that the server has reported.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The tool list changed.
    Tools,
    /// The prompt list changed.
    Prompts,
    /// The resource list changed.
    Resources,
    /// The content of this resource changed.
    Resource(String),
}

impl Change {
    /// The length of the URI.
    fn len(&self) -> usize {
        match self {
            Self::Resource(uri) => uri.len(),
            Self::Tools | Self::Prompts | Self::Resources => 0,
        }
    }
}

/// The changes for one watcher.
pub(crate) struct Changes(Subscriber<UnreadChanges>);

impl Changes {
    /// Waits for the next change. Returns `None` once the client is gone.
    pub(crate) async fn next(&mut self) -> Option<Change> {
        self.0.next().await
    }
}

/// The changes that one watcher has not seen yet.
pub(super) struct UnreadChanges {
    watched: HashSet<String>,
    changes: VecDeque<Change>,
    queued: HashSet<Change>,
    /// The total length of the URIs in `changes`.
    bytes: usize,
}

impl UnreadQueue for UnreadChanges {
    type Item = Change;

    fn take(&mut self) -> Option<Change> {
        let change = self.changes.pop_front()?;
        self.queued.remove(&change);
        self.bytes -= change.len();
        Some(change)
    }
}

impl UnreadChanges {
    /// Records the change that a notification reports. Returns `false` if the change is already recorded, or if the
    /// notification is not about anything that is watched.
    fn put(&mut self, news: &Notification) -> bool {
        let change = match news {
            Notification::ToolsChanged(_) => Change::Tools,
            Notification::PromptsChanged(_) => Change::Prompts,
            Notification::ResourcesChanged(_) => Change::Resources,
            Notification::ResourceUpdated(updated) => match self.watched_ancestor(&updated.uri) {
                Some(watched)
                    if self.changes.len() >= MAX_UNREAD
                        || self.bytes + updated.uri.len() > MAX_UNREAD_BYTES =>
                {
                    Change::Resource(watched.to_owned())
                }
                Some(_) => Change::Resource(updated.uri.clone()),
                None => return false,
            },
            Notification::Initialized(_)
            | Notification::Cancelled(_)
            | Notification::Progress(_)
            | Notification::LogMessage(_)
            | Notification::RootsChanged(_)
            | Notification::ElicitationComplete(_)
            | Notification::SubscriptionAcknowledged(_) => return false,
        };
        let is_new = self.queued.insert(change.clone());
        if is_new {
            self.bytes += change.len();
            self.changes.push_back(change);
        }
        is_new
    }

    /// The watched resource to which a change of `uri` belongs: the same resource, or one with a URI that `uri` starts
    /// with. A server may also report changes of resources below a watched one.
    fn watched_ancestor(&self, uri: &str) -> Option<&str> {
        match self.watched.get(uri) {
            Some(watched) => Some(watched),
            None => self.watched.iter().map(String::as_str).find(|watched| uri.starts_with(watched)),
        }
    }
}

pub(super) type Watchers = Subscribers<UnreadChanges>;

impl Watchers {
    /// Adds a watcher of all lists and of these resources.
    pub(super) fn add_watcher(&self, watched: HashSet<String>) -> Changes {
        Changes(self.add(UnreadChanges {
            watched,
            changes: VecDeque::new(),
            queued: HashSet::new(),
            bytes: 0,
        }))
    }

    /// Passes a notification to every watcher.
    pub(super) fn notify(&self, news: &Notification) {
        self.put(|unread| unread.put(news));
    }
}

#[cfg(test)]
mod tests {
    use toolway_protocol::types::{EmptyParams, ResourceUpdated};

    use super::*;

    #[tokio::test]
    async fn a_change_is_told_once_however_often_it_was_said() {
        let watchers = Watchers::default();
        let mut changes = watchers.add_watcher(HashSet::from(["file:///a/".to_owned()]));
        for _ in 0..3 {
            watchers.notify(&Notification::ToolsChanged(EmptyParams::new()));
            watchers.notify(&Notification::ResourceUpdated(ResourceUpdated::new("file:///b/1")));
        }
        for number in 0..2 * MAX_UNREAD {
            watchers
                .notify(&Notification::ResourceUpdated(ResourceUpdated::new(format!("file:///a/{number}"))));
        }
        let long = "file:///a/".to_owned() + &"x".repeat(MAX_UNREAD_BYTES);
        watchers.notify(&Notification::ResourceUpdated(ResourceUpdated::new(long)));
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
