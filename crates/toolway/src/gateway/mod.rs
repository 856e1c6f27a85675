//! How does a server offer what other servers have? It lists what they list, passes calls on to them, and passes back what comes
//! of them: results, errors, progress, log messages and questions.
//!
//! The other servers are always those of a [hub](crate::hub), which follows what they have; a client that is mounted by itself
//! is a hub of one. Ids and tokens do not pass: each side has its own.
//! [docs/design/0009](https://github.com/toolway/toolway/blob/main/docs/design/0009-gateway.md) says what else was decided.
//!
//! | file | question |
//! |---|---|
//! | `mount.rs` | What can be mounted? |
//! | `edits.rs` | What does the author of a gateway change about what is mounted? |
//! | `source.rs` | How does what a hub has become what a server offers? |
//! | `subscriptions.rs` | How are changes of the resources heard that listeners want to hear of? |
//! | `element.rs` | How do a tool, a prompt and a resource of another server become entries? |
//! | `call.rs` | How is one call passed on, and what comes of it? |
//! | `upstreams.rs` | Whose is a URI, and what is it called on each side? |
//! | `upstream_event.rs` | What does the other server say and ask meanwhile? |
//! | `parked.rs` | Where is a call while its caller is asked something? |
//! | `failure.rs` | What is told of a call that could not be passed on? |

mod call;
mod edits;
mod element;
mod failure;
mod mount;
mod parked;
mod source;
mod subscriptions;
mod upstream_event;
mod upstreams;

pub use mount::{IntoMount, Mount};
