//! What does the other server send and ask during a call?

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{RawJson, RpcError};

use crate::client::answer::caller::Caller;
use crate::ground::mutex::Mutex;
use crate::server::ForwardedCall;

/// The maximum number of messages kept for a caller that does not read them. Further messages are dropped.
const MAX_UNREAD: usize = 256;

/// The maximum total size in bytes of these messages. Further messages are dropped.
const MAX_UNREAD_BYTES: usize = 256 << 10;

/// The messages that the caller has not read yet. Questions do not count: the client limits how many are open.
#[derive(Default)]
struct Unread {
    messages: usize,
    bytes: usize,
}

/// A message of the other server.
pub(super) enum UpstreamEvent {
    Progress(Progress),
    Log(LogMessage),
    Question(UpstreamQuestion),
}

/// A question of the other server, which waits for the answer.
pub(super) struct UpstreamQuestion {
    pub(super) request: InputRequest,
    pub(super) answer: oneshot::Sender<Result<RawJson, RpcError>>,
}

/// Receives the messages of the server on behalf of the caller of one call.
pub(super) struct EventSink {
    id: Arc<str>,
    capabilities: ClientCapabilities,
    log_level: Option<LogLevel>,
    sender: mpsc::UnboundedSender<(UpstreamEvent, usize)>,
    unread: Arc<Mutex<Unread>>,
}

/// The received messages, in order.
pub(super) struct EventReceiver {
    receiver: mpsc::UnboundedReceiver<(UpstreamEvent, usize)>,
    unread: Arc<Mutex<Unread>>,
}

pub(super) fn event_channel(passing: &ForwardedCall) -> (EventSink, EventReceiver) {
    let (sender, said) = mpsc::unbounded_channel();
    let unread = Arc::<Mutex<Unread>>::default();
    let sink = EventSink {
        id: passing.caller_key().into(),
        capabilities: passing.askable_capabilities(),
        log_level: passing.log_level(),
        sender,
        unread: unread.clone(),
    };
    (sink, EventReceiver { receiver: said, unread })
}

impl EventSink {
    pub(super) fn progress(&self, progress: &Progress, bytes: usize) {
        self.push(bytes, || UpstreamEvent::Progress(progress.clone()));
    }

    fn push(&self, bytes: usize, said: impl FnOnce() -> UpstreamEvent) {
        {
            let mut unread = self.unread.lock();
            let is_full = unread.messages == MAX_UNREAD || unread.bytes + bytes > MAX_UNREAD_BYTES;
            // A single message is passed on, however long it is.
            if is_full && unread.messages > 0 {
                return;
            }
            unread.messages += 1;
            unread.bytes += bytes;
        }
        // If the receiver was dropped, the call is over.
        let _ = self.sender.send((said(), bytes));
    }
}

impl Caller for EventSink {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.log_level
    }

    fn log(&self, message: &LogMessage, bytes: usize) {
        self.push(bytes, || UpstreamEvent::Log(message.clone()));
    }

    fn ask(&self, asked: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>> {
        let (answer, answered) = oneshot::channel();
        let _ = self.sender.send((UpstreamEvent::Question(UpstreamQuestion { request: asked, answer }), 0));
        answered
    }
}

impl EventReceiver {
    /// Waits for the next message. Returns `None` once the call is over.
    pub(super) async fn next(&mut self) -> Option<UpstreamEvent> {
        let (said, bytes) = self.receiver.recv().await?;
        self.mark_read(&said, bytes);
        Some(said)
    }

    /// Returns the next message, if one is in the queue.
    pub(super) fn try_next(&mut self) -> Option<UpstreamEvent> {
        let (said, bytes) = self.receiver.try_recv().ok()?;
        self.mark_read(&said, bytes);
        Some(said)
    }

    fn mark_read(&self, said: &UpstreamEvent, bytes: usize) {
        if !matches!(said, UpstreamEvent::Question(_)) {
            let mut unread = self.unread.lock();
            unread.messages -= 1;
            unread.bytes -= bytes;
        }
    }
}
