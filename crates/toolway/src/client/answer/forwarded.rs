//! What does a request return that was forwarded for another caller?

use toolway_protocol::RawJson;
use toolway_protocol::types::InputRequest;

use crate::client::answer::answers::Answers;

/// The outcome of a forwarded request.
pub(crate) enum Passed {
    /// The result, unchanged.
    Complete(RawJson),
    /// The server needs answers, and the request must be sent again with them.
    Asks(Questions),
}

/// The questions of a server, which must be answered before it sends the result.
pub(crate) struct Questions {
    /// Questions for the caller, by key.
    pub(crate) open: Vec<(String, InputRequest)>,
    /// Answers that the application has given itself, by key.
    pub(crate) given: Vec<(String, RawJson)>,
    /// The request state, which must be sent back unchanged.
    pub(crate) state: Option<String>,
}

impl Answers {
    /// Returns whether the application answers every kind of question.
    pub(crate) fn has_all(&self) -> bool {
        self.form.is_some() && self.url.is_some() && self.model.is_some() && self.roots.is_some()
    }
}
