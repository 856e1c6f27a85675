//! Which messages are on their way, and what becomes of them when the pipe ends?

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{SetOnce, oneshot};
use toolway_protocol::{Id, Message, Method};

use super::heard::Heard;
use super::say::{Outbox, Queued, Ticket, ToSay};
use crate::client::transport::{Inbox, Outgoing};
use crate::error::{Error, ErrorKind, Result};

/// What both directions of a pipe share, and whoever uses it.
pub(in crate::client) struct Line {
    outbox: Arc<Outbox>,
    pending: Mutex<HashMap<Id, oneshot::Sender<Result<Message>>>>,
    inbox: OnceLock<Inbox>,
    heard: Heard,
    fading: SetOnce<()>,
    over: SetOnce<Over>,
}

impl Line {
    /// A line that nobody reads or writes yet, and what is to be written.
    pub(in crate::client) fn new() -> (Self, ToSay) {
        let (outbox, to_say) = Outbox::new();
        let line = Self {
            outbox: Arc::new(outbox),
            pending: Mutex::default(),
            inbox: OnceLock::new(),
            heard: Heard::default(),
            fading: SetOnce::new(),
            over: SetOnce::new(),
        };
        (line, to_say)
    }

    /// Sends a message and waits for its reply. Dropping this takes back what has not begun to be written.
    pub(in crate::client) async fn carry(&self, outgoing: Outgoing) -> Result<Option<Message>> {
        if self.is_fading() {
            return Err(self.over.wait().await.error().unsent());
        }
        if outgoing.method == Method::Cancelled {
            // Whoever gives a call up waits for nothing.
            self.outbox.take_back(&outgoing.frame);
            return Ok(None);
        }
        let waiting = outgoing.id.map(|id| self.wait(id));
        let (queued, mut ticket) = Queued::new(&outgoing.frame);
        tokio::select! {
            biased;
            queued = self.outbox.queue(queued) => if !queued {
                // Nobody writes any more; why, is being found out.
                return Err(self.over.wait().await.error().unsent());
            },
            over = self.over.wait() => return Err(over.error().unsent()),
        }
        self.written(&mut ticket, waiting).await
    }

    async fn written(&self, ticket: &mut Ticket, waiting: Option<Waiting<'_>>) -> Result<Option<Message>> {
        let begun = tokio::select! {
            biased;
            begun = ticket.begun() => begun,
            // It may be begun at this very moment, or never.
            _ = self.over.wait() => ticket.take_back(),
        };
        if !begun {
            return Err(self.over.wait().await.error().unsent());
        }
        let reply = async {
            match waiting {
                Some(mut waiting) => waiting.reply().await.map(|reply| reply.map(Some)),
                None => ticket.done().await.then_some(Ok(None)),
            }
        };
        tokio::select! {
            biased;
            Some(reply) = reply => reply,
            over = self.over.wait() => Err(over.error().broken_off()),
        }
    }

    /// Where answers to questions of the server go.
    pub(super) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    pub(in crate::client) fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    pub(super) fn inbox(&self) -> Option<&Inbox> {
        self.inbox.get()
    }

    pub(in crate::client) fn heard(&self) -> &Heard {
        &self.heard
    }

    /// Lets nothing more be sent: the end has come, and its reason is being found out. What was sent may still be answered.
    pub(in crate::client) fn fade(&self) {
        let _ = self.fading.set(());
    }

    pub(in crate::client) fn is_fading(&self) -> bool {
        self.fading.initialized()
    }

    /// Waits until nothing more is to be sent.
    pub(super) async fn faded(&self) {
        self.fading.wait().await;
    }

    /// Ends all that is on its way, and all that will be tried. The first reason counts.
    pub(in crate::client) fn end(&self, over: Over) {
        let _ = self.over.set(over);
        self.fade();
    }

    /// Waits for the end.
    pub(in crate::client) async fn ended(&self) {
        self.over.wait().await;
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<Id, oneshot::Sender<Result<Message>>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, id: Id) -> Waiting<'_> {
        let (sender, receiver) = oneshot::channel();
        self.pending().insert(id.clone(), sender);
        Waiting { line: self, id, receiver }
    }

    /// Hands a reply to whoever waits for it.
    pub(super) fn settle(&self, id: &Id, reply: Result<Message>) {
        if let Some(sender) = self.pending().remove(id) {
            // Nobody waits any more: the call was dropped, and a late answer means nothing.
            let _ = sender.send(reply);
        }
    }
}

/// One request in flight; dropping it forgets it.
struct Waiting<'l> {
    line: &'l Line,
    id: Id,
    receiver: oneshot::Receiver<Result<Message>>,
}

impl Waiting<'_> {
    async fn reply(&mut self) -> Option<Result<Message>> {
        (&mut self.receiver).await.ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.line.pending().remove(&self.id);
    }
}

/// Why nothing is carried any more.
#[derive(Debug, Clone)]
pub(in crate::client) struct Over {
    kind: ErrorKind,
    message: Arc<str>,
    because: Option<Because>,
}

impl Over {
    pub(in crate::client) fn new(kind: ErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self { kind, message: message.into(), because: None }
    }

    /// It was closed from here.
    pub(in crate::client) fn closed() -> Self {
        Self::new(ErrorKind::Transport, "the connection was closed")
    }

    /// Adds what lies underneath, in words; none are none.
    pub(in crate::client) fn because(mut self, words: impl Into<Arc<str>>) -> Self {
        self.because = Some(Because(words.into())).filter(|because| !because.0.is_empty());
        self
    }

    fn error(&self) -> Error {
        let error = Error::new(self.kind, &*self.message);
        match &self.because {
            Some(because) => error.caused_by(because.clone()),
            None => error,
        }
    }
}

/// What lies underneath.
#[derive(Debug, Clone)]
struct Because(Arc<str>);

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Because {}
