//! How is each of many readers told, and what is kept for those that do not read? A queue each, which ends with its reader.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use crate::ground::mutex::Mutex;

/// What one reader has not read yet. It keeps its own bound.
pub(super) trait Unread {
    /// What is read.
    type Item;

    /// Takes the oldest item.
    fn take(&mut self) -> Option<Self::Item>;
}

/// All readers. One that is dropped is forgotten.
pub(super) struct Subscribers<U>(Mutex<Vec<Weak<Queue<U>>>>);

/// One reader.
pub(super) struct Subscription<U>(Arc<Queue<U>>);

struct Queue<U> {
    state: Mutex<State<U>>,
    told: Notify,
}

struct State<U> {
    unread: U,
    is_over: bool,
}

impl<U> Default for Subscribers<U> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<U> Subscribers<U> {
    /// Adds a reader.
    pub(super) fn add(&self, unread: U) -> Subscription<U> {
        let state = Mutex::new(State { unread, is_over: false });
        let queue = Arc::new(Queue { state, told: Notify::new() });
        let mut readers = self.0.lock();
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&queue));
        Subscription(queue)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().iter().all(|reader| reader.strong_count() == 0)
    }

    /// Tells every reader; `put` returns whether there is something new to read.
    pub(super) fn put(&self, put: impl Fn(&mut U) -> bool) {
        for reader in self.0.lock().iter().filter_map(Weak::upgrade) {
            let is_new = put(&mut reader.state.lock().unread);
            if is_new {
                reader.told.notify_one();
            }
        }
    }

    /// Ends all subscriptions, after what is unread.
    pub(super) fn close(&self) {
        for reader in self.0.lock().drain(..).filter_map(|reader| reader.upgrade()) {
            reader.state.lock().is_over = true;
            reader.told.notify_one();
        }
    }
}

impl<U: Unread> Subscription<U> {
    /// Waits for the next item; there is none any more once the subscription has ended.
    pub(super) async fn next(&mut self) -> Option<U::Item> {
        loop {
            let told = self.0.told.notified();
            {
                let mut state = self.0.state.lock();
                if let Some(item) = state.unread.take() {
                    return Some(item);
                }
                if state.is_over {
                    return None;
                }
            }
            told.await;
        }
    }

    /// Takes the next item, if it is there already.
    pub(super) fn try_next(&mut self) -> Option<U::Item> {
        self.0.state.lock().unread.take()
    }
}

impl<U> Subscription<U> {
    /// Looks at what is unread.
    pub(super) fn unread<T>(&self, look: impl FnOnce(&U) -> T) -> T {
        look(&self.0.state.lock().unread)
    }
}
