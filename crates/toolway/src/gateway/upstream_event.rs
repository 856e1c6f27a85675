//! What does the other server send and ask during a call?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{RawJson, RpcError};

use crate::client::answer::caller::Caller;
use crate::server::Passing;

/// The maximum number of messages kept for a caller that does not read them. Further messages are dropped.
const MAX_UNREAD: usize = 256;

/// A message of the other server.
pub(super) enum UpstreamEvent {
    Progress(Progress),
    Log(LogMessage),
    Question(Question),
}

/// A question of the other server, which waits for the answer.
pub(super) struct Question {
    pub(super) asked: InputRequest,
    pub(super) answer: oneshot::Sender<Result<RawJson, RpcError>>,
}

/// Receives the messages of the server on behalf of the caller of one call.
pub(super) struct EventSink {
    id: Arc<str>,
    can: ClientCapabilities,
    log_level: Option<LogLevel>,
    said: mpsc::UnboundedSender<UpstreamEvent>,
    /// The number of unread messages. Questions are not counted: the client limits how many are open.
    unread: Arc<AtomicUsize>,
}

/// The received messages, in order.
pub(super) struct Events {
    said: mpsc::UnboundedReceiver<UpstreamEvent>,
    unread: Arc<AtomicUsize>,
}

pub(super) fn events(passing: &Passing) -> (EventSink, Events) {
    let (sender, said) = mpsc::unbounded_channel();
    let unread = Arc::<AtomicUsize>::default();
    let sink = EventSink {
        id: passing.caller().into(),
        can: passing.can_be_asked(),
        log_level: passing.log_level(),
        said: sender,
        unread: unread.clone(),
    };
    (sink, Events { said, unread })
}

impl EventSink {
    pub(super) fn progress(&self, progress: &Progress) {
        self.note(UpstreamEvent::Progress(progress.clone()));
    }

    fn note(&self, said: UpstreamEvent) {
        if self.unread.fetch_add(1, Ordering::AcqRel) >= MAX_UNREAD {
            self.unread.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        // If the receiver was dropped, the call is over.
        let _ = self.said.send(said);
    }
}

impl Caller for EventSink {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.can
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.log_level
    }

    fn log(&self, message: &LogMessage) {
        self.note(UpstreamEvent::Log(message.clone()));
    }

    fn ask(&self, asked: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>> {
        let (answer, answered) = oneshot::channel();
        let _ = self.said.send(UpstreamEvent::Question(Question { asked, answer }));
        answered
    }
}

impl Events {
    /// Waits for the next message. Returns `None` once the call is over.
    pub(super) async fn next(&mut self) -> Option<UpstreamEvent> {
        let said = self.said.recv().await?;
        self.count(&said);
        Some(said)
    }

    /// Returns the next message, if one is in the queue.
    pub(super) fn try_next(&mut self) -> Option<UpstreamEvent> {
        let said = self.said.try_recv().ok()?;
        self.count(&said);
        Some(said)
    }

    fn count(&self, said: &UpstreamEvent) {
        if !matches!(said, UpstreamEvent::Question(_)) {
            self.unread.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
