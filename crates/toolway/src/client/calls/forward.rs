//! How is a request made for another caller? What the server tells and asks because of it goes to that caller.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolway_protocol::Request;
use toolway_protocol::capability::Settings;
use toolway_protocol::types::{LogLevel, Progress};

use crate::client::answer::caller::Caller;
use crate::client::answer::forwarded::Passed;
use crate::client::connect::client::Client;
use crate::client::notifications::listeners::Hook;
use crate::client::wire::terms::{Progressing, Reply, Terms};
use crate::ground::error::Result;

impl Client {
    /// Makes a request for another caller, once: questions of the server are for that caller, but for those that this client's
    /// application answers itself. Dropping the future tells the server that the request is given up.
    pub(crate) async fn pass(
        &self,
        request: &Request,
        caller: Arc<dyn Caller>,
        progress: Hook<Progress>,
        meta: Option<Settings>,
    ) -> Result<Passed> {
        let shared = &self.shared;
        if let Some(level) = caller.log_level() {
            self.hear_log(level).await;
        }
        let terms = Terms {
            meta,
            progress: Progressing::Wanted(Some(progress)),
            caller: Some(caller),
            ..Terms::new(shared.reconnector.timeout())
        };
        let result = shared.ask(request, terms, None).await?;
        match shared.current().era.forwarded(&request.method(), result)? {
            Reply::Complete(result) => Ok(Passed::Complete(result)),
            Reply::Asks(questions) => questions.await.map(Passed::Asks),
        }
    }

    /// Whether the server completes arguments.
    pub(crate) fn completes(&self) -> bool {
        self.shared.current().server.capabilities.completions.is_some()
    }

    /// Whether two share a connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Whether the server is asked to tell of each resource by itself, and remembers it.
    pub(crate) fn is_subscribed_to(&self) -> bool {
        self.shared.current().era.has_subscriptions()
    }

    /// Has the server say as much of the log as this needs. One that does not want to is left alone.
    async fn hear_log(&self, level: LogLevel) {
        let connection = self.shared.current();
        let is_told = self.shared.log_level.lock().is_some_and(|known| known <= level);
        if is_told || !connection.is_usable() || connection.server.capabilities.logging.is_none() {
            return;
        }
        // Where each request says so for itself, this one does.
        if connection.era.log_level_request(level).is_some()
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
        let is_told = current.era.asks_callers();
        if !was_so && !is_told && shared.reconnector.is_lasting() {
            current.lost.store(true, Ordering::Release);
        }
    }
}
