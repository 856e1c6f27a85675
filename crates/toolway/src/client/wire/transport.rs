//! What must something do to carry messages?

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use toolway_protocol::capability::Settings;
use toolway_protocol::json::Members;
use toolway_protocol::jsonrpc::write_error;
use toolway_protocol::{Id, Message, Method, Notification, ProtocolVersion, RawJson, RpcError};

use crate::client::answer::answers::Answers;
use crate::client::calls::forward::Whose;
use crate::client::handshake::questions::Asked;
use crate::client::notifications::listeners::Ears;
use crate::error::{Error, ErrorKind, Result};

/// A frame to send, and what a transport may need to know about it without reading it.
#[derive(Clone)]
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
    /// Headers of this request alone, for transports that have headers: those of the caller, and the arguments of a tool
    /// that travel in headers. Names and values are what goes out.
    pub headers: Vec<(String, String)>,
}

/// Shows what it is about, and of its headers the names: tokens may be among the values, and secrets in the frame.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Outgoing")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("name", &self.name)
            .field("version", &self.version)
            .field("headers", &headers)
            .field("bytes", &self.frame.len())
            .finish_non_exhaustive()
    }
}

impl Outgoing {
    /// A frame about nothing in particular.
    pub(crate) fn new(
        frame: Vec<u8>,
        id: Option<Id>,
        method: Method,
        version: Option<ProtocolVersion>,
    ) -> Self {
        Self { frame: frame.into(), id, method, name: None, version, headers: Vec::new() }
    }
}

/// A message that is being carried: the reply, or `None` for a notification.
pub type Carried<'t> = Pin<Box<dyn Future<Output = Result<Option<Message>>> + Send + 't>>;

/// A conversation that goes on; it is over when this is.
pub type Lasting<'t> = Pin<Box<dyn Future<Output = ()> + Send + 't>>;

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

    /// Whether messages can still be carried. Once this is false it stays so: whoever wants to go on connects again.
    fn is_connected(&self) -> bool {
        true
    }

    /// Waits until messages cannot be carried any more.
    fn lost(&self) -> Lasting<'_> {
        Box::pin(std::future::pending())
    }

    /// Waits until what the server says unasked can arrive, where that takes something to be opened first.
    fn listening(&self) -> Lasting<'_> {
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
    fn close(&self) -> Closing<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Transport for Box<dyn Transport> {
    fn carry(&self, outgoing: Outgoing) -> Carried<'_> {
        (**self).carry(outgoing)
    }

    fn deliver_to(&self, inbox: Inbox) {
        (**self).deliver_to(inbox);
    }

    fn is_connected(&self) -> bool {
        (**self).is_connected()
    }

    fn lost(&self) -> Lasting<'_> {
        (**self).lost()
    }

    fn listening(&self) -> Lasting<'_> {
        (**self).listening()
    }

    fn has_headers(&self) -> bool {
        (**self).has_headers()
    }

    fn use_headers(&self, headers: &[(String, String)]) -> Result<()> {
        (**self).use_headers(headers)
    }

    fn use_max_message(&self, bytes: usize) -> usize {
        (**self).use_max_message(bytes)
    }

    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        (**self).cancels_by_dropping(version)
    }

    fn diagnosis(&self) -> Option<String> {
        (**self).diagnosis()
    }

    fn close(&self) -> Closing<'_> {
        (**self).close()
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
    ears: Arc<Ears>,
    asked: Arc<Asked>,
    /// The request of ours on whose stream everything comes.
    during: Option<Id>,
    /// The most bytes that an answer may have.
    max_message: usize,
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
    pub(crate) fn new(answers: Answers, ears: Arc<Ears>, max_message: usize) -> Self {
        Self { ears, asked: Arc::new(Asked::new(answers)), during: None, max_message }
    }

    /// The same place for what comes on the stream of one request, and so belongs to it. Where each reply has a stream of its own,
    /// a transport hands over what it finds there through this.
    pub fn during(&self, request: &Id) -> Self {
        Self { during: Some(request.clone()), ..self.clone() }
    }

    /// Takes a message of the server. One that is no notification, or that makes no sense, is left alone.
    pub fn take(&self, message: &Message) {
        let Message::Notification { method, params } = message else { return };
        if let Ok(Some(news)) = Notification::decode(method, params) {
            if let Notification::Cancelled(cancelled) = &news {
                self.asked.take_back(cancelled);
            }
            if let Notification::LogMessage(message) = &news
                && let Whose::Theirs(theirs) = self.asked.whose(self.during.as_ref())
            {
                theirs.log(message);
            }
            self.ears.take(&news, params.text().map_or(0, |text| text.as_bytes().len()));
        }
    }

    /// Takes a request of the server and says how it is answered. Nothing for messages that are no requests, and where
    /// servers do not ask (stateless era).
    ///
    /// The number of questions that wait is bounded: others are refused at once.
    pub fn answer(&self, message: &Message) -> Option<Answering> {
        let Message::Request { id, method, params } = message else { return None };
        let (id, max) = (id.clone(), self.max_message);
        Some(match self.asked.answer(&id, method, params, self.during.as_ref())? {
            Answering::Now(frame) => Answering::Now(fitting(frame, &id, max)),
            Answering::Later(frame) => {
                Answering::Later(Box::pin(async move { frame.await.map(|frame| fitting(frame, &id, max)) }))
            }
        })
    }

    /// Something of what the server told may have been lost on the way.
    #[allow(dead_code, reason = "a pipe loses nothing")]
    pub(crate) fn missed(&self) {
        self.ears.tools_changed();
        self.ears.opened_again();
    }

    /// The most bytes that a message may have.
    pub(crate) fn max_message(&self) -> usize {
        self.max_message
    }

    pub(crate) fn asked(&self) -> &Asked {
        &self.asked
    }
}

/// An answer, or an error in its place if it is longer than a message may be: the server waits for one of them.
fn fitting(frame: Bytes, id: &Id, max: usize) -> Bytes {
    let size = frame.len();
    if size <= max {
        return frame;
    }
    tracing::warn!(
        bytes = size,
        max_message = max,
        "the answer to a question of the server is longer than the client's `max_message`, and was not sent"
    );
    let text = format!(
        "the answer is {size} bytes long, and the client sends at most {max}: raise `max_message` on the client"
    );
    let mut failed = Vec::new();
    write_error(&mut failed, Some(id), &RpcError::internal(text));
    failed.into()
}

/// The error of a call whose reply is longer than the client takes.
pub(crate) fn too_long_a_reply(max: usize) -> Error {
    let text =
        format!("the reply is longer than {max} bytes: ask for less, or raise `max_message` on the client");
    Error::new(ErrorKind::TooLarge, text)
}

/// Writes the members of an object of parameters.
pub(crate) fn put_params(members: &mut Members<'_, '_>, params: Option<&RawJson>) {
    if let Some(text) = params.filter(|params| params.is_object()) {
        let text = text.as_bytes();
        members.splice(text[1..text.len() - 1].trim_ascii());
    }
}

/// Takes what the caller wrote into `_meta` out of the parameters: an object has it once, and ours goes there too.
pub(crate) fn split_meta(params: Option<&RawJson>) -> (Option<RawJson>, Settings) {
    match params.and_then(|params| params.decode().ok()) {
        Some(Value::Object(mut members)) if members.contains_key("_meta") => {
            let own = match members.remove("_meta") {
                Some(Value::Object(own)) => own,
                _ => Settings::new(),
            };
            (Some(Value::Object(members).into()), own)
        }
        _ => (params.cloned(), Settings::new()),
    }
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
