//! Which code is generated for a tool, a resource or a prompt, and for a service?
//!
//! | file | question |
//! |---|---|
//! | `item.rs`, `service.rs` | Which code is generated for a function, and for an `impl` block? |
//! | `tool.rs`, `resource.rs`, `prompt.rs` | Which code is generated for each kind? |
//! | `call.rs` | How is the function called? |
//! | `complete.rs` | How are the arguments completed? |
//! | `uri.rs`, `bind.rs` | What is in a URI template, and do its variables match the parameters? |
//! | `handler_type.rs`, `metadata.rs` | Which type implements the handler, and which properties does it list? |

mod bind;
mod call;
mod complete;
mod handler_type;
pub(crate) mod item;
mod metadata;
mod prompt;
mod resource;
pub(crate) mod service;
mod tool;
mod uri;
