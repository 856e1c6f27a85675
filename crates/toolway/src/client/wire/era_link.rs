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

/// Writes the requests of one connection and knows what its server keeps in mind. Chosen once, when the connection is opened.
///
/// What has a default is of one era only.
pub(crate) trait EraLink: ForwardLink + Send + Sync {
    fn version(&self) -> ProtocolVersion;

    /// Writes a request in its current round.
    ///
    /// # Errors
    ///
    /// The server has asked about the request, and the answers have no place in this era.
    fn request(&self, id: Id, course: &Course<'_>, terms: &Terms) -> Result<Outgoing>;

    /// Writes the request that asks whether the server is there.
    fn ping(&self, id: Id) -> Outgoing;

    fn notification(&self, method: Method, params: Option<&RawJson>) -> Outgoing;

    /// Has the server tell of changes for as long as the connection lasts.
    fn watch<'w>(&'w self, watch: WatchRequest<'w>) -> BoxFuture<'w, Result<()>>;

    /// Takes what the server sent for a request: the result, or questions to be answered before the request is sent again.
    /// Dropping the future ends the questions, too.
    fn complete<'l>(&'l self, _course: &'l mut Course<'_>, result: RawJson) -> Result<Reply<'l, ()>> {
        Ok(Reply::Complete(result))
    }

    /// Says how much of the log later requests want.
    fn set_log_level(&self, _level: LogLevel) {}

    /// How much of the log a request of now wants, where requests say so.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// The request that tells a server how much of the log is wanted, if the server keeps that in mind.
    fn log_level_request(&self, _level: LogLevel) -> Option<Request> {
        None
    }

    /// Whether arguments of tools travel in headers too, where messages have headers.
    fn mirrors_arguments(&self) -> bool {
        false
    }

    /// Whether each list says how long it is true. Elsewhere it is so until the server says otherwise.
    fn lists_expire(&self) -> bool {
        false
    }

    /// Notes for whom the connection is about to carry a request that the server may ask about.
    fn note_caller(&self, _caller: Option<&Arc<dyn Caller>>) {}

    /// Whether an answer is being given that a request may wait for, which was sent then.
    fn is_asked_about(&self, _request: &Id, _sent: Instant) -> bool {
        false
    }

    /// Whether the server is asked to tell of each resource by itself, and keeps that in mind.
    fn has_subscriptions(&self) -> bool {
        false
    }
}

/// What an era needs to have a server tell of changes.
pub(crate) struct WatchRequest<'w> {
    pub(crate) requester: &'w dyn Requester,
    pub(crate) filter: &'w SubscriptionFilter,
    /// How long the server may take to answer a request.
    pub(crate) timeout: Option<Duration>,
    /// Called once the server tells of changes.
    pub(crate) begun: Box<dyn FnOnce() + Send + 'w>,
    /// Ends when the connection is over, or another one is used.
    pub(crate) over: BoxFuture<'w, ()>,
}

/// A connection, for requests that an era makes by itself.
pub(crate) trait Requester: Send + Sync {
    fn next_id(&self) -> Id;

    /// Sends a request, and waits for the result.
    fn ask(&self, id: Id, request: Request, timeout: Option<Duration>) -> BoxFuture<'_, Result<RawJson>>;

    fn transport(&self) -> &dyn Transport;

    fn notifications(&self) -> &Notifications;
}
