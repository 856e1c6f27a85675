//! How does the return value of a handler become a result?
//!
//! | file | question |
//! |---|---|
//! | `content.rs` | What are the blocks of a result made from? |
//! | `tool.rs` | What may a tool return? |
//! | `serialize_fallback.rs` | How does `#[tool]` handle a type that only implements `Serialize` and `JsonSchema`? |
//! | `resource.rs`, `file.rs` | What may a resource return? Which media type does a file have? |
//! | `prompt.rs`, `prompt_json.rs` | What may a prompt return, in Rust and in JSON? |

pub(crate) mod content;
pub(crate) mod file;
pub(crate) mod prompt;
pub(crate) mod prompt_json;
pub(crate) mod resource;
pub mod serialize_fallback;
pub(crate) mod tool;

pub use content::{Audio, Embedded, Image, IntoContent, Text};
pub use file::File;
pub use prompt::{IntoBlocks, IntoPrompt, Message, PromptMessages, assistant, user};
pub use resource::{IntoResource, Reader, ResourceInfo};
pub use tool::{IntoToolResult, Json, respond};
