//! Where does what the server says unasked go?

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::types::Cancelled;
use toolway_protocol::{Id, Message, Method, Notification, RpcError};

use crate::client::answer::caller::{Caller, OpenCalls};
use crate::client::notifications::listeners::Notifications;
use crate::client::wire::outgoing::error_frame;
use crate::ground::future::BoxFuture;

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
#[derive(Clone)]
pub struct Inbox {
    pub(crate) notifications: Arc<Notifications>,
    pub(crate) calls: Arc<OpenCalls>,
    /// Set in an era in which servers send requests.
    handler: Arc<OnceLock<Arc<dyn RequestHandler>>>,
    /// The request of ours on whose stream everything comes.
    during: Option<Id>,
    /// The most bytes that a message may have.
    pub(crate) max_message: usize,
}

/// Answers the requests of a server, in an era in which servers send them.
pub(crate) trait RequestHandler: Send + Sync {
    /// Decides how a request of the server is answered; `during` is the request of ours on whose stream it came.
    fn answer(&self, id: &Id, method: &Method, params: &Params, during: Option<&Id>) -> Option<Answering>;

    /// Stops answering a request that the server has cancelled.
    fn cancel(&self, cancelled: &Cancelled);

    /// The caller whom a message is for that is about a request of ours.
    fn caller(&self, during: Option<&Id>) -> Option<Arc<dyn Caller>>;
}

/// How many questions may wait for their answers at once, if they are those of many callers.
pub(crate) const MAX_PASSED: usize = 1024;

/// How many answers a transport may be working on: as many as there may be questions, and some that do not get through.
pub(crate) const MAX_ANSWERING: usize = 1088;
const _: () = assert!(MAX_ANSWERING > MAX_PASSED, "each question has an answer");

/// An answer to a request of the server.
#[must_use = "the server waits for it"]
pub enum Answering {
    /// It is there already.
    Now(Bytes),
    /// Somebody is to be asked, when this is awaited. Nothing is to be sent when the server takes its question back.
    Later(BoxFuture<'static, Option<Bytes>>),
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

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("during", &self.during).finish_non_exhaustive()
    }
}

impl Inbox {
    pub(crate) fn new(notifications: Arc<Notifications>, max_message: usize) -> Self {
        Self { notifications, calls: Arc::default(), handler: Arc::default(), during: None, max_message }
    }

    /// From now on the server may send requests, and this answers them.
    pub(crate) fn answer_with(&self, handler: Arc<dyn RequestHandler>) {
        let _ = self.handler.set(handler);
    }

    /// The same place for what comes on the stream of one request, and so belongs to it. Where each reply has a stream of its own,
    /// a transport hands over what it finds there through this.
    pub fn during(&self, request: &Id) -> Self {
        Self { during: Some(request.clone()), ..self.clone() }
    }

    /// Takes a message of the server. One that is no notification, or that makes no sense, is left alone.
    pub fn take(&self, message: &Message) {
        let Message::Notification { method, params } = message else { return };
        let Ok(Some(news)) = Notification::decode(method, params) else { return };
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
                    caller.log(message);
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
        self.notifications.take(&news, params.text().map_or(0, |text| text.as_bytes().len()));
    }

    /// Takes a request of the server and says how it is answered. Nothing for messages that are no requests, and where
    /// servers do not ask (stateless era).
    ///
    /// The number of questions that wait is bounded: others are refused at once.
    pub fn answer(&self, message: &Message) -> Option<Answering> {
        let Message::Request { id, method, params } = message else { return None };
        let (id, max) = (id.clone(), self.max_message);
        Some(match self.handler.get()?.answer(&id, method, params, self.during.as_ref())? {
            Answering::Now(frame) => Answering::Now(fitting(frame, &id, max)),
            Answering::Later(frame) => {
                Answering::Later(Box::pin(async move { frame.await.map(|frame| fitting(frame, &id, max)) }))
            }
        })
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
    error_frame(id, &RpcError::internal(text))
}
