//! Asking the client's user, its model and its roots: one source for every client.
//!
//! A function that asks runs in rounds. A question that has no answer ends the round; then the client is asked, and the
//! function runs again from its beginning, now with the answer. It is so in both eras, so that a server behaves alike
//! everywhere: the eras differ only in who carries what the rounds remember .
//!
//! | file | question |
//! |---|---|
//! | `question.rs`, `questions.rs` | What can be asked, and what is its answer? |
//! | `once.rs` | What is not done again? |
//! | `form/` | What can a user be asked to fill in? |
//!
//! What was asked and answered in a run stands in `call/question_log.rs`, and what the rounds leave to the next one in
//! `call/replay.rs`.

pub(crate) mod form;
pub(crate) mod once;
pub(crate) mod question;
pub(crate) mod questions;
