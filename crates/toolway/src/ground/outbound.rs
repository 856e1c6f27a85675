//! How does a running request send messages to its client before the reply?

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::mpsc;
use toolway_protocol::{Notification, ProtocolVersion};

use crate::ground::budget::{Account, Charge, Resource};
use crate::ground::mutex::Mutex;

/// An item that the handler of a request sends to the transport before the reply.
#[derive(Debug)]
pub(crate) enum OutboundItem {
    /// A notification, or any other message that may be lost.
    Frame(OutboundFrame),
    /// A question to the client, which must not be lost.
    Question(OutboundFrame),
    /// The transport may close the connection. The client should reconnect after this time.
    Release(Duration),
}

/// A message, and the charge to the memory that it takes until it is sent.
#[derive(Debug)]
pub(crate) struct OutboundFrame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) charge: Option<Charge>,
}

impl OutboundItem {
    /// Returns the frame of a message; `None` for `Release`. For transports that ignore `Release`, which only sessions
    /// over HTTP support.
    pub(crate) fn into_frame(self) -> Option<OutboundFrame> {
        match self {
            Self::Frame(frame) | Self::Question(frame) => Some(frame),
            Self::Release(retry) => {
                tracing::debug!(
                    ?retry,
                    "a handler released its connection, which only sessions over HTTP support"
                );
                None
            }
        }
    }
}

/// The sending half of the queue of messages to the peer of one request. The default value has no queue and drops all
/// messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbound {
    queue: Option<Arc<OutboundQueue>>,
}

/// The receiving half of the queue. Dropping it closes the queue.
#[derive(Debug)]
pub(crate) struct OutboundReceiver(Arc<OutboundQueue>);

#[derive(Debug)]
struct OutboundQueue {
    /// Created when the first item is sent, or when the transport waits for it: most requests send nothing. `None` if the
    /// transport has closed the queue before.
    channel: OnceLock<Option<Channel>>,
    max_items: usize,
    max_message: usize,
    /// The account of the peer, if its use is limited.
    account: Option<Arc<Account>>,
}

#[derive(Debug)]
struct Channel {
    sender: mpsc::Sender<OutboundItem>,
    /// `None` once the transport has taken it.
    receiver: Mutex<Option<mpsc::Receiver<OutboundItem>>>,
}

impl OutboundQueue {
    fn channel(&self) -> Option<&Channel> {
        let create = || {
            let (sender, receiver) = mpsc::channel(self.max_items);
            Some(Channel { sender, receiver: Mutex::new(Some(receiver)) })
        };
        self.channel.get_or_init(create).as_ref()
    }

    /// Makes a notification an item of the queue. If it is too long, or if the peer leaves too much unread, returns
    /// `None`, and a warning is logged: a notification has no reply that could report an error.
    fn notification(&self, bytes: Vec<u8>) -> Option<OutboundItem> {
        if bytes.len() > self.max_message {
            tracing::warn!(
                bytes = bytes.len(),
                max_message = self.max_message,
                "a notification exceeds the server's `max_message` and was not sent: send less, or raise the limit"
            );
            return None;
        }
        let charge = match &self.account {
            // The ledger logs the refusal.
            Some(account) => Some(account.charge(Resource::Replies, bytes.len()).ok()?),
            None => None,
        };
        Some(OutboundItem::Frame(OutboundFrame { bytes, charge }))
    }
}

impl OutboundReceiver {
    /// Returns whether nothing was sent so far.
    pub(crate) fn is_unused(&self) -> bool {
        self.0.channel.get().is_none()
    }

    /// Returns the queue itself. It ends when all copies of the sending half are dropped.
    pub(crate) fn into_queue(self) -> mpsc::Receiver<OutboundItem> {
        let receiver = self.0.channel().and_then(|channel| channel.receiver.lock().take());
        receiver.expect("only this value closes the queue or takes the receiver, and it does so once")
    }
}

impl Drop for OutboundReceiver {
    fn drop(&mut self) {
        // A sender may create the channel between the two.
        if self.is_unused() && self.0.channel.set(None).is_ok() {
            return;
        }
        if let Some(channel) = self.0.channel.get().and_then(Option::as_ref) {
            channel.receiver.lock().take();
        }
    }
}

