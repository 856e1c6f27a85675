//! What do all transports over a pipe have in common?

use std::sync::Arc;

use toolway_protocol::Message;

use crate::client::pipe::received::Received;
use crate::client::pipe::state::{PipeState, closed};
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::Outgoing;
use crate::client::wire::transport::Transport;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// A transport over a pipe. Dropping it ends the pipe.
pub(crate) struct PipeTransport<E: FarEnd> {
    pipe: Arc<PipeState>,
    /// The message limit that was set for this server. It overrides the limit of the client.
    max_message: Option<usize>,
    end: E,
}

/// The server at the other end of a pipe.
pub(crate) trait FarEnd: Send + Sync + 'static {
    /// Returns a text that may explain why the server does not answer.
    fn diagnosis(&self, received: &Received) -> Option<String>;

    /// Waits until the other end is gone. Called after the pipe was ended.
    fn closed(&self) -> BoxFuture<'_, Result<()>>;

    /// Called when the transport is dropped, after the pipe was ended.
    fn abandon(&self) {}
}

impl<E: FarEnd> PipeTransport<E> {
    pub(crate) fn new(pipe: Arc<PipeState>, max_message: Option<usize>, end: E) -> Self {
        Self { pipe, max_message, end }
    }
}

impl<E: FarEnd> Transport for PipeTransport<E> {
    fn carry(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Option<Message>>> {
        Box::pin(self.pipe.carry(outgoing))
    }

    fn deliver_to(&self, inbox: Inbox) {
        self.pipe.deliver_to(inbox);
    }

    fn is_connected(&self) -> bool {
        !self.pipe.is_fading()
    }

    fn lost(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pipe.ended())
    }

    fn use_max_message(&self, bytes: usize) -> usize {
        let bytes = self.max_message.unwrap_or(bytes);
        self.pipe.use_max_message(bytes);
        bytes
    }

    fn diagnosis(&self) -> Option<String> {
        self.end.diagnosis(&self.pipe.received)
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            self.pipe.end(closed());
            self.end.closed().await
        })
    }
}

impl<E: FarEnd> Drop for PipeTransport<E> {
    fn drop(&mut self) {
        self.pipe.end(closed());
        self.end.abandon();
    }
}
