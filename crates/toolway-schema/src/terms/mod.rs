//! What do the keywords of a schema mean?
//!
//! | file | question |
//! |---|---|
//! | `types.rs` | Which JSON types may a value have? |
//! | `number.rs` | When are two values equal, and how are two numbers compared? |
//! | `format.rs` | Does a text match its `format`? |
//! | `pattern.rs` | Is a text a regular expression? |
//! | `keyword.rs` | Which keywords are there, and which of them contain schemas? |
//! | `refs.rs` | What does a reference refer to? |

pub(crate) mod format;
pub(crate) mod keyword;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod refs;
pub(crate) mod types;
