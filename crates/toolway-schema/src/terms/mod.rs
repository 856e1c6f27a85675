//! What do the keywords of a schema mean?
//!
//! | file | question |
//! |---|---|
//! | `types.rs` | Which JSON types may a value have? |
//! | `number.rs` | When are two values equal, and how are two numbers compared? |
//! | `format.rs` | Does a text match its `format`? |
//! | `pattern.rs` | Is a text a regular expression, and how large is it? |
//! | `keyword.rs` | Which keywords are there, and which of them contain schemas? |
//! | `refs.rs` | What does a reference refer to? |
//! | `work.rs` | How much work may one value cause? |

pub(crate) mod format;
pub(crate) mod keyword;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod refs;
pub(crate) mod types;
pub(crate) mod work;
