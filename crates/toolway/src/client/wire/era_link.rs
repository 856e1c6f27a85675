//! What does an era decide about the requests of a connection?

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_protocol::types::{LogLevel, SubscriptionFilter};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request};

use crate::client::answer::caller::Caller;
use crate::client::notifications::listeners::Notifications;
use crate::client::wire::forward_link::ForwardLink;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::client::wire::request_options::{RequestOptions, RequestRounds, ServerReply};
use crate::client::wire::transport::Transport;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// The part of a connection that depends on the era: how requests are written and what the server remembers. The
/// implementation is chosen once, when the connection is opened.
///
/// A method with a default implementation is overridden in one era only.
pub(crate) trait EraLink: ForwardLink + Send + Sync {
    fn version(&self) -> ProtocolVersion;

    /// Writes a request. If the server has asked about it, the request contains the answers.
    ///
    /// # Errors
    ///
    /// When the server has asked about the request in the stateless era, and this connection is of the handshake era,
    /// which cannot send the answers.
    fn request(&self, id: Id, course: &RequestRounds<'_>, terms: &RequestOptions) -> Result<OutgoingMessage>;

    /// Writes the request that checks whether the server responds.
    fn ping(&self, id: Id) -> OutgoingMessage;

    fn notification(&self, method: Method, params: Option<&RawJson>) -> OutgoingMessage;

    /// Subscribes to changes, then waits until the connection or the subscription ends.
    fn watch<'w>(&'w self, watch: WatchRequest<'w>) -> BoxFuture<'w, Result<()>>;

    /// Handles the server's reply to a request: the result, or questions to answer before the request is sent again.
    /// Dropping the future in [`ServerReply::InputRequired`] stops answering the questions.
    fn complete<'l>(
        &'l self,
        _course: &'l mut RequestRounds<'_>,
        result: RawJson,
    ) -> Result<ServerReply<'l, ()>> {
        Ok(ServerReply::Complete(result))
    }

    /// Sets the log level of later requests.
    fn set_log_level(&self, _level: LogLevel) {}

    /// The log level that each request carries now. `None` in the handshake era, in which requests do not carry it.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// The request that sets the log level on the server. `None` in the stateless era, in which the server does not
    /// remember it.
    fn log_level_request(&self, _level: LogLevel) -> Option<Request> {
        None
    }

    /// Returns whether tools can require that arguments are also sent in headers, on transports that have headers.
    fn mirrors_arguments(&self) -> bool {
        false
    }

    /// Returns whether each list states how long it is valid. If it does not, a list is valid until the server reports
    /// a change.
    fn lists_expire(&self) -> bool {
        false
    }

    /// Records the caller of a request before the request is sent. Called only for requests about which the server may
    /// ask.
    fn note_caller(&self, _caller: Option<&Arc<dyn Caller>>) {}

    /// Returns whether the server may be waiting for an answer to a question before it replies to this request, which
    /// was sent at `sent`.
    fn has_pending_question(&self, _request: &Id, _sent: Instant) -> bool {
        false
    }

    /// Returns for how long questions of the server were being answered so far, in the era in which the server asks while
    /// its reply is awaited.
    fn question_time(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns whether the client subscribes to each resource with a separate request, and the server remembers the
    /// subscriptions.
    fn has_subscriptions(&self) -> bool {
        false
    }
}

/// The arguments of [`EraLink::watch`].
pub(crate) struct WatchRequest<'w> {
    pub(crate) requester: &'w dyn Requester,
    pub(crate) filter: &'w SubscriptionFilter,
    /// How long the server may take to answer a subscribe request.
    pub(crate) timeout: Option<Duration>,
    /// Called when the subscription has begun.
    pub(crate) on_begun: Box<dyn FnOnce() + Send + 'w>,
    /// Completes when the connection has ended or was replaced.
    pub(crate) connection_ended: BoxFuture<'w, ()>,
}

/// A connection, as seen by the code of an era that sends requests of its own.
pub(crate) trait Requester: Send + Sync {
    fn next_id(&self) -> Id;

    /// Sends a request and waits for the result.
    fn send_request(
        &self,
        id: Id,
        request: Request,
        timeout: Option<Duration>,
    ) -> BoxFuture<'_, Result<RawJson>>;

    fn transport(&self) -> &dyn Transport;

    fn notifications(&self) -> &Notifications;
}
