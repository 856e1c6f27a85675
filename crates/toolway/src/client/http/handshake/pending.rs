//! What if a reply arrives on a stream that does not belong to its request? The client accepts the reply, because some
//! servers send replies on their own stream (see `listen.rs`).

use tokio::sync::oneshot;
use toolway_protocol::{Id, Message};

use crate::client::http::request::events::ReceivedMessage;
use crate::ground::mutex::Mutex;
use crate::ground::own_ids::OwnIds;

/// The requests that wait for a reply, by id.
#[derive(Debug, Default)]
pub(super) struct PendingReplies(Mutex<OwnIds<oneshot::Sender<ReceivedMessage>>>);

impl PendingReplies {
    /// Registers a request that waits for its reply. Dropping the returned guard removes the request.
    pub(super) fn register(&self, id: &Id) -> ExpectedReply<'_> {
        let (sender, reply) = oneshot::channel();
        self.0.lock().insert(id.clone(), sender);
        ExpectedReply { pending: self, id: id.clone(), reply }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Passes a reply to the request that waits for it. Returns the message if it is not a reply, or if no request
    /// waits for it.
    pub(super) fn deliver(&self, message: ReceivedMessage) -> Option<ReceivedMessage> {
        let Message::Response { id: Some(id), .. } = &message.message else { return Some(message) };
        match self.0.lock().remove(id) {
            Some(waiting) => waiting.send(message).err(),
            None => Some(message),
        }
    }
}

/// A guard of a request whose reply may arrive on the stream of another request or on the server's own stream.
pub(super) struct ExpectedReply<'e> {
    pending: &'e PendingReplies,
    id: Id,
    reply: oneshot::Receiver<ReceivedMessage>,
}

impl ExpectedReply<'_> {
    /// Waits for a reply on another stream. Waits forever if none arrives.
    pub(super) async fn reply(&mut self) -> ReceivedMessage {
        match (&mut self.reply).await {
            Ok(reply) => reply,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for ExpectedReply<'_> {
    fn drop(&mut self) {
        self.pending.0.lock().remove(&self.id);
    }
}
