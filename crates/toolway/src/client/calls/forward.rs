//! How is a request forwarded for another caller? The server's log messages, progress notifications and questions about
//! the request go to that caller.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolway_protocol::Request;
use toolway_protocol::capability::JsonObject;
use toolway_protocol::types::LogLevel;

use crate::client::answer::caller::Caller;
use crate::client::answer::forwarded::ForwardOutcome;
use crate::client::connect::client::Client;
use crate::client::notifications::listeners::ProgressHook;
use crate::client::wire::request_options::{ProgressMode, RequestOptions, ServerReply};
use crate::ground::error::Result;

impl Client {
    /// Sends a request for another caller once. If the server asks questions, they are returned for that caller, and
    /// the request must be sent again with the answers. Questions that this client's application answers itself are
    /// already answered. Dropping the future cancels the request.
    pub(crate) async fn forward(
        &self,
        request: &Request,
        caller: Arc<dyn Caller>,
        progress: ProgressHook,
        meta: Option<JsonObject>,
    ) -> Result<ForwardOutcome> {
        let shared = &self.shared;
        if let Some(level) = caller.log_level() {
            self.ensure_log_level(level).await;
        }
        let terms = RequestOptions {
            meta,
            progress: ProgressMode::Wanted(Some(progress)),
            caller: Some(caller),
            deadline: shared.reconnector.deadline(),
            ..RequestOptions::new(shared.reconnector.timeout())
        };
        let result = shared.request_with_retries(request, terms, None).await?;
        match shared.current().era.complete_forwarded(&request.method(), result)? {
            ServerReply::Complete(result) => Ok(ForwardOutcome::Complete(result)),
            ServerReply::InputRequired(questions) => questions.await.map(ForwardOutcome::InputRequired),
        }
    }

    /// Returns whether the server supports completion of arguments.
    pub(crate) fn supports_completion(&self) -> bool {
        self.shared.current().server.capabilities.completions.is_some()
    }

    /// Returns whether two clients share a connection.
    pub(crate) fn shares_connection_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns whether the client subscribes to each resource with a separate request, and the server remembers the
    /// subscriptions.
    pub(crate) fn has_subscriptions(&self) -> bool {
        self.shared.current().era.has_subscriptions()
    }

    /// Lowers the server's log level if a caller needs more messages than the server sends now. A refusal of the server
    /// is logged and ignored.
    async fn ensure_log_level(&self, level: LogLevel) {
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
    pub(crate) fn forward_questions(&self) {
        let shared = &self.shared;
        let was_so = shared.reconnector.forwards_questions.swap(true, Ordering::AcqRel);
        let current = shared.current();
        let is_told = current.era.can_ask_callers();
        if !was_so && !is_told && shared.reconnector.can_reconnect() {
            current.is_lost.store(true, Ordering::Release);
        }
    }
}
