//! What has a server told that nobody has read yet? So much is kept, and the oldest goes first.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use toolway_protocol::Notification;

/// How many notifications are kept for somebody who does not read them.
const MAX_UNREAD: usize = 1024;

/// How many bytes of them.
const MAX_UNREAD_BYTES: usize = 4 << 20;

/// What a server tells unasked, in order. Made by [`Client::news`](crate::client::Client::news).
///
/// Somebody who does not read misses the oldest when there are more than a thousand, or four megabytes.
pub struct News(Arc<Queue>);

impl News {
    /// Waits for the next one; nothing comes any more once the client is gone.
    pub async fn next(&mut self) -> Option<Notification> {
        loop {
            let told = self.0.told.notified();
            {
                let mut unread = self.0.lock();
                if let Some(news) = unread.take() {
                    return Some(news);
                }
                if unread.over {
                    return None;
                }
            }
            told.await;
        }
    }

    /// The next one, if it is there already.
    pub fn try_next(&mut self) -> Option<Notification> {
        self.0.lock().take()
    }
}

impl fmt::Debug for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("News").field("unread", &self.0.lock().news.len()).finish()
    }
}

#[derive(Default)]
struct Queue {
    unread: Mutex<Unread>,
    told: Notify,
}

#[derive(Default)]
struct Unread {
    news: VecDeque<(Notification, usize)>,
    bytes: usize,
    over: bool,
}

impl Unread {
    fn take(&mut self) -> Option<Notification> {
        let (news, bytes) = self.news.pop_front()?;
        self.bytes -= bytes;
        Some(news)
    }

    fn put(&mut self, news: Notification, bytes: usize) {
        self.news.push_back((news, bytes));
        self.bytes += bytes;
        while self.news.len() > MAX_UNREAD || (self.bytes > MAX_UNREAD_BYTES && self.news.len() > 1) {
            self.take();
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everybody who reads.
#[derive(Default)]
pub(crate) struct Readers(Mutex<Vec<Weak<Queue>>>);

impl Readers {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self) -> News {
        let queue = Arc::new(Queue::default());
        let mut readers = self.lock();
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&queue));
        News(queue)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().iter().all(|reader| reader.strong_count() == 0)
    }

    /// Hands a notification to everybody; `bytes` is how much it was on the wire.
    pub(crate) fn tell(&self, news: &Notification, bytes: usize) {
        for reader in self.lock().iter().filter_map(Weak::upgrade) {
            reader.lock().put(news.clone(), bytes);
            reader.told.notify_one();
        }
    }

    /// Nothing comes any more.
    pub(crate) fn close(&self) {
        for reader in self.lock().drain(..).filter_map(|reader| reader.upgrade()) {
            reader.lock().over = true;
            reader.told.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use toolway_protocol::types::Told;

    use super::*;

    #[tokio::test]
    async fn the_oldest_goes_when_there_is_too_much() {
        let readers = Readers::default();
        assert!(readers.is_empty());
        let mut news = readers.add();
        let told = Notification::ToolsChanged(Told::new());
        for _ in 0..=MAX_UNREAD {
            readers.tell(&told, 10);
        }
        assert_eq!(news.0.lock().news.len(), MAX_UNREAD);
        readers.tell(&told, MAX_UNREAD_BYTES + 1);
        assert_eq!(news.0.lock().news.len(), 1, "one is kept, however long");
        readers.tell(&told, 1);
        assert_eq!(news.0.lock().bytes, 1);
        assert!(news.next().await.is_some());
        readers.close();
        assert!(news.next().await.is_none());
        assert!(readers.is_empty());
    }
}
