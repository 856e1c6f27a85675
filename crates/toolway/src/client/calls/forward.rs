//! How is a request made for another caller? What the server tells and asks because of it goes to that caller.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;
use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{RawJson, Request, RpcError};

use crate::client::answer::caller::Caller;
use crate::client::answer::forwarded::Passed;
use crate::client::connect::client::Client;
use crate::client::connect::connection::{EraLink, Progressing, Terms};
use crate::client::notifications::listeners::Hook;
use crate::ground::error::Result;

/// Takes what a server says and asks because of one request.
pub(crate) trait CallerSink: Send + Sync {
    /// Takes how far the request is done.
    fn progress(&self, progress: &Progress);

    /// Takes what the server says about the request.
    fn log(&self, message: &LogMessage);

    /// Takes what the server asks because of the request. The answer is a result as text; there is none if the sender is dropped.
    fn ask(&self, question: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>>;
}

/// The caller for whom a request is forwarded.
pub(crate) struct ForwardedFor {
    pub(crate) sink: Arc<dyn CallerSink>,
    /// Equal for two requests only if they are made for the same caller.
    pub(crate) caller: Arc<str>,
    /// What the caller can be asked.
    pub(crate) can: ClientCapabilities,
    /// What the caller wants to hear of the log.
    pub(crate) log_level: Option<LogLevel>,
    /// What the caller says in `_meta`.
    pub(crate) meta: Option<Settings>,
}

impl Caller for ForwardedFor {
    fn id(&self) -> &Arc<str> {
        &self.caller
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.can
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.log_level
    }

    fn log(&self, message: &LogMessage) {
        self.sink.log(message);
    }

    fn ask(&self, question: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>> {
        self.sink.ask(question)
    }
}

impl Client {
    /// Makes a request for another caller, once: questions of the server are for that caller, but for those that this client's
    /// application answers itself. Dropping the future tells the server that the request is given up.
    pub(crate) async fn pass(&self, request: &Request, forwarded: ForwardedFor) -> Result<Passed> {
        let shared = &self.shared;
        if let Some(level) = forwarded.log_level {
            self.hear_log(level).await;
        }
        let sink = forwarded.sink.clone();
        let hook: Hook<Progress> = Arc::new(move |progress: &Progress| sink.progress(progress));
        let terms = Terms {
            timeout: shared.reconnector.timeout(),
            headers: Vec::new(),
            meta: forwarded.meta.clone(),
            progress: Progressing::Wanted(Some(hook)),
            notifications: shared.notifications.clone(),
            caller: Some(Arc::new(forwarded)),
        };
        let result = shared.ask(request, terms, None).await?;
        match &shared.current().era {
            EraLink::Handshake(_) => Ok(Passed::Complete(result)),
            EraLink::Stateless(link) => link.passed(&request.method(), result).await,
        }
    }

    /// Whether two share a connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Whether the server is asked to tell of each resource by itself, and remembers it.
    pub(crate) fn is_subscribed_to(&self) -> bool {
        matches!(self.shared.current().era, EraLink::Handshake(_))
    }

    /// Has the server say as much of the log as this needs. One that does not want to is left alone.
    async fn hear_log(&self, level: LogLevel) {
        let connection = self.shared.current();
        let is_told = self.shared.wishes().log_level.is_some_and(|known| known <= level);
        if is_told || !connection.is_usable() || connection.server.capabilities.logging.is_none() {
            return;
        }
        if let EraLink::Handshake(_) = &connection.era
            && let Err(error) = self.set_log_level(level).await
        {
            tracing::debug!(%error, "the server does not say more of its log");
        }
    }

    /// From now on the server is told that it may ask whoever requests are made for. One of the handshake era was told
    /// otherwise when the conversation was opened: it is opened again, if that can be done.
    pub(crate) fn pass_questions(&self) {
        let shared = &self.shared;
        let was_so = shared.reconnector.passes.swap(true, Ordering::AcqRel);
        let current = shared.current();
        let is_told = match &current.era {
            // Each request says for itself what may be asked.
            EraLink::Stateless(_) => true,
            EraLink::Handshake(link) => {
                let answers = &link.questions().answers;
                answers.passes() || answers.has_all()
            }
        };
        if !was_so && !is_told && shared.reconnector.is_lasting() {
            current.lost.store(true, Ordering::Release);
        }
    }
}
