//! What is written for a function that is a tool, a resource or a prompt, and for a service of them?
//!
//! | file | question |
//! |---|---|
//! | `item.rs`, `service.rs` | What is written for a function, and for an `impl` block? |
//! | `tool.rs`, `resource.rs`, `prompt.rs` | What is written for each kind? |
//! | `call.rs` | How is the function called? |
//! | `complete.rs` | How are its arguments completed? |
//! | `uri.rs`, `bind.rs` | What does a URI template say, and do its variables fit the parameters? |
//! | `host.rs`, `listed.rs` | Which type handles, and what does it say about itself in a list? |

mod bind;
mod call;
mod complete;
mod host;
pub(crate) mod item;
mod listed;
mod prompt;
mod resource;
pub(crate) mod service;
mod tool;
mod uri;
