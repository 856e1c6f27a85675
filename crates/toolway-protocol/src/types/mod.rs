//! The vocabulary that handlers and callers see: one neutral model for all revisions, a file a noun.
//!
//! Types are `#[non_exhaustive]`: make one with `new(required…)` and add the rest with `with_…`. They read
//! any revision (unknown members are ignored) and write the one that the encoder is for.

mod content;
mod implementation;
mod listing;
mod tool;

pub use content::{Content, TextContent};
pub use implementation::Implementation;
pub use listing::Listing;
pub use tool::{CallToolResult, Tool, ToolAnnotations};
