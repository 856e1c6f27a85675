//! What does the other server send and ask during a call?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{RawJson, RpcError};

use crate::client::answer::caller::Caller;
use crate::server::ForwardedCall;

/// The maximum number of messages kept for a caller that does not read them. Further messages are dropped.
const MAX_UNREAD: usize = 256;

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
    sender: mpsc::UnboundedSender<UpstreamEvent>,
    /// The number of unread messages. Questions are not counted: the client limits how many are open.
    unread: Arc<AtomicUsize>,
}

/// The received messages, in order.
pub(super) struct EventReceiver {
    receiver: mpsc::UnboundedReceiver<UpstreamEvent>,
    unread: Arc<AtomicUsize>,
}

pub(super) fn event_channel(passing: &ForwardedCall) -> (EventSink, EventReceiver) {
    let (sender, said) = mpsc::unbounded_channel();
    let unread = Arc::<AtomicUsize>::default();
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
    pub(super) fn progress(&self, progress: &Progress) {
        self.push(UpstreamEvent::Progress(progress.clone()));
    }

    fn push(&self, said: UpstreamEvent) {
        if self.unread.fetch_add(1, Ordering::AcqRel) >= MAX_UNREAD {
            self.unread.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        // If the receiver was dropped, the call is over.
        let _ = self.sender.send(said);
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

    fn log(&self, message: &LogMessage) {
        self.push(UpstreamEvent::Log(message.clone()));
    }

    fn ask(&self, asked: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>> {
        let (answer, answered) = oneshot::channel();
        let _ = self.sender.send(UpstreamEvent::Question(UpstreamQuestion { request: asked, answer }));
        answered
    }
}

impl EventReceiver {
    /// Waits for the next message. Returns `None` once the call is over.
    pub(super) async fn next(&mut self) -> Option<UpstreamEvent> {
        let said = self.receiver.recv().await?;
        self.mark_read(&said);
        Some(said)
    }

    /// Returns the next message, if one is in the queue.
    pub(super) fn try_next(&mut self) -> Option<UpstreamEvent> {
        let said = self.receiver.try_recv().ok()?;
        self.mark_read(&said);
        Some(said)
    }

    fn mark_read(&self, said: &UpstreamEvent) {
        if !matches!(said, UpstreamEvent::Question(_)) {
            self.unread.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
