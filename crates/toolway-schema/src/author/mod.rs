//! What does an author say about a tool's arguments, and is it consistent?
//!
//! | file | question |
//! |---|---|
//! | `portable.rs` | How does a schema become one that every client understands? |
//! | `examine.rs` | What does the author add to the schema of the types, and can any value satisfy it? |
//! | `names.rs` | Do the names in a schema match the names that the code reads? |

pub(crate) mod examine;
pub(crate) mod names;
pub(crate) mod portable;
