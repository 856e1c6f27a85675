//! Questions to the client's user, to its model, and about its roots: one implementation for every client.
//!
//! A function that asks runs in rounds. A question without an answer ends the round; then the client is asked, and the
//! function runs again from its beginning, now with the answer. This is the same in all revisions, so that a server
//! behaves the same everywhere. With a handshake, the server keeps the state between rounds; without one, the client
//! does.
//!
//! | file | question |
//! |---|---|
//! | `question.rs`, `questions.rs` | What can be asked, and what is its answer? |
//! | `once.rs` | Which effects are not repeated? |
//! | `form/` | What can a user be asked to fill in? |
//!
//! `call/question_log.rs` holds the questions and answers of one run. `call/replay.rs` holds the state that one round
//! passes to the next.

pub(crate) mod form;
pub(crate) mod once;
pub(crate) mod question;
pub(crate) mod questions;

pub use crate::server::call::memory::Memory;
pub use crate::server::call::memory_record::MemoryError;
pub use crate::server::failure::ask::{AskError, AskErrorKind, OnceError};
pub use form::Form;
pub use form::choice::FormChoice;
pub use form::field::FormField;
pub use question::{Ask, QuestionBuilder, UserAnswer};
pub use questions::Questions;