impl Outbound {
    /// Creates a queue for frames of at most `max_message` bytes. It is bounded by `max_items`: a handler waits if its peer
    /// does not read. The frames in it count as replies of the peer.
    pub(crate) fn new(
        max_items: usize,
        max_message: usize,
        account: Option<Arc<Account>>,
    ) -> (Self, OutboundReceiver) {
        let queue = Arc::new(OutboundQueue { channel: OnceLock::new(), max_items, max_message, account });
        (Self { queue: Some(queue.clone()) }, OutboundReceiver(queue))
    }

    /// Returns whether there is a peer to send to.
    pub(crate) fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// Returns the maximum size of a message in bytes.
    pub(crate) fn max_message(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.max_message)
    }

    /// Puts an item into the queue. A peer that has disconnected is not an error.
    async fn put(&self, item: OutboundItem) {
        if let Some(channel) = self.queue.as_ref().and_then(|queue| queue.channel()) {
            let _ = channel.sender.send(item).await;
        }
    }

    /// Sends a notification, if there is a peer. A peer that has disconnected is not an error.
    pub(crate) async fn send_notification(&self, version: ProtocolVersion, news: &Notification) {
        if self.is_open() {
            let mut frame = Vec::with_capacity(128);
            news.write(&mut frame, version);
            self.send(frame).await;
        }
    }

    /// Sends a frame, if there is a peer.
    pub(crate) async fn send(&self, frame: Vec<u8>) {
        if let Some(item) = self.queue.as_ref().and_then(|queue| queue.notification(frame)) {
            self.put(item).await;
        }
    }

    /// Sends a question, if there is a peer. The number of questions is limited, so they are not counted.
    pub(crate) async fn ask(&self, frame: Vec<u8>) {
        self.put(OutboundItem::Question(OutboundFrame { bytes: frame, charge: None })).await;
    }

    /// Sends a notification if the queue has room now, for callers that cannot wait.
    pub(crate) fn try_send_notification(&self, version: ProtocolVersion, news: &Notification) {
        if let Some(queue) = &self.queue {
            let mut frame = Vec::new();
            news.write(&mut frame, version);
            if let (Some(item), Some(channel)) = (queue.notification(frame), queue.channel()) {
                let _ = channel.sender.try_send(item);
            }
        }
    }

    /// Waits until the queue is empty. A sender that combines several changes into one notification waits here before
    /// it sends.
    pub(crate) async fn wait_until_empty(&self) {
        let created = self.queue.as_ref().and_then(|queue| queue.channel.get());
        if let Some(Some(channel)) = created {
            let _ = channel.sender.reserve_many(channel.sender.max_capacity()).await;
        }
    }

    /// Tells the transport that it may close the connection while the call goes on.
    pub(crate) async fn release(&self, retry: Duration) {
        self.put(OutboundItem::Release(retry)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::poll_once::poll_once;

    fn queue() -> (Outbound, OutboundReceiver) {
        Outbound::new(2, 100, None)
    }

    #[tokio::test]
    async fn items_that_were_sent_before_the_transport_waits_are_received() {
        let (outbound, receiver) = queue();
        assert!(receiver.is_unused());
        outbound.send(b"one".to_vec()).await;
        assert!(!receiver.is_unused());
        let mut items = receiver.into_queue();
        outbound.release(Duration::ZERO).await;
        assert!(matches!(items.recv().await, Some(OutboundItem::Frame(frame)) if frame.bytes == b"one"));
        assert!(matches!(items.recv().await, Some(OutboundItem::Release(_))));
    }

    #[tokio::test]
    async fn the_queue_ends_with_the_last_copy_of_its_sending_half() {
        for is_used in [false, true] {
            let (outbound, receiver) = queue();
            if is_used {
                outbound.send(b"one".to_vec()).await;
            }
            let mut items = receiver.into_queue();
            let copy = outbound.clone();
            drop(outbound);
            if is_used {
                assert!(items.recv().await.is_some());
            }
            assert!(poll_once(std::pin::pin!(items.recv())).await.is_pending());
            drop(copy);
            assert!(items.recv().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_handler_does_not_wait_for_a_transport_that_is_gone() {
        for is_used in [false, true] {
            let (outbound, receiver) = queue();
            if is_used {
                outbound.send(b"one".to_vec()).await;
            }
            drop(receiver);
            for _ in 0..4 {
                outbound.send(b"more than the queue takes".to_vec()).await;
            }
            outbound.wait_until_empty().await;
        }
    }
}
