//! What does a schema say? The one reader of JSON Schema.
//!
//! | file | question |
//! |---|---|
//! | `node.rs` | How is a schema stored once it is read? |
//! | `read.rs` | How is JSON read into that form? |
//! | `schema.rs` | What does a schema say about one value? |

mod node;
mod read;
mod schema;

pub(crate) use node::{
    Additional, ArrayRules, CountLimits, Id, KeywordValue, Model, Node, NodeDetails, NumberRules,
    ObjectRules, SearchLimit, TextRules,
};
pub use schema::Schema;
