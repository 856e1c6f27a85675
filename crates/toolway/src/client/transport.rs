//! What must something do to carry messages?

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::broadcast;
use toolway_protocol::json::Members;
use toolway_protocol::{Id, Message, Method, Notification, ProtocolVersion, RawJson};

use super::answer::Answers;
use super::asked::Asked;
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

/// A conversation that is being ended.
pub type Closing<'t> = Pin<Box<dyn Future<Output = Result<()>> + Send + 't>>;

/// Carries messages to one server and brings the replies back. Dropping it ends whatever it has begun.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message and waits for the reply, if it is one that gets a reply.
    fn carry(&self, outgoing: Outgoing) -> Carried<'_>;

    /// Says where what the server tells and asks is to go. Called once, before anything is carried.
    fn deliver_to(&self, inbox: Inbox) {
        let _ = inbox;
    }

    /// Ends the conversation and waits until the server knows. Nothing is carried afterwards.
    fn close(&self) -> Closing<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Where what the server says unasked goes: its notifications, and its questions.
///
/// A transport hands over every message of the server that is no reply:
///
/// ```
/// use toolway::client::Inbox;
/// use toolway_protocol::Message;
///
/// async fn heed(inbox: &Inbox, message: Message) {
///     inbox.take(&message);
///     if let Some(answering) = inbox.answer(&message) {
///         // Better in a task of its own, because a user may take minutes.
///         if let Some(frame) = answering.frame().await {
///             send(frame).await;
///         }
///     }
/// }
/// # async fn send(frame: bytes::Bytes) {}
/// ```
#[derive(Debug, Clone)]
pub struct Inbox {
    news: broadcast::Sender<Notification>,
    asked: Arc<Asked>,
}

/// An answer to a request of the server.
#[must_use = "the server waits for it"]
pub enum Answering {
    /// It is there already.
    Now(Bytes),
    /// Somebody is to be asked, when this is awaited. Nothing is to be sent when the server takes its question back.
    Later(Pin<Box<dyn Future<Output = Option<Bytes>> + Send>>),
}

impl Answering {
    /// Waits for the frame that is to be sent; there is none when the server takes its question back. Dropping the future ends
    /// whatever was answering.
    pub async fn frame(self) -> Option<Bytes> {
        match self {
            Self::Now(frame) => Some(frame),
            Self::Later(frame) => frame.await,
        }
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(frame) => f.debug_tuple("Now").field(frame).finish(),
            Self::Later(_) => f.debug_tuple("Later").finish_non_exhaustive(),
        }
    }
}

impl Inbox {
    pub(super) fn new(answers: Answers) -> Self {
        Self { news: broadcast::Sender::new(MAX_UNREAD), asked: Arc::new(Asked::new(answers)) }
    }

    /// Takes a message of the server. One that is no notification, or that makes no sense, is left alone.
    pub fn take(&self, message: &Message) {
        let Message::Notification { method, params } = message else { return };
        if let Ok(Some(news)) = Notification::decode(method, params) {
            if let Notification::Cancelled(cancelled) = &news {
                self.asked.take_back(cancelled);
            }
            // Nobody listens: that is what most clients do.
            let _ = self.news.send(news);
        }
    }

    /// Takes a request of the server and says how it is answered. Nothing for messages that are no requests, and where
    /// servers do not ask (stateless era).
    ///
    /// The number of questions that wait is bounded: others are refused at once.
    pub fn answer(&self, message: &Message) -> Option<Answering> {
        let Message::Request { id, method, params } = message else { return None };
        self.asked.answer(id, method, params)
    }

    pub(super) fn asked(&self) -> &Asked {
        &self.asked
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<Notification> {
        self.news.subscribe()
    }

    pub(super) fn has_listeners(&self) -> bool {
        self.news.receiver_count() > 0
    }
}

/// How many notifications are kept for somebody who does not read them.
const MAX_UNREAD: usize = 1024;

/// Writes the members of an object of parameters.
pub(super) fn put_params(members: &mut Members<'_, '_>, params: Option<&RawJson>) {
    if let Some(text) = params.filter(|params| params.is_object()) {
        let text = text.as_bytes();
        members.splice(text[1..text.len() - 1].trim_ascii());
    }
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
