//! Does the server know that it may ask the callers of forwarded requests?

use crate::client::handshake::link::HandshakeLink;
use crate::client::wire::forward_link::ForwardLink;

impl ForwardLink for HandshakeLink {
    /// The server knows the capabilities that were declared when the session was opened.
    fn can_ask_callers(&self) -> bool {
        let answers = &self.questions.answers;
        answers.forwards_questions || answers.can_answer_all()
    }
}
