//! Which notifications has a reader not read yet? Their number and size are limited; the oldest are dropped first.

use std::collections::VecDeque;
use std::fmt;

use toolway_protocol::Notification;

use crate::client::notifications::subscribers::{Subscriber, Subscribers, UnreadQueue};

/// The maximum number of unread notifications that are kept for a reader.
const MAX_UNREAD: usize = 1024;

/// The maximum total size, in bytes, of the unread notifications that are kept for a reader. The newest notification is
/// kept even if it is longer.
const MAX_UNREAD_BYTES: usize = 4 << 20;

/// The notifications of a server, in order. Made by
/// [`Client::notifications`](crate::client::Client::notifications).
///
/// If a reader does not keep up, the oldest notifications are dropped: at most 1024 notifications or 4 MiB are kept.
pub struct NotificationReader(Subscriber<UnreadNotifications>);

impl NotificationReader {
    /// Waits for the next notification. Returns `None` once the client is gone.
    pub async fn next(&mut self) -> Option<Notification> {
        self.0.next().await
    }

    /// Returns the next notification if there is one already.
    pub fn try_next(&mut self) -> Option<Notification> {
        self.0.try_next()
    }
}

impl fmt::Debug for NotificationReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationReader")
            .field("unread", &self.0.unread(|unread| unread.queue.len()))
            .finish()
    }
}

/// The notifications that one reader has not read yet.
#[derive(Default)]
pub(super) struct UnreadNotifications {
    queue: VecDeque<(Notification, usize)>,
    bytes: usize,
}

impl UnreadQueue for UnreadNotifications {
    type Item = Notification;

    fn take(&mut self) -> Option<Notification> {
        let (news, bytes) = self.queue.pop_front()?;
        self.bytes -= bytes;
        Some(news)
    }
}

impl UnreadNotifications {
    fn put(&mut self, news: Notification, bytes: usize) {
        self.queue.push_back((news, bytes));
        self.bytes += bytes;
        while self.queue.len() > MAX_UNREAD || (self.bytes > MAX_UNREAD_BYTES && self.queue.len() > 1) {
            self.take();
        }
    }
}

/// All readers of notifications.
pub(super) type Readers = Subscribers<UnreadNotifications>;

impl Readers {
    pub(super) fn add_reader(&self) -> NotificationReader {
        NotificationReader(self.add(UnreadNotifications::default()))
    }

    /// Passes a notification to every reader; `bytes` is the length of its parameters as they were received.
    pub(super) fn notify(&self, news: &Notification, bytes: usize) {
        self.put(|unread| {
            unread.put(news.clone(), bytes);
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use toolway_protocol::types::EmptyParams;

    use super::*;

    #[tokio::test]
    async fn the_oldest_goes_when_there_is_too_much() {
        let readers = Readers::default();
        assert!(readers.is_empty());
        let mut news = readers.add_reader();
        let told = Notification::ToolsChanged(EmptyParams::new());
        for _ in 0..=MAX_UNREAD {
            readers.notify(&told, 10);
        }
        assert_eq!(news.0.unread(|unread| unread.queue.len()), MAX_UNREAD);
        readers.notify(&told, MAX_UNREAD_BYTES + 1);
        assert_eq!(news.0.unread(|unread| unread.queue.len()), 1, "one is kept, however long");
        readers.notify(&told, 1);
        assert_eq!(news.0.unread(|unread| unread.bytes), 1);
        assert!(news.next().await.is_some());
        readers.close();
        assert!(news.next().await.is_none());
        assert!(readers.is_empty());
    }
}
