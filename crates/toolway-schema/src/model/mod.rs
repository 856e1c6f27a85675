//! What does a schema say? The one reader of JSON Schema.
//!
//! | file | question |
//! |---|---|
//! | `node.rs` | What is a schema once it is read? |
//! | `read.rs` | How does the text of a schema become that? |
//! | `schema.rs` | What does it say about one value? |

mod node;
mod read;
mod schema;

pub(crate) use node::{
    Additional, Arrays, Counts, Id, Look, Model, More, Node, Numbers, Objects, Part, Texts,
};
pub use schema::Schema;
