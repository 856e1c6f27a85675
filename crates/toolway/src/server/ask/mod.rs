//! Asking the client's user, its model and its roots: one source for every client.
//!
//! A function that asks runs in rounds. A question that has no answer ends the round; then the client is asked, and the
//! function runs again from its beginning, now with the answer. It is so in both eras, so that a server behaves alike
//! everywhere: the eras differ only in who carries what the rounds remember ([`Past`]).
//!
//! | file | question |
//! |---|---|
//! | `question.rs`, `all.rs` | What can be asked, and what is its answer? |
//! | `once.rs` | What is not done again? |
//! | `error.rs` | Why is there no answer? |
//! | `asked.rs` | What is asked, answered and done in one run? |
//! | `past.rs` | What do the rounds leave to the next one? |

mod all;
mod asked;
mod error;
mod once;
mod past;
mod question;

pub use all::Questions;
pub use error::{AskError, AskErrorKind, OnceError};
pub use question::{Ask, IntoSample, Question, UserAnswer};

pub(super) use asked::{Asked, required};
pub(crate) use asked::{Asker, Asking, Way};
pub(crate) use past::Past;
