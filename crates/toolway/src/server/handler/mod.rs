//! Handlers: how do the arguments of a request become the parameters of a function?
//!
//! | file | question |
//! |---|---|
//! | `function.rs` | How does a function or a closure become a handler? |
//! | `parameter.rs`, `extract.rs`, `diagnose.rs` | Which types can be parameters, and what does the compiler say about other types? |
//! | `arguments.rs`, `slots.rs`, `texts.rs` | How are JSON arguments and texts read, and how are mistakes located? |

pub(crate) mod arguments;
#[doc(hidden)]
pub mod diagnose;
pub(crate) mod extract;
pub(crate) mod function;
pub(crate) mod parameter;
pub(crate) mod slots;
pub(crate) mod texts;
