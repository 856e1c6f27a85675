//! How is each of many readers notified, and what is kept for a slow reader? Each reader has a queue of unread items,
//! which is dropped with the reader.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use crate::ground::mutex::Mutex;

/// The items that one reader has not read yet. The implementation limits their number.
pub(super) trait UnreadQueue {
    /// The type of the items.
    type Item;

    /// Removes and returns the oldest item.
    fn take(&mut self) -> Option<Self::Item>;
}

/// All readers. A reader that was dropped is removed when the next reader is added.
pub(super) struct Subscribers<U>(Mutex<Vec<Weak<SubscriberQueue<U>>>>);

/// One reader.
pub(super) struct Subscriber<U>(Arc<SubscriberQueue<U>>);

struct SubscriberQueue<U> {
    state: Mutex<SubscriberState<U>>,
    wake: Notify,
}

struct SubscriberState<U> {
    unread: U,
    is_closed: bool,
}

impl<U> Default for Subscribers<U> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<U> Subscribers<U> {
    /// Adds a reader.
    pub(super) fn add(&self, unread: U) -> Subscriber<U> {
        let state = Mutex::new(SubscriberState { unread, is_closed: false });
        let queue = Arc::new(SubscriberQueue { state, wake: Notify::new() });
        let mut readers = self.0.lock();
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&queue));
        Subscriber(queue)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().iter().all(|reader| reader.strong_count() == 0)
    }

    /// Calls `put` with the unread items of every reader. If `put` returns `true`, there is a new item and the reader
    /// is woken.
    pub(super) fn put(&self, put: impl Fn(&mut U) -> bool) {
        for reader in self.0.lock().iter().filter_map(Weak::upgrade) {
            let is_new = put(&mut reader.state.lock().unread);
            if is_new {
                reader.wake.notify_one();
            }
        }
    }

    /// Ends all subscriptions. Readers can still read their unread items.
    pub(super) fn close(&self) {
        for reader in self.0.lock().drain(..).filter_map(|reader| reader.upgrade()) {
            reader.state.lock().is_closed = true;
            reader.wake.notify_one();
        }
    }
}

impl<U: UnreadQueue> Subscriber<U> {
    /// Waits for the next item. Returns `None` once the subscription has ended.
    pub(super) async fn next(&mut self) -> Option<U::Item> {
        loop {
            let told = self.0.wake.notified();
            {
                let mut state = self.0.state.lock();
                if let Some(item) = state.unread.take() {
                    return Some(item);
                }
                if state.is_closed {
                    return None;
                }
            }
            told.await;
        }
    }

    /// Returns the next item if there is one already.
    pub(super) fn try_next(&mut self) -> Option<U::Item> {
        self.0.state.lock().unread.take()
    }
}

impl<U> Subscriber<U> {
    /// Calls `look` with the unread items, without removing any.
    pub(super) fn unread<T>(&self, look: impl FnOnce(&U) -> T) -> T {
        look(&self.0.state.lock().unread)
    }
}
