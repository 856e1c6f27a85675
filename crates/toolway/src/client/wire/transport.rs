//! What must something do to carry messages?

use toolway_protocol::{Message, Method, ProtocolVersion, RawJson};

use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::Outgoing;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Carries messages to one server and brings the replies back. Dropping it ends whatever it has begun.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message and waits for the reply, if it is one that gets a reply.
    fn carry(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Option<Message>>>;

    /// Says where what the server tells and asks is to go. Called once, before anything is carried.
    fn deliver_to(&self, inbox: Inbox) {
        let _ = inbox;
    }

    /// Whether messages can still be carried. Once this is false it stays so: whoever wants to go on connects again.
    fn is_connected(&self) -> bool {
        true
    }

    /// Waits until messages cannot be carried any more.
    fn lost(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Waits until what the server says unasked can arrive, where that takes something to be opened first.
    fn listening(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Whether messages have headers. The headers of [`Outgoing`] are for those that do.
    fn has_headers(&self) -> bool {
        false
    }

    /// Takes headers that every message is to have. Called once, before anything is carried; a transport without headers
    /// has no use for them.
    ///
    /// # Errors
    ///
    /// When a header cannot be sent; the error names it.
    fn use_headers(&self, headers: &[(String, String)]) -> Result<()> {
        let _ = headers;
        Ok(())
    }

    /// Takes how many bytes a message may have, in both directions, and gives back the limit that holds: a transport that has one
    /// of its own keeps it. Called once, before anything is carried. The client itself sends nothing longer; a transport fails
    /// a call whose reply is longer, with [`ErrorKind::TooLarge`].
    fn use_max_message(&self, bytes: usize) -> usize {
        bytes
    }

    /// Whether a server learns that nobody waits for the reply any more when what carries the request is dropped. Where it
    /// does not, it is told by a message.
    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        let _ = version;
        false
    }

    /// What is known of the server that may explain why it does not answer, in words for a person: that it is running, what it
    /// wrote to its stderr, that it printed what is no message. Nothing, if nothing is known.
    fn diagnosis(&self) -> Option<String> {
        None
    }

    /// Ends the conversation and waits until the server knows. Nothing is carried afterwards.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The error of a call whose reply is longer than the client takes.
pub(crate) fn too_long_a_reply(max: usize) -> Error {
    let text =
        format!("the reply is longer than {max} bytes: ask for less, or raise `max_message` on the client");
    Error::new(ErrorKind::TooLarge, text)
}

/// A reply that cannot be read as what the protocol says it is.
pub(crate) fn malformed_reply(method: &Method) -> Error {
    Error::new(ErrorKind::PeerMisbehaved, format!("the server's reply to {} is malformed", method.name()))
}

/// Sends a request and takes the result out of the reply.
pub(crate) async fn exchange(transport: &dyn Transport, outgoing: Outgoing) -> Result<RawJson> {
    let id = outgoing.id.clone();
    match transport.carry(outgoing).await? {
        Some(Message::Response { id: answered, outcome }) if answered.is_none() || answered == id => {
            Ok(outcome?)
        }
        _ => Err(Error::new(ErrorKind::PeerMisbehaved, "the server sent something else than the reply")),
    }
}
