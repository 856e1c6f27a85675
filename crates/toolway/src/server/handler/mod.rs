//! Handlers: how does what was sent become the parameters of a function?
//!
//! | file | question |
//! |---|---|
//! | `function.rs` | How does a function or a closure become a handler? |
//! | `parameter.rs`, `extract.rs`, `suspect.rs` | What may a handler take, and what does the compiler say of anything else? |
//! | `arguments.rs`, `slots.rs`, `texts.rs` | How are JSON arguments and texts read, and where is a mistake? |

pub(crate) mod arguments;
pub(crate) mod extract;
pub(crate) mod function;
pub(crate) mod parameter;
pub(crate) mod slots;
#[doc(hidden)]
pub mod suspect;
pub(crate) mod texts;
