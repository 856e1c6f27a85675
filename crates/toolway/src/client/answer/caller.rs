//! For which caller is a request made, and which requests are in flight on a connection?
//!
//! A gateway makes requests for its callers. A server does not say which request a question or a log message belongs
//! to, except by the stream that it arrives on. Where all messages share one stream, such as a pipe, the request is
//! known only if exactly one is in flight. Servers of the handshake era also send messages when no request is in
//! flight, so there, all requests of the connection so far must also be of one caller (`handshake/questions.rs`).
//! Otherwise the message is passed to no caller, because it must not reach the wrong one.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage};
use toolway_protocol::{Id, RawJson, RpcError};

use crate::ground::mutex::Mutex;

/// A caller that a request is forwarded for.
pub(crate) trait Caller: Send + Sync {
    /// The id of the caller. Two requests have the same id only if they are made for the same caller.
    fn id(&self) -> &Arc<str>;

    /// The capabilities that the caller declared.
    fn capabilities(&self) -> &ClientCapabilities;

    /// The log level that the caller has requested.
    fn log_level(&self) -> Option<LogLevel>;

    /// Sends the caller a log message of the server about the request.
    fn log(&self, message: &LogMessage);

    /// Asks the caller. The answer is a result as JSON text; there is none if the sender is dropped.
    fn ask(&self, question: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>>;
}

/// The requests in flight on one connection that a server may ask about. Requests of the application itself have no
/// caller.
#[derive(Default)]
pub(crate) struct OpenCalls(Mutex<HashMap<Id, Option<Arc<dyn Caller>>>>);

/// The number of requests in flight, and the caller if there is exactly one.
pub(crate) enum Open {
    None,
    One(Option<Arc<dyn Caller>>),
    Several,
}

impl OpenCalls {
    /// Records a request until the guard is dropped.
    pub(crate) fn note(&self, id: &Id, caller: Option<&Arc<dyn Caller>>) -> OpenCall<'_> {
        self.0.lock().insert(id.clone(), caller.cloned());
        OpenCall { calls: self, id: id.clone() }
    }

    /// The requests in flight that a message may be about: the one on whose stream it arrived, or else all.
    pub(crate) fn open(&self, during: Option<&Id>) -> Open {
        let calls = self.0.lock();
        if let Some(id) = during {
            return calls.get(id).map_or(Open::None, |caller| Open::One(caller.clone()));
        }
        let mut callers = calls.values();
        match (callers.next(), callers.next()) {
            (None, _) => Open::None,
            (Some(caller), None) => Open::One(caller.clone()),
            _ => Open::Several,
        }
    }

    /// The caller that a message is for, in an era in which server messages are always about a request in flight.
    pub(crate) fn caller(&self, during: Option<&Id>) -> Option<Arc<dyn Caller>> {
        match self.open(during) {
            Open::One(caller) => caller,
            Open::None | Open::Several => None,
        }
    }
}

/// Guard of a request in flight.
pub(crate) struct OpenCall<'c> {
    calls: &'c OpenCalls,
    id: Id,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().remove(&self.id);
    }
}
