//! How does a running request send messages to its client before the reply?

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use toolway_protocol::{Notification, ProtocolVersion};

use crate::ground::budget::{Account, Charge, Resource};

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
    queue: Option<mpsc::Sender<OutboundItem>>,
    max_message: usize,
    /// The account of the peer, if its use is limited.
    account: Option<Arc<Account>>,
}

impl Outbound {
    /// Creates an `Outbound` that sends frames of at most `max_message` bytes to this queue. The queue is bounded: a
    /// handler waits if its peer does not read. The frames in it count as replies of the peer.
    pub(crate) fn new(
        queue: mpsc::Sender<OutboundItem>,
        max_message: usize,
        account: Option<Arc<Account>>,
    ) -> Self {
        Self { queue: Some(queue), max_message, account }
    }

    /// Returns whether there is a peer to send to.
    pub(crate) fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// Returns the maximum size of a message in bytes.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message
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
        if let Some(queue) = &self.queue
            && let Some(item) = self.notification(frame)
        {
            let _ = queue.send(item).await;
        }
    }

    /// Sends a question, if there is a peer. The number of questions is limited, so they are not counted.
    pub(crate) async fn ask(&self, frame: Vec<u8>) {
        if let Some(queue) = &self.queue {
            let frame = OutboundFrame { bytes: frame, charge: None };
            let _ = queue.send(OutboundItem::Question(frame)).await;
        }
    }

    /// Sends a notification if the queue has room now, for callers that cannot wait.
    pub(crate) fn try_send_notification(&self, version: ProtocolVersion, news: &Notification) {
        if let Some(queue) = &self.queue {
            let mut frame = Vec::new();
            news.write(&mut frame, version);
            if let Some(item) = self.notification(frame) {
                let _ = queue.try_send(item);
            }
        }
    }

    /// Waits until the queue is empty. A sender that combines several changes into one notification waits here before
    /// it sends.
    pub(crate) async fn wait_until_empty(&self) {
        if let Some(queue) = &self.queue {
            let _ = queue.reserve_many(queue.max_capacity()).await;
        }
    }

    /// Tells the transport that it may close the connection while the call goes on.
    pub(crate) async fn release(&self, retry: Duration) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(OutboundItem::Release(retry)).await;
        }
    }
}
