//! What does an era decide about requests that are forwarded for another caller?

use toolway_protocol::{Method, RawJson};

use crate::client::answer::forwarded::CallerQuestions;
use crate::client::wire::request_options::ServerReply;
use crate::ground::error::Result;

/// The part of an [`EraLink`](crate::client::wire::era_link::EraLink) that handles forwarded requests.
pub(crate) trait ForwardLink {
    /// Handles the server's reply to a forwarded request: the result, or the questions for the caller. Questions that
    /// the application answers itself are answered here.
    fn complete_forwarded<'l>(
        &'l self,
        _method: &'l Method,
        result: RawJson,
    ) -> Result<ServerReply<'l, CallerQuestions>> {
        Ok(ServerReply::Complete(result))
    }

    /// Returns whether the server knows that it may ask the callers of forwarded requests.
    fn can_ask_callers(&self) -> bool {
        true
    }
}
