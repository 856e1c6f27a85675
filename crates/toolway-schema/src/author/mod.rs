//! Is the schema that a tool's author wrote consistent, and does every client understand it?
//!
//! | file | question |
//! |---|---|
//! | `portable.rs` | How does a schema become one that every client understands? |
//! | `examine.rs` | What does the author add to the schema that is derived from Rust types, and can any value satisfy it? |
//! | `names.rs` | Do the names in a schema match the names that the code reads? |

pub(crate) mod examine;
pub(crate) mod names;
pub(crate) mod portable;
