//! What does a forwarded request return?

use toolway_protocol::RawJson;
use toolway_protocol::types::InputRequest;

use crate::client::answer::answers::AnswerHandlers;

/// The outcome of a forwarded request.
pub(crate) enum ForwardOutcome {
    /// The result, unchanged.
    Complete(RawJson),
    /// The server asks questions. The request must be sent again with the answers.
    InputRequired(CallerQuestions),
}

/// The questions that a server asks before it sends the result of a request.
pub(crate) struct CallerQuestions {
    /// The questions for the caller, by key.
    pub(crate) for_caller: Vec<(String, InputRequest)>,
    /// The answers that the application gave itself, by key.
    pub(crate) own_answers: Vec<(String, RawJson)>,
    /// The server's request state, which must be sent back unchanged with the answers.
    pub(crate) request_state: Option<String>,
}

impl AnswerHandlers {
    /// Returns whether the application answers every kind of question.
    pub(crate) fn can_answer_all(&self) -> bool {
        self.form.is_some() && self.url.is_some() && self.model.is_some() && self.roots.is_some()
    }
}
