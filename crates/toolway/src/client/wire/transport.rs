//! What must a transport do?

use std::time::Duration;

use toolway_protocol::{Message, Method, ProtocolVersion, RawJson};

use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Carries messages to one server and returns the replies. Dropping a transport ends everything that it has started,
/// such as tasks and processes.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message and waits for the reply, if the message gets one.
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<Option<Message>>>;

    /// Sets the inbox for the server's notifications and questions. Called once, before anything is sent.
    fn set_inbox(&self, inbox: Inbox) {
        let _ = inbox;
    }

    /// Returns whether messages can still be sent. Once this is `false`, it stays `false`: the client has to reconnect.
    fn is_connected(&self) -> bool {
        true
    }

    /// Waits until messages can no longer be sent. Waits forever if the transport cannot detect that.
    fn disconnected(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Waits until the server's notifications and questions can arrive, on transports that first have to open a stream
    /// for them.
    fn listening(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Returns whether messages have headers. A transport without headers ignores the headers of [`OutgoingMessage`].
    fn has_headers(&self) -> bool {
        false
    }

    /// Sets headers to send with every message. Called once, before anything is sent. A transport without headers
    /// ignores them.
    ///
    /// # Errors
    ///
    /// When a header cannot be sent; the error names it.
    fn set_headers(&self, headers: &[(String, String)]) -> Result<()> {
        let _ = headers;
        Ok(())
    }

    /// Sets the maximum length of a message in bytes, in both directions. Returns the limit that applies: a transport
    /// that was configured with its own limit returns that one. Called once, before anything is sent. The client does
    /// not send longer messages. If a reply is longer, the transport must fail the call with [`ErrorKind::TooLarge`].
    fn set_max_message(&self, bytes: usize) -> usize {
        bytes
    }

    /// Returns whether dropping the future of [`send`](Self::send) tells the server that the request is cancelled. If
    /// it does not, the client sends a cancel notification.
    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        let _ = version;
        false
    }

    /// Returns for how long this transport has waited for a user so far, such as one who signs in. This time does not count
    /// as time of the requests.
    fn user_time(&self) -> Duration {
        Duration::ZERO
    }

    /// A text for users that may explain why the server does not answer. It may say whether the server process is
    /// running, what the process wrote to stderr, and whether it printed lines that are not messages. `None` if nothing
    /// is known.
    fn diagnosis(&self) -> Option<String> {
        None
    }

    /// Ends the connection and waits until the server was told. Nothing is sent afterwards.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The error of a call whose reply is longer than the client accepts.
pub(crate) fn reply_too_long_error(max: usize) -> Error {
    let text =
        format!("the reply is longer than {max} bytes: ask for less, or raise `max_message` on the client");
    Error::new(ErrorKind::TooLarge, text)
}

/// The error for a reply that does not have the form that the protocol requires.
pub(crate) fn malformed_reply(method: &Method) -> Error {
    Error::new(ErrorKind::PeerMisbehaved, format!("the server's reply to {} is malformed", method.name()))
}

/// Sends a request and returns the result from the reply.
pub(crate) async fn exchange(transport: &dyn Transport, outgoing: OutgoingMessage) -> Result<RawJson> {
    let id = outgoing.id.clone();
    match transport.send(outgoing).await? {
        Some(Message::Response { id: answered, outcome }) if answered.is_none() || answered == id => {
            Ok(outcome?)
        }
        _ => {
            Err(Error::new(ErrorKind::PeerMisbehaved, "the server sent another message instead of the reply"))
        }
    }
}
