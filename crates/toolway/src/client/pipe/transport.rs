//! What do all transports over a pipe have in common?

use std::sync::Arc;

use toolway_protocol::Message;

use crate::client::pipe::output_record::OutputRecord;
use crate::client::pipe::state::{PipeState, closed_error};
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::client::wire::transport::Transport;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// A transport over a pipe. Dropping it ends the pipe.
pub(crate) struct PipeTransport<E: FarEnd> {
    pipe: Arc<PipeState>,
    /// The message limit that was set for this server. It overrides the limit of the client.
    max_message: Option<usize>,
    far_end: E,
}

/// The server at the other end of a pipe.
pub(crate) trait FarEnd: Send + Sync + 'static {
    /// Returns a text that may explain why the server does not answer.
    fn diagnosis(&self, received: &OutputRecord) -> Option<String>;

    /// Waits until the other end is gone. Called after the pipe was ended.
    fn closed(&self) -> BoxFuture<'_, Result<()>>;

    /// Called when the transport is dropped, after the pipe was ended.
    fn on_drop(&self) {}
}

impl<E: FarEnd> PipeTransport<E> {
    pub(crate) fn new(pipe: Arc<PipeState>, max_message: Option<usize>, end: E) -> Self {
        Self { pipe, max_message, far_end: end }
    }
}

impl<E: FarEnd> Transport for PipeTransport<E> {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<Option<Message>>> {
        Box::pin(self.pipe.send(outgoing))
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.pipe.set_inbox(inbox);
    }

    fn is_connected(&self) -> bool {
        !self.pipe.has_stopped_sending()
    }

    fn disconnected(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pipe.ended())
    }

    fn set_max_message(&self, bytes: usize) -> usize {
        let bytes = self.max_message.unwrap_or(bytes);
        self.pipe.set_max_message(bytes);
        bytes
    }

    fn diagnosis(&self) -> Option<String> {
        self.far_end.diagnosis(&self.pipe.output)
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            self.pipe.end(closed_error());
            self.far_end.closed().await
        })
    }
}

impl<E: FarEnd> Drop for PipeTransport<E> {
    fn drop(&mut self) {
        self.pipe.end(closed_error());
        self.far_end.on_drop();
    }
}
