//! Where do notifications that belong to one request go? To whoever asked, or nowhere.

use tokio::sync::mpsc;
use toolway_protocol::{Notification, ProtocolVersion};

/// The way to the peer of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbound(Option<mpsc::Sender<Vec<u8>>>);

impl Outbound {
    /// Frames go into this queue. It is bounded: a handler waits while its peer does not read.
    pub(crate) fn to(queue: mpsc::Sender<Vec<u8>>) -> Self {
        Self(Some(queue))
    }

    /// Whether there is anybody to tell.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
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
        if let Some(queue) = &self.0 {
            let _ = queue.send(frame).await;
        }
    }
}
