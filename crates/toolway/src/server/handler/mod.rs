//! Handlers: how does what was sent become the parameters of a function?
//!
//! | file | question |
//! |---|---|
//! | `function.rs` | How does a function or a closure become a handler? |
//! | `parameter.rs`, `extract.rs`, `suspect.rs` | What may a handler take, and what does the compiler say of anything else? |
//! | `arguments.rs`, `location.rs`, `texts.rs` | How are JSON arguments and texts read, and where is a mistake? |
//! | `given.rs` | Which values must come with a call, and what if nothing gives them? |

pub(crate) mod arguments;
pub(crate) mod function;
pub(crate) mod given;
pub(crate) mod location;
pub(crate) mod parameter;
#[doc(hidden)]
pub mod suspect;
pub(crate) mod texts;
