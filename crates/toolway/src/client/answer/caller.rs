//! For which caller is a request made, and which requests are under way on a connection?
//!
//! A gateway makes requests for its callers. Which request a question or a log message belongs to, a server says only by the stream
//! it comes on. Where everything comes on one stream, such as a pipe, it can be told if one request alone is under way. Servers of
//! the handshake era also speak when none is: there, all requests of the connection so far must also be of one caller
//! (`handshake/questions.rs`). Otherwise the message reaches no caller: what is meant for one must not reach another.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage};
use toolway_protocol::{Id, RawJson, RpcError};

use crate::ground::mutex::Mutex;

/// A caller for whom a request is forwarded.
pub(crate) trait Caller: Send + Sync {
    /// Equal for two requests only if they are made for the same caller.
    fn id(&self) -> &Arc<str>;

    /// What the caller can be asked.
    fn capabilities(&self) -> &ClientCapabilities;

    /// What the caller wants to hear of the log.
    fn log_level(&self) -> Option<LogLevel>;

    /// Tells the caller what the server says about the request.
    fn log(&self, message: &LogMessage);

    /// Asks the caller. The answer is a result as text; there is none if the sender is dropped.
    fn ask(&self, question: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>>;
}

/// The requests under way on one connection that a server may ask about. Those of the application itself have no caller.
#[derive(Default)]
pub(crate) struct OpenCalls(Mutex<HashMap<Id, Option<Arc<dyn Caller>>>>);

/// How many requests are under way.
pub(crate) enum Open {
    None,
    One(Option<Arc<dyn Caller>>),
    Several,
}

impl OpenCalls {
    /// Notes a request until the guard is dropped.
    pub(crate) fn note(&self, id: &Id, caller: Option<&Arc<dyn Caller>>) -> OpenCall<'_> {
        self.0.lock().insert(id.clone(), caller.cloned());
        OpenCall { calls: self, id: id.clone() }
    }

    /// The requests under way that a message may be about: the one on whose stream it came, or else all.
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

    /// The caller whom a message is for, where servers speak of nothing but requests under way.
    pub(crate) fn caller(&self, during: Option<&Id>) -> Option<Arc<dyn Caller>> {
        match self.open(during) {
            Open::One(caller) => caller,
            Open::None | Open::Several => None,
        }
    }
}

/// A request under way.
pub(crate) struct OpenCall<'c> {
    calls: &'c OpenCalls,
    id: Id,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().remove(&self.id);
    }
}
