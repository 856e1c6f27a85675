//! How is a request forwarded for another caller? The server's log messages, progress notifications and questions about
//! the request go to that caller.

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
    /// Sends a request for another caller once. If the server asks questions, they are returned for that caller, and
    /// the request must be sent again with the answers. Questions that this client's application answers itself are
    /// already answered. Dropping the future cancels the request.
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

    /// Returns whether the server supports completion of arguments.
    pub(crate) fn completes(&self) -> bool {
        self.shared.current().server.capabilities.completions.is_some()
    }

    /// Returns whether two clients share a connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns whether the client subscribes to each resource with a separate request, and the server remembers the
    /// subscriptions.
    pub(crate) fn is_subscribed_to(&self) -> bool {
        self.shared.current().era.has_subscriptions()
    }

    /// Lowers the server's log level if a caller needs more messages than the server sends now. A refusal of the server
    /// is logged and ignored.
    async fn hear_log(&self, level: LogLevel) {
        let connection = self.shared.current();
        let is_told = self.shared.log_level.lock().is_some_and(|known| known <= level);
        if is_told || !connection.is_usable() || connection.server.capabilities.logging.is_none() {
            return;
        }
        // Only the handshake era has a request for the level. In the stateless era, each request carries the level
        // itself.
        if connection.era.log_level_request(level).is_some()
            && let Err(error) = self.set_log_level(level).await
        {
            tracing::debug!(%error, "the server's log level could not be lowered");
        }
    }

    /// Declares to the server that it may ask the callers of forwarded requests. In the handshake era the client
    /// declares its capabilities only when it opens a connection, so it reconnects, if the target allows that.
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
