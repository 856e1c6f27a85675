//! Where do the server's notifications and questions go?

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::types::Cancelled;
use toolway_protocol::{Id, Message, Method, Notification, RpcError};

use crate::client::answer::caller::{Caller, OpenCalls};
use crate::client::notifications::footprint::of_notification;
use crate::client::notifications::listeners::Notifications;
use crate::client::wire::outgoing::error_frame;
use crate::ground::future::BoxFuture;

/// Receives the messages that a server sends on its own: its notifications and its questions.
///
/// A transport hands over every message of the server that is not a reply:
///
/// ```
/// use toolway::client::Inbox;
/// use toolway_protocol::Message;
///
/// async fn heed(inbox: &Inbox, message: Message) {
///     inbox.deliver(&message);
///     if let Some(answering) = inbox.answer(&message) {
///         // A real transport does this in a separate task, because a user may take minutes.
///         if let Some(frame) = answering.frame().await {
///             send(frame).await;
///         }
///     }
/// }
/// # async fn send(frame: bytes::Bytes) {}
/// ```
#[derive(Clone)]
pub struct Inbox {
    pub(crate) notifications: Arc<Notifications>,
    pub(crate) calls: Arc<OpenCalls>,
    /// The handler of the server's requests. Set only in the handshake era; in the stateless era servers do not send
    /// requests.
    handler: Arc<OnceLock<Arc<dyn RequestHandler>>>,
    /// The client's request on whose stream the messages arrive; `None` if the stream is shared.
    during: Option<Id>,
    /// The maximum length of a message in bytes.
    pub(crate) max_message: usize,
}

/// Answers the requests of a server. Needed only in the handshake era, in which servers send requests.
pub(crate) trait RequestHandler: Send + Sync {
    /// Decides how a request of the server is answered; `during` is the client's request on whose stream the server's
    /// request arrived.
    fn answer(&self, id: &Id, method: &Method, params: &Params, during: Option<&Id>) -> Option<AnswerFrame>;

    /// Stops answering a request that the server has cancelled.
    fn cancel(&self, cancelled: &Cancelled);

    /// The caller that a message belongs to, if it can be determined; `during` is the client's request on whose stream
    /// the message arrived.
    fn caller(&self, during: Option<&Id>) -> Option<Arc<dyn Caller>>;
}

/// The maximum number of questions that may wait at once for answers of the callers of forwarded requests.
pub(crate) const MAX_FORWARDED_QUESTIONS: usize = 1024;

/// The maximum number of answers that a transport may work on at once: one for each question, and some that are ready
/// but that the server has not read yet.
pub(crate) const MAX_PENDING_ANSWERS: usize = 1088;
const _: () = assert!(MAX_PENDING_ANSWERS > MAX_FORWARDED_QUESTIONS, "each question has an answer");

/// An answer to a request of the server.
#[must_use = "the server waits for this answer"]
pub enum AnswerFrame {
    /// The answer is ready.
    Now(Bytes),
    /// The answer is produced while the future is awaited, for example by asking the user. The future returns `None` if
    /// the server cancels its question; then nothing must be sent.
    Later(BoxFuture<'static, Option<Bytes>>),
}

impl AnswerFrame {
    /// Waits for the frame to send. Returns `None` if the server cancels its question. Dropping the future stops the
    /// work on the answer.
    pub async fn frame(self) -> Option<Bytes> {
        match self {
            Self::Now(frame) => Some(frame),
            Self::Later(frame) => frame.await,
        }
    }
}

impl fmt::Debug for AnswerFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(frame) => f.debug_tuple("Now").field(frame).finish(),
            Self::Later(_) => f.debug_tuple("Later").finish_non_exhaustive(),
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("during", &self.during).finish_non_exhaustive()
    }
}

impl Inbox {
    pub(crate) fn new(notifications: Arc<Notifications>, max_message: usize) -> Self {
        Self { notifications, calls: Arc::default(), handler: Arc::default(), during: None, max_message }
    }

    /// Sets the handler of the server's requests. Until a handler is set, [`answer`](Self::answer) returns `None`.
    pub(crate) fn set_handler(&self, handler: Arc<dyn RequestHandler>) {
        let _ = self.handler.set(handler);
    }

    /// Returns an inbox for the messages that arrive on the stream of one request and so belong to this request. For
    /// transports on which each reply has its own stream.
    pub fn for_request(&self, request: &Id) -> Self {
        Self { during: Some(request.clone()), ..self.clone() }
    }

    /// Takes a message of the server and passes it on if it is a notification. Ignores other messages, and messages
    /// that cannot be decoded.
    pub fn deliver(&self, message: &Message) {
        let Message::Notification { method, params } = message else { return };
        let Ok(Some(news)) = Notification::decode(method, params) else { return };
        let bytes = params.text().map_or(0, |text| text.as_bytes().len()) + of_notification(&news);
        match &news {
            Notification::Cancelled(cancelled) => {
                if let Some(handler) = self.handler.get() {
                    handler.cancel(cancelled);
                }
            }
            Notification::LogMessage(message) => {
                let during = self.during.as_ref();
                let caller = match self.handler.get() {
                    Some(handler) => handler.caller(during),
                    None => self.calls.caller(during),
                };
                if let Some(caller) = caller {
                    caller.log(message, bytes);
                }
            }
            Notification::Initialized(_)
            | Notification::Progress(_)
            | Notification::ToolsChanged(_)
            | Notification::PromptsChanged(_)
            | Notification::ResourcesChanged(_)
            | Notification::ResourceUpdated(_)
            | Notification::RootsChanged(_)
            | Notification::ElicitationComplete(_)
            | Notification::SubscriptionAcknowledged(_) => {}
        }
        self.notifications.deliver(&news, bytes);
    }

    /// Takes a message of the server and returns the answer if it is a request. Returns `None` for other messages, and
    /// in the stateless era, in which servers do not send requests.
    ///
    /// The number of questions that wait for an answer is limited: further questions are refused at once.
    pub fn answer(&self, message: &Message) -> Option<AnswerFrame> {
        let Message::Request { id, method, params } = message else { return None };
        let (id, max) = (id.clone(), self.max_message);
        Some(match self.handler.get()?.answer(&id, method, params, self.during.as_ref())? {
            AnswerFrame::Now(frame) => AnswerFrame::Now(or_too_large_error(frame, &id, max)),
            AnswerFrame::Later(frame) => AnswerFrame::Later(Box::pin(async move {
                frame.await.map(|frame| or_too_large_error(frame, &id, max))
            })),
        })
    }
}

/// Returns the answer. If it is longer than `max` bytes, returns an error frame instead, because the server waits for a
/// reply.
fn or_too_large_error(frame: Bytes, id: &Id, max: usize) -> Bytes {
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
    error_frame(id, &RpcError::internal(text))
}
