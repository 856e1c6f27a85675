//! For which caller is a request made, and which requests are in flight on a connection?
//!
//! A gateway forwards requests for its callers. A question or a log message of the server does not name the request
//! that it belongs to: only the stream on which it arrives shows that. If all messages share one stream, such as a
//! pipe, the request is known only if exactly one is in flight. In the handshake era a server may also send messages
//! about a request that has ended, so there, all requests of the connection so far must also be of one caller
//! (`handshake/questions.rs`). If the caller is not certain, the message is not passed on, because it could reach the
//! wrong caller.

use std::sync::Arc;

use tokio::sync::oneshot;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage};
use toolway_protocol::{Id, RawJson, RpcError};

use crate::ground::mutex::Mutex;
use crate::ground::own_ids::OwnIds;

/// A caller for which a request is forwarded.
pub(crate) trait Caller: Send + Sync {
    /// The id of the caller. Different callers have different ids.
    fn id(&self) -> &Arc<str>;

    /// The capabilities that the caller declared.
    fn capabilities(&self) -> &ClientCapabilities;

    /// The log level that the caller requested, if any.
    fn log_level(&self) -> Option<LogLevel>;

    /// Sends the caller a log message that the server wrote about the caller's request; `bytes` is the memory that the
    /// message needs.
    fn log(&self, message: &LogMessage, bytes: usize);

    /// Asks the caller a question. The answer is a result as JSON text. If the caller can no longer answer, the sender
    /// is dropped.
    fn ask(&self, question: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>>;
}

/// The requests in flight on one connection about which the server may ask.
#[derive(Default)]
pub(crate) struct OpenCalls(Mutex<OwnIds<OpenCall>>);

struct OpenCall {
    /// `None` for a request of the application itself.
    caller: Option<Arc<dyn Caller>>,
    tag: Option<u64>,
}

/// The number of requests in flight. If there is exactly one, its caller.
pub(crate) enum CallsInFlight {
    None,
    One(Option<Arc<dyn Caller>>),
    Several,
}

impl OpenCalls {
    /// Records a request as in flight until the returned guard is dropped.
    pub(crate) fn register(
        &self,
        id: &Id,
        caller: Option<&Arc<dyn Caller>>,
        tag: Option<u64>,
    ) -> OpenCallGuard<'_> {
        self.0.lock().insert(id.clone(), OpenCall { caller: caller.cloned(), tag });
        OpenCallGuard { calls: self, id: id.clone() }
    }

    /// Returns the requests in flight that a message may be about. `during` is the request on whose stream the message
    /// arrived; if it is `None`, the message may be about any of them.
    pub(crate) fn in_flight(&self, during: Option<&Id>) -> CallsInFlight {
        let calls = self.0.lock();
        if let Some(id) = during {
            return calls.get(id).map_or(CallsInFlight::None, |call| CallsInFlight::One(call.caller.clone()));
        }
        let mut callers = calls.values().map(|call| &call.caller);
        match (callers.next(), callers.next()) {
            (None, _) => CallsInFlight::None,
            (Some(caller), None) => CallsInFlight::One(caller.clone()),
            _ => CallsInFlight::Several,
        }
    }

    /// The tag of a request in flight, if it has one.
    pub(crate) fn tag(&self, id: &Id) -> Option<u64> {
        self.0.lock().get(id)?.tag
    }

    /// The caller that a message is for. Only valid in the stateless era, in which messages of the server are always
    /// about a request in flight.
    pub(crate) fn caller(&self, during: Option<&Id>) -> Option<Arc<dyn Caller>> {
        match self.in_flight(during) {
            CallsInFlight::One(caller) => caller,
            CallsInFlight::None | CallsInFlight::Several => None,
        }
    }
}

/// Guard of a request in flight. Dropping it removes the request from [`OpenCalls`].
pub(crate) struct OpenCallGuard<'c> {
    calls: &'c OpenCalls,
    id: Id,
}

impl Drop for OpenCallGuard<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().remove(&self.id);
    }
}
