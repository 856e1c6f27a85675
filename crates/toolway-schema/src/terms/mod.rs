//! What do the words of a schema mean?
//!
//! | file | question |
//! |---|---|
//! | `types.rs` | Which types of JSON may a value have? |
//! | `number.rs` | When are two values the same, and how do two numbers compare? |
//! | `format.rs` | Is a text what its `format` says? |
//! | `pattern.rs` | Is a text a regular expression? |
//! | `keyword.rs` | Which keywords are there, and where do schemas stand inside schemas? |
//! | `refs.rs` | What does a reference refer to? |

pub(crate) mod format;
pub(crate) mod keyword;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod refs;
pub(crate) mod types;
