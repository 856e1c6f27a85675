//! What does an era decide about the requests of a connection?

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_protocol::types::{LogLevel, SubscriptionFilter};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request};

use crate::client::answer::caller::Caller;
use crate::client::notifications::listeners::Notifications;
use crate::client::wire::forward_link::ForwardLink;
use crate::client::wire::outgoing::Outgoing;
use crate::client::wire::terms::{Course, Reply, Terms};
use crate::client::wire::transport::Transport;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// Writes the requests of one connection and knows what its server remembers. Chosen once, when the connection is
/// opened.
///
/// Methods with a default implementation do something in one era only.
pub(crate) trait EraLink: ForwardLink + Send + Sync {
    fn version(&self) -> ProtocolVersion;

    /// Writes a request in its current round.
    ///
    /// # Errors
    ///
    /// When the server has asked about the request, and this era has no way to send the answers.
    fn request(&self, id: Id, course: &Course<'_>, terms: &Terms) -> Result<Outgoing>;

    /// Writes the request that checks whether the server responds.
    fn ping(&self, id: Id) -> Outgoing;

    fn notification(&self, method: Method, params: Option<&RawJson>) -> Outgoing;

    /// Has the server report changes for as long as the connection lasts.
    fn watch<'w>(&'w self, watch: WatchRequest<'w>) -> BoxFuture<'w, Result<()>>;

    /// Takes what the server sent for a request: the result, or questions to answer before the request is sent again.
    /// Dropping the future also drops the questions.
    fn complete<'l>(&'l self, _course: &'l mut Course<'_>, result: RawJson) -> Result<Reply<'l, ()>> {
        Ok(Reply::Complete(result))
    }

    /// Sets the log level of later requests.
    fn set_log_level(&self, _level: LogLevel) {}

    /// The log level that requests carry now, in an era in which requests carry one.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// The request that sets the log level, if the server remembers it.
    fn log_level_request(&self, _level: LogLevel) -> Option<Request> {
        None
    }

    /// Returns whether tool arguments are also sent in headers, on transports that have headers.
    fn mirrors_arguments(&self) -> bool {
        false
    }

    /// Returns whether each list says how long it is valid. If not, a list is valid until the server reports a change.
    fn lists_expire(&self) -> bool {
        false
    }

    /// Records the caller of a request that the connection is about to send and that the server may ask about.
    fn note_caller(&self, _caller: Option<&Arc<dyn Caller>>) {}

    /// Returns whether a question is being answered that may hold up this request, which was sent at `sent`.
    fn is_asked_about(&self, _request: &Id, _sent: Instant) -> bool {
        false
    }

    /// Returns whether each resource is subscribed to with a request of its own, which the server remembers.
    fn has_subscriptions(&self) -> bool {
        false
    }
}

/// The parts that an era needs to have a server report changes.
pub(crate) struct WatchRequest<'w> {
    pub(crate) requester: &'w dyn Requester,
    pub(crate) filter: &'w SubscriptionFilter,
    /// How long the server may take to answer a request.
    pub(crate) timeout: Option<Duration>,
    /// Called once the server reports changes.
    pub(crate) begun: Box<dyn FnOnce() + Send + 'w>,
    /// Completes when the connection has ended or was replaced.
    pub(crate) over: BoxFuture<'w, ()>,
}

/// A connection, for requests that an era makes itself.
pub(crate) trait Requester: Send + Sync {
    fn next_id(&self) -> Id;

    /// Sends a request and waits for the result.
    fn ask(&self, id: Id, request: Request, timeout: Option<Duration>) -> BoxFuture<'_, Result<RawJson>>;

    fn transport(&self) -> &dyn Transport;

    fn notifications(&self) -> &Notifications;
}
