//! What comes of a request that was made for another caller?

use toolway_protocol::RawJson;
use toolway_protocol::types::InputRequest;

use crate::client::answer::answers::Answers;

/// What came of a request that was forwarded.
pub(crate) enum Passed {
    /// The result, as it came.
    Complete(RawJson),
    /// The server has to know more, and the request is to be made again with the answers.
    Asks(Questions),
}

/// What a server has to know before it answers.
pub(crate) struct Questions {
    /// What is to be asked, by key.
    pub(crate) open: Vec<(String, InputRequest)>,
    /// What the application has answered itself.
    pub(crate) given: Vec<(String, RawJson)>,
    /// What is to be sent back as it is.
    pub(crate) state: Option<String>,
}

impl Answers {
    /// Whether the application answers whatever it is asked.
    pub(crate) fn has_all(&self) -> bool {
        self.form.is_some() && self.url.is_some() && self.model.is_some() && self.roots.is_some()
    }
}
