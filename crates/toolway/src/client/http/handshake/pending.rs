//! What if a reply arrives on another stream than its own? It is accepted: some servers send replies on the stream for
//! their own messages.

use std::collections::HashMap;

use tokio::sync::oneshot;
use toolway_protocol::{Id, Message};

use crate::ground::mutex::Mutex;

/// The requests that wait for a reply.
#[derive(Debug, Default)]
pub(super) struct PendingReplies(Mutex<HashMap<Id, oneshot::Sender<Message>>>);

impl PendingReplies {
    /// Registers a request that waits for its reply, until the guard is dropped.
    pub(super) fn expect(&self, id: &Id) -> Expected<'_> {
        let (sender, reply) = oneshot::channel();
        self.0.lock().insert(id.clone(), sender);
        Expected { pending: self, id: id.clone(), reply }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Passes a reply to the request that waits for it. Returns the message if there is none.
    pub(super) fn take(&self, message: Message) -> Option<Message> {
        let Message::Response { id: Some(id), .. } = &message else { return Some(message) };
        match self.0.lock().remove(id) {
            Some(waiting) => waiting.send(message).err(),
            None => Some(message),
        }
    }
}

/// Guard of a request whose reply may arrive on another stream.
pub(super) struct Expected<'e> {
    pending: &'e PendingReplies,
    id: Id,
    reply: oneshot::Receiver<Message>,
}

impl Expected<'_> {
    pub(super) async fn reply(&mut self) -> Message {
        match (&mut self.reply).await {
            Ok(reply) => reply,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.pending.0.lock().remove(&self.id);
    }
}
