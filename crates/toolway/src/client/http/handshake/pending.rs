//! What if a reply comes on another stream than its own? Then it is still the reply: some servers answer on the stream that
//! they speak on unasked.

use std::collections::HashMap;

use tokio::sync::oneshot;
use toolway_protocol::{Id, Message};

use crate::ground::mutex::Mutex;

/// The requests whose replies are waited for.
#[derive(Debug, Default)]
pub(super) struct PendingReplies(Mutex<HashMap<Id, oneshot::Sender<Message>>>);

impl PendingReplies {
    /// Waits for the reply to a request, until the wait is dropped.
    pub(super) fn expect(&self, id: &Id) -> Expected<'_> {
        let (sender, reply) = oneshot::channel();
        self.0.lock().insert(id.clone(), sender);
        Expected { pending: self, id: id.clone(), reply }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Takes a message that came on a stream of no request; gives it back if nobody waits for it.
    pub(super) fn take(&self, message: Message) -> Option<Message> {
        let Message::Response { id: Some(id), .. } = &message else { return Some(message) };
        match self.0.lock().remove(id) {
            Some(waiting) => waiting.send(message).err(),
            None => Some(message),
        }
    }
}

/// A reply that may come on another stream.
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
