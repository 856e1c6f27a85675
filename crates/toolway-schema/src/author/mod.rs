//! What does an author say about a tool's arguments, and does it make sense?
//!
//! | file | question |
//! |---|---|
//! | `portable.rs` | How does a schema become one that every client understands? |
//! | `examine.rs` | What does the author add to what the types say, and can any value fit? |
//! | `names.rs` | Do the names in a schema and those that the code reads belong together? |

pub(crate) mod examine;
pub(crate) mod names;
pub(crate) mod portable;
