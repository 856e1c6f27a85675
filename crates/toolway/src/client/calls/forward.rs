//! How is a request forwarded for another caller? Its log messages, progress and questions go to that caller.

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
    /// Forwards a request for another caller, in one round. Questions of the server go to that caller, except those
    /// that the application of this client answers itself. Dropping the future cancels the request.
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

    /// Returns whether the server completes arguments.
    pub(crate) fn completes(&self) -> bool {
        self.shared.current().server.capabilities.completions.is_some()
    }

    /// Returns whether two clients share a connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns whether each resource is subscribed to with a request of its own, which the server remembers.
    pub(crate) fn is_subscribed_to(&self) -> bool {
        self.shared.current().era.has_subscriptions()
    }

    /// Lowers the server's log level to the one that a caller needs. Continues if the server refuses.
    async fn hear_log(&self, level: LogLevel) {
        let connection = self.shared.current();
        let is_told = self.shared.log_level.lock().is_some_and(|known| known <= level);
        if is_told || !connection.is_usable() || connection.server.capabilities.logging.is_none() {
            return;
        }
        // In the other era, the request itself carries the level.
        if connection.era.log_level_request(level).is_some()
            && let Err(error) = self.set_log_level(level).await
        {
            tracing::debug!(%error, "the server does not say more of its log");
        }
    }

    /// Declares to the server that it may ask the callers of forwarded requests. A server of the handshake era was told
    /// otherwise when the connection was opened, so the client reconnects, if the target allows it.
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
