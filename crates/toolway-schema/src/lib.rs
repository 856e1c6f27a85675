//! JSON Schema for tools of models: what a schema says, whether a value fits it, and how each provider takes it.
//!
//! [`Checker`] reads a schema once and tells what is wrong with a value, in words for a model. [`dialects::convert`] writes a
//! schema as a provider takes it, and [`Schema::restore`] turns the arguments of a call back. No I/O: nothing is ever fetched.
//!
//! | file | question |
//! |---|---|
//! | `types.rs`, `number.rs`, `pattern.rs`, `format.rs` | What do the words of a schema mean? |
//! | `keyword.rs`, `refs.rs` | Where do schemas stand inside schemas, and what does a reference refer to? |
//! | `model/`, `schema.rs` | What does a schema say? |
//! | `check/` | Does a value fit a schema, and what did a caller mean who sent the right thing in the wrong type? |
//! | `problem.rs`, `closest.rs` | How is a model told what is wrong? |
//! | `examine.rs`, `names.rs` | What does an author add to what the types say, and does it make sense? |
//! | `portable.rs` | How does a schema become one that every client understands? |
//! | `dialects/` | Which schema does a provider take, and what is lost? |
//! | `restore.rs` | How do arguments that keep to what was written become those that the tool takes? |

mod check;
pub mod closest;
pub mod dialects;
mod examine;
mod format;
mod keyword;
mod model;
mod names;
mod number;
mod pattern;
mod portable;
mod problem;
mod refs;
mod restore;
mod schema;
mod types;

pub use check::{Checker, MOST_PROBLEMS};
pub use examine::{Examined, examine, merge};
pub use format::Format;
pub use keyword::adds_remarks_only;
pub use names::Names;
pub use number::whole;
pub use portable::{Side, drop_null, make_portable};
pub use problem::{Problem, cut, not_among, output_text, shown_with_kind};
pub use schema::Schema;
pub use types::Types;
