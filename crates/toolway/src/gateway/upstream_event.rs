//! What does the other server say and ask while a call is with it?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{RawJson, RpcError};

use crate::client::answer::caller::Caller;
use crate::server::Passing;

/// How much of what a server says is kept for a caller that does not read; what comes then is lost.
const MAX_UNREAD: usize = 256;

/// Something that the other server says.
pub(super) enum UpstreamEvent {
    Progress(Progress),
    Log(LogMessage),
    Question(Question),
}

/// Something that it asks, and waits for.
pub(super) struct Question {
    pub(super) asked: InputRequest,
    pub(super) answer: oneshot::Sender<Result<RawJson, RpcError>>,
}

/// The caller of one call, for the client that passes the call on.
pub(super) struct EventSink {
    id: Arc<str>,
    can: ClientCapabilities,
    log_level: Option<LogLevel>,
    said: mpsc::UnboundedSender<UpstreamEvent>,
    /// Questions are not counted: the client lets only so many wait.
    unread: Arc<AtomicUsize>,
}

/// What was heard, in order.
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
        // If the receiver is gone, the call is over.
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
    /// Waits for the next; nothing comes any more once the call is over.
    pub(super) async fn next(&mut self) -> Option<UpstreamEvent> {
        let said = self.said.recv().await?;
        self.count(&said);
        Some(said)
    }

    /// The next, if it is there already.
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
