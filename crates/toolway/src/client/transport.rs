//! What must something do to carry messages?

use std::pin::Pin;

use bytes::Bytes;
use toolway_protocol::{Id, Message, Method, ProtocolVersion, RawJson};

use crate::error::{Error, ErrorKind, Result};

/// A frame to send, and what a transport may need to know about it without reading it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outgoing {
    /// The frame: one JSON-RPC message, without line breaks.
    pub frame: Bytes,
    /// The request's id; notifications have none and get no answer.
    pub id: Option<Id>,
    /// What is asked or told.
    pub method: Method,
    /// The tool, prompt or resource it is about.
    pub name: Option<String>,
    /// The revision that the conversation speaks; nothing while that is being found out by a handshake.
    pub version: Option<ProtocolVersion>,
}

/// A message that is being carried: the reply, or `None` for a notification.
pub type Carried<'t> = Pin<Box<dyn Future<Output = Result<Option<Message>>> + Send + 't>>;

/// Carries messages to one server and brings the replies back.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message and waits for the reply, if it is one that gets a reply.
    fn carry(&self, outgoing: Outgoing) -> Carried<'_>;
}

/// Sends a request and takes the result out of the reply.
pub(super) async fn exchange(transport: &dyn Transport, outgoing: Outgoing) -> Result<RawJson> {
    let id = outgoing.id.clone();
    match transport.carry(outgoing).await? {
        Some(Message::Response { id: answered, outcome }) if answered.is_none() || answered == id => {
            Ok(outcome?)
        }
        _ => Err(Error::new(ErrorKind::PeerMisbehaved, "the server sent something else than the reply")),
    }
}
