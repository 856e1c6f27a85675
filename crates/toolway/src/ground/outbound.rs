//! How does a running request send messages to its client before the reply?

use std::time::Duration;

use tokio::sync::mpsc;
use toolway_protocol::{Notification, ProtocolVersion};

/// An item that the handler of a request sends to the transport before the reply.
#[derive(Debug)]
pub(crate) enum OutboundItem {
    /// A notification, or any other message that may be lost.
    Frame(Vec<u8>),
    /// A question to the client, which must not be lost.
    Question(Vec<u8>),
    /// The transport may close the connection. The client should reconnect after this time.
    Release(Duration),
}

impl OutboundItem {
    /// Returns the frame of a message; `None` for `Release`. For transports that ignore `Release`, which only sessions
    /// over HTTP support.
    pub(crate) fn into_frame(self) -> Option<Vec<u8>> {
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
}

impl Outbound {
    /// Creates an `Outbound` that sends frames of at most `max_message` bytes to this queue. The queue is bounded: a
    /// handler waits if its peer does not read.
    pub(crate) fn new(queue: mpsc::Sender<OutboundItem>, max_message: usize) -> Self {
        Self { queue: Some(queue), max_message }
    }

    /// Returns whether there is a peer to send to.
    pub(crate) fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// Returns the maximum size of a message in bytes.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message
    }

    /// Returns whether a notification is within the limit. If it is too long, logs a warning, because a notification
    /// has no reply that could report an error; the caller must drop it.
    fn fits(&self, frame: &[u8]) -> bool {
        let fits = frame.len() <= self.max_message;
        if !fits {
            tracing::warn!(
                bytes = frame.len(),
                max_message = self.max_message,
                "a notification exceeds the server's `max_message` and was not sent: send less, or raise the limit"
            );
        }
        fits
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
        if let Some(queue) = self.queue.as_ref().filter(|_| self.fits(&frame)) {
            let _ = queue.send(OutboundItem::Frame(frame)).await;
        }
    }

    /// Sends a question, if there is a peer.
    pub(crate) async fn ask(&self, frame: Vec<u8>) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(OutboundItem::Question(frame)).await;
        }
    }

    /// Sends a notification if the queue has room now, for callers that cannot wait.
    pub(crate) fn try_send_notification(&self, version: ProtocolVersion, news: &Notification) {
        if let Some(queue) = &self.queue {
            let mut frame = Vec::new();
            news.write(&mut frame, version);
            if self.fits(&frame) {
                let _ = queue.try_send(OutboundItem::Frame(frame));
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
