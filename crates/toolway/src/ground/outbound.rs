//! Where do notifications that belong to one request go? To whoever asked, or nowhere.

use std::time::Duration;

use tokio::sync::mpsc;
use toolway_protocol::{Notification, ProtocolVersion};

/// What a request says while it runs.
#[derive(Debug)]
pub(crate) enum Said {
    /// This message.
    Frame(Vec<u8>),
    /// This question, which must not be lost.
    Question(Vec<u8>),
    /// That its connection may be closed; the client is to come back after so long.
    Release(Duration),
}

impl Said {
    /// The message, if it is one. Most ways to a peer are all there is, and cannot be released.
    pub(crate) fn into_frame(self) -> Option<Vec<u8>> {
        match self {
            Self::Frame(frame) | Self::Question(frame) => Some(frame),
            Self::Release(retry) => {
                tracing::debug!(?retry, "a handler let its connection go, which only sessions over HTTP can");
                None
            }
        }
    }
}

/// The way to the peer of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbound {
    queue: Option<mpsc::Sender<Said>>,
    max_message: usize,
}

impl Outbound {
    /// Frames of at most `max_message` bytes go into this queue. It is bounded: a handler waits while its peer does not read.
    pub(crate) fn to(queue: mpsc::Sender<Said>, max_message: usize) -> Self {
        Self { queue: Some(queue), max_message }
    }

    /// Whether there is anybody to tell.
    pub(crate) fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// The most bytes that a message may have.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message
    }

    /// Checks the size of a notification. One that is too long is lost: it has no reply that could fail instead.
    fn takes(&self, frame: &[u8]) -> bool {
        let fits = frame.len() <= self.max_message;
        if !fits {
            tracing::warn!(
                bytes = frame.len(),
                max_message = self.max_message,
                "a notification is longer than the server's `max_message`, and was not sent: say less, or raise it"
            );
        }
        fits
    }

    /// Tells the peer, if there is a way. A peer that has gone is no failure of the teller.
    pub(crate) async fn tell(&self, version: ProtocolVersion, news: &Notification) {
        if self.is_open() {
            let mut frame = Vec::with_capacity(128);
            news.write(&mut frame, version);
            self.send(frame).await;
        }
    }

    /// Sends a frame, if there is a way.
    pub(crate) async fn send(&self, frame: Vec<u8>) {
        if let Some(queue) = self.queue.as_ref().filter(|_| self.takes(&frame)) {
            let _ = queue.send(Said::Frame(frame)).await;
        }
    }

    /// Sends a question, if there is a way.
    pub(crate) async fn ask(&self, frame: Vec<u8>) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(Said::Question(frame)).await;
        }
    }

    /// Tells the peer if that is possible at once, for whoever cannot wait.
    pub(crate) fn mention(&self, version: ProtocolVersion, news: &Notification) {
        if let Some(queue) = &self.queue {
            let mut frame = Vec::new();
            news.write(&mut frame, version);
            if self.takes(&frame) {
                let _ = queue.try_send(Said::Frame(frame));
            }
        }
    }

    /// Waits until everything that was said before was taken. What can be told once for all that happens meanwhile waits
    /// for this.
    pub(crate) async fn drained(&self) {
        if let Some(queue) = &self.queue {
            let _ = queue.reserve_many(queue.max_capacity()).await;
        }
    }

    /// Says that the connection may be closed meanwhile.
    pub(crate) async fn release(&self, retry: Duration) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(Said::Release(retry)).await;
        }
    }
}
