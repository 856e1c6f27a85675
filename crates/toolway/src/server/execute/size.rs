//! How long may a message be, and what happens to a longer one?

use std::sync::atomic::Ordering;

use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader, Rejection};
use toolway_protocol::{Method, RpcError};

use crate::server::Server;
use crate::server::failure::errors::ErrorPolicy;
use crate::transport::frame::message_limit;

/// A reply that exceeds the maximum size of a message.
pub(crate) struct OversizedReply {
    pub(crate) text: String,
    /// `true` if the text is sent as the result of a tool, which a model reads, and not as an error of the protocol.
    pub(crate) is_result: bool,
    max: usize,
}

impl OversizedReply {
    pub(crate) fn into_error(self) -> RpcError {
        RpcError::internal(self.text).with_max_message(self.max)
    }
}

impl Server {
    /// Returns what to send instead if a reply is too large. The replacement is sent even if it exceeds the limit too.
    pub(crate) fn check_reply_size(&self, method: &Method, size: usize) -> Option<OversizedReply> {
        let max = self.max_message();
        if size <= max {
            return None;
        }
        let method_name = method.name();
        tracing::warn!(
            method = method_name,
            bytes = size,
            max_message = max,
            "a reply exceeds the server's `max_message` and was not sent: return less, or raise the limit"
        );
        let text = format!(
            "the result is {size} bytes long, and the server sends at most {max}: ask for less, or raise `max_message` on the server"
        );
        let is_result = *method == Method::CallTool && self.inner.errors != ErrorPolicy::Rpc;
        Some(OversizedReply { text, is_result, max })
    }

    /// Returns the maximum size of a message that is sent or accepted, in bytes.
    pub fn max_message(&self) -> usize {
        self.inner.max_message.load(Ordering::Relaxed)
    }

    /// Changes [`ServerBuilder::max_message`](crate::server::ServerBuilder::max_message) on a built server, for a
    /// program that learns the limit later. It applies to pipes and HTTP services that are opened from then on, and to
    /// every reply.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("photos", "1.0.0").build()?;
    /// server.set_max_message(64 << 20);
    /// assert_eq!(server.max_message(), 64 << 20);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn set_max_message(&self, bytes: usize) {
        self.inner.max_message.store(message_limit(bytes), Ordering::Relaxed);
    }

    /// Refuses a message that exceeds the maximum size, if no transport has done so.
    pub(crate) fn check_message_size(&self, frame: &[u8]) -> Result<(), Rejection> {
        if frame.len() <= self.max_message() {
            return Ok(());
        }
        let mut skimmer = OversizedMessageReader::default();
        skimmer.push(frame);
        let id = match skimmer.finish() {
            OversizedMessage::Request(id) => Some(id),
            _ => None,
        };
        Err(Rejection { id, error: RpcError::too_large(self.max_message()) })
    }
}
