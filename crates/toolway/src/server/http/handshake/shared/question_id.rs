//! Which server asked a question? The id of the question names it, so that any server can pass the answer on.

use toolway_protocol::Id;

use crate::ground::random::random_hex;
use crate::server::handshake::Session;
use crate::server::handshake::questions::QUESTION_ID_PREFIX;

/// Makes the ids of a session's questions name the server that asks.
pub(in crate::server) fn name_node_in_questions(session: &Session, node: &str) {
    if let Some(questions) = &session.questions {
        // Set once, before the first question.
        let _ = questions.prefix.set(format!("{node}-{}", random_hex::<4>()));
    }
}

/// Returns a question's id as text, and the server that it names.
pub(in crate::server) fn node_of_question(id: &Id) -> Option<(&str, &str)> {
    let Id::String(id) = id else { return None };
    let node = id.strip_prefix(QUESTION_ID_PREFIX)?.split('-').next()?;
    let is_node = node.len() == 16 && node.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_node && id.len() <= MAX_QUESTION_ID).then_some((id, node))
}

/// The longest id of a question, in bytes.
const MAX_QUESTION_ID: usize = 64;
