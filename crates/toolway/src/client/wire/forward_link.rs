//! What does an era decide about requests that are made for another caller?

use toolway_protocol::{Method, RawJson};

use crate::client::answer::forwarded::Questions;
use crate::client::wire::terms::Reply;
use crate::ground::error::Result;

/// Tells what becomes of requests that are made for another caller.
pub(crate) trait ForwardLink {
    /// Takes what the server sent for such a request: the result, or what the caller has to be asked. The application answers its own
    /// questions.
    fn forwarded<'l>(&'l self, _method: &'l Method, result: RawJson) -> Result<Reply<'l, Questions>> {
        Ok(Reply::Complete(result))
    }

    /// Whether the server knows that it may ask the callers of forwarded requests.
    fn asks_callers(&self) -> bool {
        true
    }
}
