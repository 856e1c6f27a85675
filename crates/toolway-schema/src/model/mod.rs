//! What does a schema say? The one reader of JSON Schema.
//!
//! | file | question |
//! |---|---|
//! | `node.rs` | How is a schema stored once it is read? |
//! | `read.rs` | How is JSON read into that form? |
//! | `height.rs` | How many schemas apply to the same value, one inside the other? |
//! | `schema.rs` | What does a schema say about one value? |

mod height;
mod node;
mod read;
mod schema;
#[cfg(test)]
mod schema_tests;

pub(crate) use height::max_paths;
pub(crate) use node::{
    Additional, ArrayRules, CountLimits, Id, KeywordValue, Model, Node, NodeDetails, NumberRules,
    ObjectRules, Pattern, TextRules,
};
pub use schema::Schema;
