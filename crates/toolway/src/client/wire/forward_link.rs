//! What does an era decide about requests that are forwarded for another caller?

use toolway_protocol::{Method, RawJson};

use crate::client::answer::forwarded::Questions;
use crate::client::wire::terms::Reply;
use crate::ground::error::Result;

/// The part of an era that handles requests forwarded for another caller.
pub(crate) trait ForwardLink {
    /// Takes what the server sent for such a request: the result, or the questions for the caller. Questions that the
    /// application answers itself are answered here.
    fn forwarded<'l>(&'l self, _method: &'l Method, result: RawJson) -> Result<Reply<'l, Questions>> {
        Ok(Reply::Complete(result))
    }

    /// Returns whether the server knows that it may ask the callers of forwarded requests.
    fn asks_callers(&self) -> bool {
        true
    }
}
